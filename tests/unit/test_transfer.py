"""Output on its way into the store."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator

import pytest

from tests.fakes.artifacts import FakeArtifacts
from toolcall_operator import errors, transfer
from toolcall_operator.core.outcomes import Stored
from toolcall_operator.core.reasons import Reason


async def stream(*chunks: bytes, lost: bool = False) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
    if lost:
        raise errors.SandboxLost(Reason.SANDBOX_GONE, "gone")


async def test_a_stream_is_stored_counted_and_hashed() -> None:
    store = FakeArtifacts()

    kept = await transfer.keep(stream(b"one\n", b"two\xff\n"), "key", store)

    assert store.stored == {"key": b"one\ntwo\xff\n"}
    assert kept == Stored("fake://key", hashlib.sha256(b"one\ntwo\xff\n").hexdigest(), 9, b"one\ntwo\xff\n")


async def test_an_empty_stream_leaves_nothing_in_the_store() -> None:
    store = FakeArtifacts()

    assert await transfer.keep(stream(), "key", store) == Stored()
    assert store.stored == {}


async def test_the_head_is_bounded_however_long_the_stream_is() -> None:
    kept = await transfer.keep(stream(*[b"x" * 1000] * 100), "key", FakeArtifacts())

    assert (len(kept.head), kept.size) == (transfer.HEAD_BYTES, 100_000)


async def test_a_store_that_takes_nothing_is_a_problem_and_the_stream_is_read_to_its_end() -> None:
    rest = stream(b"one", b"two", b"three")

    kept = await transfer.keep(rest, "key", FakeArtifacts(failures=1))

    assert (kept.ref, kept.size, kept.problem) == ("", 11, "the fake store is full")
    assert await anext(rest, None) is None


async def test_what_arrived_of_a_lost_sandbox_is_stored() -> None:
    store = FakeArtifacts()

    kept = await transfer.keep(stream(b"half", lost=True), "key", store)

    assert store.stored == {"key": b"half"}
    assert kept.ref == "fake://key"


class Hanging(FakeArtifacts):
    """Takes so many chunks, and then never answers."""

    async def put(self, key: str, body: AsyncIterator[bytes]) -> str:
        for _ in range(self.reads):
            await anext(body, b"")
        await asyncio.Event().wait()
        return key


@pytest.mark.parametrize("reads", (0, 1, 3), ids=("at once", "after some", "after all"))
async def test_a_store_that_hangs_is_a_problem_and_the_stream_is_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    monkeypatch.setattr(transfer, "STORE_PATIENCE", 0.05)

    async with asyncio.timeout(5):
        kept = await transfer.keep(stream(b"one", b"two"), "key", Hanging(reads=reads))

    assert (kept.ref, kept.size, kept.problem) == ("", 6, "the artifact store took nothing for 0.05 s")


async def test_a_process_that_says_nothing_for_long_is_no_fault_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "STORE_PATIENCE", 0.05)
    store = FakeArtifacts()

    async def slow() -> AsyncIterator[bytes]:
        yield b"one"
        await asyncio.sleep(0.2)
        yield b"two"

    assert (await transfer.keep(slow(), "key", store)).problem == ""
    assert store.stored == {"key": b"onetwo"}
