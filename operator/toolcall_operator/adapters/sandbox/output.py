"""The two output streams of a call on our side, and the credit window they share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolcall_operator import errors
from toolcall_operator.adapters.sandbox.connection import WINDOW

_STALL_SECONDS = 2.0


class Stream:
    """One stream: what has arrived and was not read yet; an async iterator that ends with the call, or its loss."""

    def __init__(self, credit: Callable[[Stream, int], None]) -> None:
        self.received = 0
        self.held = 0
        self.begun = False
        self.reads = 0
        self._overdrawn = 0
        self._chunks: list[bytes] = []
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._credit = credit

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> bytes:
        """Everything that has arrived since, at most a window in ordinary times."""
        self.begun = True
        self.reads += 1
        while not self._chunks:
            if self._ended:
                raise StopAsyncIteration
            await self._wait()
        chunk = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._release(len(chunk))
        return chunk

    @property
    def has_unread(self) -> bool:
        """Whether bytes have arrived that were not read yet."""
        return bool(self._chunks)

    @property
    def waiting(self) -> bool:
        """Whether somebody waits for bytes of this stream now."""
        return self._waiter is not None

    def take(self, offset: int, payload: bytes) -> None:
        """Keep what arrived.

        Raises:
            ProtocolBroken: it is not what comes next.
        """
        if offset != self.received or self._ended:
            raise errors.ProtocolBroken("the supervisor sent output out of its order")
        self.received += len(payload)
        self.held += len(payload)
        self._chunks.append(payload)
        self._wake()

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = True
        self._wake()

    def overdraw(self) -> int:
        """Bytes held until now, which count against the window no longer."""
        freed, self.held = self.held, 0
        self._overdrawn += freed
        return freed

    def _release(self, size: int) -> None:
        free = min(size, self._overdrawn)
        self._overdrawn -= free
        self.held -= size - free
        if size > free:
            self._credit(self, size - free)

    async def _wait(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("a stream has one reader at a time")
        self._waiter = asyncio.get_running_loop().create_future()
        self._credit(self, 0)
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Streams:
    """Standard output and error of one call: together they hold at most a window of unread bytes.

    The supervisor spends one credit on both streams. A reader who wants one of them while unread bytes of the other
    have used the credit up would wait for ever: then these bytes are kept beyond the window (never more than the stored
    head of the call) and their credit is given back, at once when nobody has begun to read them, after two seconds
    without a read when somebody has.
    """

    def __init__(self, give: Callable[[int], None]) -> None:
        self.stdout = Stream(self._consumed)
        self.stderr = Stream(self._consumed)
        self.result_awaited = False
        self._allowance = WINDOW
        self._unreturned = 0
        self._give = give
        self._stall: asyncio.TimerHandle | None = None

    def window(self) -> int:
        """The credit to name when a channel is opened for these streams, in place of all given before."""
        self._unreturned = 0
        self._allowance = WINDOW - self.stdout.held - self.stderr.held
        return self._allowance

    def take(self, stream: Stream, offset: int, payload: bytes) -> None:
        """Keep what arrived.

        Raises:
            ProtocolBroken: it is not what comes next, or more than was asked for.
        """
        self._allowance -= len(payload)
        if self._allowance < 0:
            raise errors.ProtocolBroken("the supervisor sent more output than its credit")
        stream.take(offset, payload)
        if stream.held >= WINDOW // 2:
            self._relieve(stream)

    @property
    def unread(self) -> bool:
        """Whether bytes wait for a reader."""
        return self.stdout.has_unread or self.stderr.has_unread

    def end(self) -> None:
        """Nothing more comes on either."""
        self.stdout.end()
        self.stderr.end()
        if self._stall is not None:
            self._stall.cancel()

    def relieve(self) -> None:
        """See to it that a waiting reader is not kept from his bytes by unread ones of the other stream."""
        for stream in (self.stdout, self.stderr):
            if stream.held >= WINDOW // 2:
                self._relieve(stream)

    def _consumed(self, stream: Stream, size: int) -> None:
        self._unreturned += size
        if self._unreturned >= WINDOW // 2:
            self._return(self._unreturned)
            self._unreturned = 0
        if stream.waiting:
            self.relieve()

    def _return(self, size: int) -> None:
        self._allowance += size
        self._give(size)

    def _relieve(self, full: Stream) -> None:
        other = self.stderr if full is self.stdout else self.stdout
        if not (other.waiting or self.result_awaited):
            return
        if not full.begun:
            self._return(full.overdraw())
        elif self._stall is None:
            self._stall = asyncio.get_running_loop().call_later(_STALL_SECONDS, self._stalled, full, full.reads)

    def _stalled(self, full: Stream, reads: int) -> None:
        self._stall = None
        if full.reads == reads and full.held >= WINDOW // 2:
            self._return(full.overdraw())
        else:
            self.relieve()
