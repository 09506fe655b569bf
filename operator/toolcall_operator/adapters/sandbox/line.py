"""The standing connection to one life of a sandbox, made again whenever it breaks."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from toolcall_operator import errors
from toolcall_operator.adapters.sandbox import messages
from toolcall_operator.adapters.sandbox.connection import Connection
from toolcall_operator.adapters.sandbox.link import Connector, Identity, Link
from toolcall_operator.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things are waited for, in seconds.

    `retention` must be the supervisor's: how long it keeps an ended call for somebody to ask. `request` is what may
    pass before a request that was not answered fails, `opening` before a hello was answered, `mending` before who comes
    anew is told that a broken connection was not made again. The pauses between attempts to connect are drawn from 0 to
    `first_pause`, which doubles up to `longest_pause`.
    """

    ping: float = 10.0
    request: float = 30.0
    opening: float = 10.0
    mending: float = 5.0
    retention: float = 600.0
    first_pause: float = 0.05
    longest_pause: float = 5.0


class Line:
    """Gives the current connection to everyone who needs one; attempts to make it again are shared by all who wait."""

    def __init__(self, connector: Connector, identity: Identity, patience: Patience) -> None:
        self.patience = patience
        self._connector = connector
        self._identity = identity
        self._hello: messages.Hello | None = None
        self._connection: Connection | None = None
        self._lost: errors.SandboxLost | None = None
        self._loss = asyncio.Event()
        self._answers = False
        self._trouble = ""
        self._mending: asyncio.Task[Connection] | None = None
        self._waiting = 0
        self._failures = 0
        self._closed = False

    @property
    def boot_id(self) -> str:
        """The life of the sandbox that the first connection met."""
        return self.hello.boot_id

    @property
    def hello(self) -> messages.Hello:
        """What the supervisor last said of itself."""
        if self._hello is None:
            raise errors.Unavailable("the sandbox has not been reached yet")
        return self._hello

    @property
    def met(self) -> bool:
        """Whether a supervisor has answered, be it on a connection that is broken by now."""
        return self._hello is not None

    @property
    def lost(self) -> bool:
        """Whether that life is over for good."""
        return self._lost is not None

    @property
    def unreached(self) -> Reason:
        """What to call it when nobody was reached in time: nothing answered, or something that is no help."""
        return Reason.TRANSPORT_LOST if self._answers else Reason.SANDBOX_UNREACHABLE

    async def connect(self) -> Connection:
        """One attempt at a connection.

        Raises:
            Unavailable: it failed, and another may not.
            SandboxLost: this life of the sandbox is over.
            ProtocolBroken: the supervisor refuses us, or is none.
        """
        self._answers = False
        try:
            link = await self._connector.connect()
        except errors.SandboxLost as lost:
            raise self._over(lost) from lost
        connection = await self._opened(link)
        if self._hello is not None and self._hello.boot_id != connection.hello.boot_id:
            await connection.close()
            raise self._over(
                errors.SandboxLost(Reason.SANDBOX_RESTARTED, "the sandbox has restarted, and its processes are gone")
            )
        self._hello = connection.hello
        self._connection = connection
        return connection

    def current(self) -> Connection | None:
        """The connection, when there is one that works as far as anyone knows."""
        connection = self._connection
        return None if connection is None or connection.ended.is_set() else connection

    async def connection(self, until: float) -> Connection:
        """A connection that works, waited for until the loop's time is `until`.

        The first one ever is attempted once, and may fail with ProtocolBroken too.

        Raises:
            Unavailable: there was none in time, or the line was closed.
            SandboxLost: this life of the sandbox is over.
        """
        if self._lost is not None:
            raise self._over(self._lost)
        if connection := self.current():
            return connection
        if self._closed:
            raise errors.Unavailable("the sandbox was let go of")
        self._waiting += 1
        try:
            async with asyncio.timeout_at(until):
                return await self._unless_lost(self._mended())
        except TimeoutError:
            last = f": {self._trouble}" if self._trouble else ""
            raise errors.Unavailable(f"the supervisor of the sandbox could not be reached in time{last}") from None
        finally:
            self._waiting -= 1

    async def quiet(self) -> None:
        """Return when there is no connection."""
        if connection := self.current():
            await connection.ended.wait()

    async def lose(self, lost: errors.SandboxLost) -> None:
        """Somebody knows that this life of the sandbox is over: all who use the line are told so now.

        The first reason stays.
        """
        if self._lost is None:
            self._over(lost)
            await self.close()

    async def close(self) -> None:
        """End the connection, and every attempt to make one; there will be no other."""
        self._closed = True
        if self._mending is not None:
            self._mending.cancel()
            await asyncio.gather(self._mending, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()

    async def _opened(self, link: Link) -> Connection:
        """A connection over `link`, or what the link knows of why there is none."""
        try:
            return await Connection.open(link, self._identity, self.patience.ping, self.patience.opening)
        except errors.ProtocolBroken:
            self._answers = True
            raise
        except errors.Unavailable as trouble:
            known = await link.explain(trouble)
            raise (self._over(known) if isinstance(known, errors.SandboxLost) else known) from trouble

    def _over(self, lost: errors.SandboxLost) -> errors.SandboxLost:
        """A fresh copy of `lost` for each who is told: a raised exception belongs to one traceback."""
        self._lost = self._lost or lost
        self._loss.set()
        return errors.SandboxLost(self._lost.reason, str(self._lost))

    async def _unless_lost(self, mending: asyncio.Task[Connection]) -> Connection:
        """What comes of `mending`, which goes on for others when this one has waited enough."""
        loss = asyncio.ensure_future(self._loss.wait())
        try:
            await asyncio.wait({mending, loss}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            loss.cancel()
        if self._lost is not None:
            raise self._over(self._lost)
        return mending.result()

    def _mended(self) -> asyncio.Task[Connection]:
        if self._mending is None or self._mending.done():
            self._mending = asyncio.create_task(self._mend())
            self._mending.add_done_callback(_noticed)
        return self._mending

    async def _mend(self) -> Connection:
        """Attempts with growing pauses; nobody waiting any more ends them."""
        if self._connection is not None and self._connection.used:
            self._failures = 0
        while True:
            if self._hello is not None:
                await asyncio.sleep(self._pause())
            self._failures += 1
            try:
                return await self.connect()
            except (errors.Unavailable, errors.ProtocolBroken) as trouble:
                self._trouble = str(trouble)
                if self._hello is None or not self._waiting:
                    raise

    def _pause(self) -> float:
        # Chance keeps an operator that lost all its sandboxes at once from asking for all of them at once.
        longest = min(self.patience.longest_pause, self.patience.first_pause * 2 ** min(self._failures, 30))
        return random.uniform(0, longest)  # noqa: S311 - spreads attempts in time, guards nothing


def _noticed(mending: asyncio.Task[Connection]) -> None:
    """An attempt may fail when all who waited for it have left."""
    if not mending.cancelled():
        mending.exception()
