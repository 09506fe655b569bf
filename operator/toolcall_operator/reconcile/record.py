"""A call on its way: as it was last reported, and whether somebody asked it to end."""

from __future__ import annotations

import asyncio

from toolcall_operator.api.toolcall import FINALIZER, ToolCall
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core import status
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Ports


class Stop:
    """Asks a call to end early; the first reason given stays."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self.reason: Reason | None = None

    def ask(self, reason: Reason) -> None:
        """End the call, for `reason`."""
        self.reason = self.reason or reason
        self._asked.set()

    async def asked(self) -> None:
        """Return when the call was asked to end."""
        await self._asked.wait()


class Record:
    """The call as it was last reported, and whether its object is held until it has ended."""

    def __init__(self, call: ToolCall, ports: Ports) -> None:
        self.call = call
        # Whoever claimed it may have held it since: of the metadata, what is remembered may be older than that.
        self.held = FINALIZER in call.metadata.finalizers or status.is_claimed(call)
        self._ports = ports

    async def write(self, new: ToolCallStatus) -> None:
        """Keep `new` as the call's status.

        Raises:
            Unavailable, Rejected, Gone, Superseded: it could not be kept; see `ports.Cluster.report`.
        """
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
