"""The connections to servers outside: few, used again while they are fresh, and never shared by two requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpcore

from toolcall_operator.adapters.egress import troubles
from toolcall_operator.core.exchange import Origin

Connection = httpcore.AsyncHTTP11Connection

_TO_ONE, _IN_ALL, _IDLE = 16, 128, 16
# Shorter than the 5 s after which many servers hang up (Node's, uvicorn's): a connection that the other end closes just
# now may swallow a request that must not be sent twice.
_FRESH_SECONDS = 4.0


@dataclass
class _Queue:
    """Whose turn it is at one origin."""

    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_TO_ONE))
    users: int = 0


class Connections:
    """Connections made by `dial`. At most 16 requests to one origin and 128 in all are under way; others wait.

    Who waits for a slow server holds no place that a request to another one could have. `httpcore`'s own pool is not
    used: it bounds no single origin, and a request cancelled at the wrong moment costs it a place for good.
    """

    def __init__(self, dial: Callable[[Origin], Awaitable[httpcore.AsyncNetworkStream]]) -> None:
        self._dial = dial
        self._queues: dict[Origin, _Queue] = {}
        self._turns = asyncio.Semaphore(_IN_ALL)
        self._idle: list[tuple[Origin, Connection]] = []
        self._busy: set[Connection] = set()
        self._closed = False

    @asynccontextmanager
    async def to(self, origin: Origin) -> AsyncIterator[Connection]:
        """A connection for one request; if its answer is read to the end, it is kept for the next.

        Raises:
            Denied: the origin must not be connected to.
            Unavailable: the connections were closed.
            httpcore.NetworkError, httpcore.TimeoutException, OSError: there is none.
        """
        async with self._turn(origin):
            connection = await self._kept(origin) or await self._new(origin)
            self._busy.add(connection)
            try:
                yield connection
            finally:
                self._busy.discard(connection)
                await self._returned(origin, connection)

    async def aclose(self) -> None:
        """Close every connection: requests that are under way fail, and no other begins."""
        self._closed = True
        doomed = [*self._busy, *(connection for _, connection in self._idle)]
        self._idle.clear()
        await _discard(doomed)

    @asynccontextmanager
    async def _turn(self, origin: Origin) -> AsyncIterator[None]:
        queue = self._queues.setdefault(origin, _Queue())
        queue.users += 1
        try:
            async with queue.turns, self._turns:
                yield
        finally:
            queue.users -= 1
            if not queue.users:
                del self._queues[origin]

    async def _kept(self, origin: Origin) -> Connection | None:
        """The connection to an origin that was used last, if it can be used again."""
        stale = [kept for kept in self._idle if kept[1].has_expired()]
        self._idle = [kept for kept in self._idle if kept not in stale]
        await _discard([connection for _, connection in stale])
        for kept in reversed(self._idle):
            if kept[0] == origin:
                self._idle.remove(kept)
                return kept[1]
        return None

    async def _new(self, origin: Origin) -> Connection:
        self._open(origin)
        stream = await self._dial(origin)
        whom = httpcore.Origin(origin.scheme.encode(), origin.host.encode(), origin.port)
        connection = Connection(whom, stream, keepalive_expiry=_FRESH_SECONDS)
        if self._closed:
            await connection.aclose()
        self._open(origin)
        return connection

    def _open(self, origin: Origin) -> None:
        if self._closed:
            raise troubles.unavailable(origin, "the operator is about to end")

    async def _returned(self, origin: Origin, connection: Connection) -> None:
        if self._closed or not connection.is_idle():
            await _discard([connection])
            return
        self._idle.append((origin, connection))
        if len(self._idle) > _IDLE:
            await _discard([self._idle.pop(0)[1]])


async def _discard(connections: Sequence[Connection]) -> None:
    """Close connections, to the last of them also when whoever waits for that is cancelled."""
    if connections:
        closing = (connection.aclose() for connection in connections)
        await asyncio.shield(asyncio.gather(*closing, return_exceptions=True))
