"""What a call runs in, and what it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.tools import Tool
from toolcall_operator.core.world import World


class Target(NamedTuple):
    """A session, its class and one of that class's tools."""

    session: SpiceboxSession
    session_class: SpiceboxClass
    tool: Tool

    def argv(self, call: ToolCall) -> tuple[str, ...]:
        """The whole command line that the process gets: the tool's own words first, then the call's."""
        return (*(self.tool.command or ()), *self.tool.default_args, *call.spec.args)

    @property
    def config(self) -> Mapping[str, Any]:
        """The values for rules: as they were when the session's sandbox was made, where it was made already.

        That the spec's cannot change then is not enough: to the API server, a key by another name is no change.
        """
        status = self.session.status
        bound = status is not None and status.resolved_class is not None
        found = status.resolved_tool_config if status and bound else self.session.spec.tool_config
        return found or {}

    @property
    def class_env(self) -> Mapping[str, str]:
        """The variables of every process in the sandbox, as far as the class says."""
        return self.session_class.spec.env_defaults


def found(call: ToolCall, world: World) -> Target | None:
    """What the call names, if all of it is there."""
    session, session_class, tool = world.session, world.session_class, world.tools.get(call.spec.tool)
    if session is None or session_class is None or tool is None:
        return None
    return Target(session, session_class, tool)
