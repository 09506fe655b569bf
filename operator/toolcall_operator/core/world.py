"""Everything besides the call that decides about it."""

from __future__ import annotations

from dataclasses import dataclass

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core import support


@dataclass(frozen=True, slots=True)
class World:
    """What was gathered for one decision; `lacking` are the fields this place cannot carry out.

    `unread` says where the session, or else its class, stands and why it cannot be read, when it is there all the same.
    `on_demand`: a sandbox is made when a call needs it, and what is absent will not come. Otherwise sandboxes are made
    by somebody else, whose word on the session's status is waited for, and `session_class` is the class as it was
    frozen there.

    Raises:
        ValueError: `lacking` names something that is no matter of a place, and would silently lack nothing.
    """

    session: SpiceboxSession | None
    session_class: SpiceboxClass | None
    lacking: tuple[str, ...] = ()
    unread: str = ""
    on_demand: bool = True

    def __post_init__(self) -> None:
        if unknown := set(self.lacking) - support.OF_THE_PLACE:
            raise ValueError(f"not among support.OF_THE_PLACE: {', '.join(sorted(unknown))}")
