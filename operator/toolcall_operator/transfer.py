"""Carries output from a sandbox into the artifact store, counting and hashing on the way."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator

from toolcall_operator.core.outcomes import Ended, Lost, Stored
from toolcall_operator.core.reasons import Reason
from toolcall_operator.errors import SandboxLost, Unavailable
from toolcall_operator.ports import Artifacts, Execution

HEAD_BYTES = 32 * 1024
"""How much of a stream is kept at hand for `status.result.text`."""

STORE_PATIENCE = 60.0
"""Seconds that a store has for each chunk, and in the end to say that it has them all."""


async def collect(execution: Execution, key: str, artifacts: Artifacts) -> Ended | Lost:
    """Store both output streams below `key` and say how the process ended; what arrived of a lost one is kept too."""
    stdout, stderr = await asyncio.gather(
        keep(execution.stdout, f"{key}/stdout", artifacts),
        keep(execution.stderr, f"{key}/stderr", artifacts),
    )
    try:
        return Ended(await execution.result(), stdout, stderr)
    except SandboxLost as lost:
        return Lost(Reason(lost.reason), str(lost), stdout, stderr)


async def keep(stream: AsyncIterator[bytes], key: str, artifacts: Artifacts) -> Stored:
    """Store `stream` under `key`: nothing for an empty one; a store that does not take it is a `problem`, no error."""
    tally = _Tally(stream)
    first = await anext(aiter(tally), b"")
    if not first:
        return Stored()
    try:
        async with asyncio.timeout(STORE_PATIENCE) as patience:
            ref = await artifacts.put(key, tally.from_first(first, patience))
    except Unavailable as fault:
        problem = str(fault)
    except TimeoutError:
        problem = f"the artifact store took nothing for {STORE_PATIENCE:g} s"
    else:
        return tally.stored(ref=ref)
    await tally.drain()
    return tally.stored(problem=problem)


class _Tally:
    """A stream that is counted, hashed and remembered by its head as it flows; it ends where its sandbox is lost."""

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self._size = 0
        self._head = bytearray()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._stream)
        except SandboxLost:
            raise StopAsyncIteration from None  # the result names the loss; what arrived is worth keeping
        self._hash.update(chunk)
        self._size += len(chunk)
        self._head += chunk[: HEAD_BYTES - len(self._head)]
        return chunk

    async def from_first(self, first: bytes, patience: asyncio.Timeout) -> AsyncIterator[bytes]:
        """The stream with its first chunk; while one is out, and after the last, `patience` runs.

        A store that was given up and asks all the same gets a RuntimeError, from `patience`: the rest is drained.
        """
        time = asyncio.get_running_loop().time
        chunk = first
        while chunk:
            patience.reschedule(time() + STORE_PATIENCE)
            yield chunk
            patience.reschedule(None)  # a process may say nothing for as long as it likes
            chunk = await anext(self, b"")
        patience.reschedule(time() + STORE_PATIENCE)

    async def drain(self) -> None:
        """Read to the end, so that the outcome behind the output can be had."""
        async for _ in self:
            pass

    def stored(self, ref: str = "", problem: str = "") -> Stored:
        return Stored(ref, self._hash.hexdigest(), self._size, bytes(self._head), problem)
