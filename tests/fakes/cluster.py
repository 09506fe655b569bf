"""A cluster that is one World and the statuses reported to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolcall_operator import errors
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core.validation import World


@dataclass
class FakeCluster:
    """Implements `ports.Cluster`; each of the first `unobservable` and `unwritable` attempts fails."""

    world: World
    unobservable: int = 0
    unwritable: int = 0
    reported: list[ToolCallStatus] = field(default_factory=list)

    async def observe(self, call: ToolCall) -> World:  # noqa: ARG002 - one world for every call
        """The world."""
        if self.unobservable > 0:
            self.unobservable -= 1
            raise errors.Unavailable("the fake cluster cannot be read")
        return self.world

    async def report(self, call: ToolCall, status: ToolCallStatus) -> ToolCall:
        """Remember `status`."""
        if self.unwritable > 0:
            self.unwritable -= 1
            raise errors.Unavailable("the fake cluster takes no writes")
        self.reported.append(status)
        return call.model_copy(update={"status": status})
