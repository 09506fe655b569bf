"""Everything besides the call that decides about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.base import Model
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.tools import Tool
from toolcall_operator.core import support
from toolcall_operator.core.policy.deciding.candidates import Candidate


@dataclass(frozen=True)
class World:
    """What was gathered for one decision; `lacking` are the fields this place cannot carry out.

    `unread` says where the session, or else its class, stands and why it cannot be read, when it is there all the same.
    `on_demand`: a sandbox is made when a call needs it, and what is absent will not come. Otherwise sandboxes are made
    by somebody else, whose word on the session's status is waited for, and `session_class` is the class as it was
    frozen there. `patience` is how long a call waits for a sandbox to start. `toolspecs` are those of the session that
    exist, in the order in which they are asked; None if neither it nor its class names any: nobody judges calls then.
    `identity` is the AgentIdentity of the session, if it is there.

    Raises:
        ValueError: `lacking` names something that is no matter of a place, and would silently lack nothing.
    """

    session: SpiceboxSession | None
    session_class: SpiceboxClass | None
    lacking: tuple[str, ...] = ()
    unread: str = ""
    on_demand: bool = True
    patience: timedelta = timedelta(minutes=2)
    toolspecs: tuple[Candidate, ...] | None = None
    identity: AgentIdentity | None = None

    def __post_init__(self) -> None:
        if self.lacking and (unknown := set(self.lacking) - support.OF_THE_PLACE):
            raise ValueError(f"not among support.OF_THE_PLACE: {', '.join(sorted(unknown))}")

    # Found out once for all the calls of a session: it was half of what a decision cost.

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The tools of the class, by name."""
        return {tool.name: tool for tool in self.session_class.spec.tools} if self.session_class else {}

    @cached_property
    def unsupported(self) -> Mapping[str, tuple[str, ...]]:
        """By tool, the fields in use that nobody would carry out: of the tool, of the class, of the session."""
        around = tuple(self._around())
        return {name: (*self._of_tool(tool), *around) for name, tool in self.tools.items()}

    def _around(self) -> Iterator[str]:
        if self.session_class:
            of_class = f"SpiceboxClass {self.session_class.metadata.name} spec"
            yield from self._beyond(of_class, "SpiceboxClass spec", self.session_class.spec)
        if self.session:
            of_session = f"SpiceboxSession {self.session.metadata.name} spec"
            yield from self._beyond(of_session, "SpiceboxSession spec", self.session.spec)

    def _of_tool(self, tool: Tool) -> Iterator[str]:
        of_class = self.session_class.metadata.name if self.session_class else ""
        return self._beyond(f"SpiceboxClass {of_class} spec.tools[{tool.name}]", "SpiceboxClass spec.tools[]", tool)

    def _beyond(self, where: str, kind: str, model: Model) -> Iterator[str]:
        return (where + below for below in support.unsupported(model, kind, self.lacking))
