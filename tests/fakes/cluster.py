"""A cluster that is one World and the statuses reported to it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from toolcall_operator import errors
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.world import World


@dataclass
class FakeCluster:
    """Implements `ports.Cluster`.

    Each of the first `unobservable` and `unwritable` attempts fails; `faults` are raised by reports, one after the
    other, before anything else. `elsewhere` is the call as it stands when it is read anew, `live` the world then.
    """

    world: World
    unobservable: int = 0
    unwritable: int = 0
    faults: list[errors.OperatorError] = field(default_factory=list)
    reported: list[ToolCallStatus] = field(default_factory=list)
    remarks: list[Reason] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    elsewhere: ToolCall | None = None
    live: World | None = None
    gone: bool = False

    def __post_init__(self) -> None:
        self._change = asyncio.Event()

    def becomes(self, world: World) -> None:
        """The world changes, and whoever waits for that learns of it."""
        self.world = world
        self._change.set()

    async def observe(self, call: ToolCall, *, live: bool = False) -> World:  # noqa: ARG002 - one world for every call
        """The world."""
        if self.unobservable > 0:
            self.unobservable -= 1
            raise errors.Unavailable("the fake cluster cannot be read")
        return self.live if live and self.live else self.world

    async def changed(self, call: ToolCall) -> None:  # noqa: ARG002 - one world for every call
        """Wait for `becomes`."""
        await self._change.wait()
        self._change.clear()

    async def report(self, call: ToolCall, status: ToolCallStatus) -> ToolCall:
        """Remember `status`."""
        if self.unwritable > 0:
            self.unwritable -= 1
            raise errors.Unavailable("the fake cluster takes no writes")
        if self.faults:
            raise self.faults.pop(0)
        if self.gone:
            raise errors.Gone("the call is no more")
        self.reported.append(status)
        return call.model_copy(update={"status": status})

    async def reread(self, call: ToolCall) -> ToolCall:
        """The call as somebody else left it."""
        if self.gone:
            raise errors.Gone("the call is no more")
        return self.elsewhere or call

    async def hold(self, call: ToolCall) -> None:
        """Remember that it is held."""
        if self.gone:
            raise errors.Gone("the call is no more")
        self.held.append(call.metadata.uid)

    async def release(self, call: ToolCall) -> None:
        """Remember that it is not held any more."""
        self.released.append(call.metadata.uid)

    def remark(self, call: ToolCall, reason: Reason, message: str) -> None:  # noqa: ARG002 - the reason is enough
        """Remember the reason."""
        self.remarks.append(reason)
