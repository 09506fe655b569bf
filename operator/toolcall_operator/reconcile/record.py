"""A call on its way: as it was last reported, and whether somebody asked it to end."""

from __future__ import annotations

import asyncio

from toolcall_operator.api.toolcall import FINALIZER, ToolCall
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core import status
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Ports


class Stop:
    """Asks a call to end early; the first reason given stays.

    `generation` is the newest of the call's object in which that was asked for.
    """

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self.reason: Reason | None = None
        self.generation = 0

    def ask(self, reason: Reason, generation: int = 0) -> None:
        """End the call, for `reason`."""
        self.reason = self.reason or reason
        self.generation = max(self.generation, generation)
        self._asked.set()

    async def asked(self) -> None:
        """Return when the call was asked to end."""
        await self._asked.wait()


class Record:
    """The call as it was last reported, and whether its object is held until it has ended."""

    def __init__(self, call: ToolCall, ports: Ports, stop: Stop) -> None:
        self.call = call
        # Whoever claimed it may have held it since: of the metadata, what is remembered may be older than that.
        self.held = FINALIZER in call.metadata.finalizers or status.is_claimed(call)
        self._ports = ports
        self._stop = stop

    @property
    def latest(self) -> ToolCall:
        """The call in the generation that its end speaks of: who waits for it ignores what speaks of an older one."""
        generation = max(self.call.metadata.generation, self._stop.generation)
        metadata = self.call.metadata.model_copy(update={"generation": generation})
        return self.call.model_copy(update={"metadata": metadata})

    async def write(self, new: ToolCallStatus) -> None:
        """Keep `new` as the call's status; what is kept already is not written again.

        Raises:
            Unavailable, Rejected, Gone, Superseded: it could not be kept; see `ports.Cluster.report`.
        """
        if new != self.call.status:  # which is what was read or taken: a report that failed has not changed it
            self.call = await self._ports.cluster.report(self.call, new)

    async def reread(self) -> None:
        """Take the call as it stands.

        Raises:
            Unavailable, Gone: see `ports.Cluster.reread`.
        """
        self.call = await self._ports.cluster.reread(self.call)
        self.held = FINALIZER in self.call.metadata.finalizers

    async def hold(self) -> None:
        """See `ports.Cluster.hold`."""
        self.held = True  # also when the answer is lost: releasing what is not held is harmless
        await self._ports.cluster.hold(self.call)

    async def release(self) -> None:
        """See `ports.Cluster.release`."""
        await self._ports.cluster.release(self.call)
        self.held = False
