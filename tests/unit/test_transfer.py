"""Output on its way into the store."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

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
