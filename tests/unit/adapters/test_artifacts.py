"""Artifacts in a real folder: what is stored, what is refused, and what a reader may see meanwhile."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from toolcall_operator import errors
from toolcall_operator.adapters import artifacts

KEY = "team/session/7c9e/aa11/stdout"


@pytest.fixture
def store(tmp_path: Path) -> artifacts.StoreArtifacts:
    return artifacts.StoreArtifacts(f"file://{tmp_path}/store")


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def repeated(chunk: bytes, times: int) -> AsyncIterator[bytes]:
    for _ in range(times):
        yield chunk


async def broken_after(chunk: bytes, times: int) -> AsyncIterator[bytes]:
    for _ in range(times):
        yield chunk
    raise errors.ProtocolBroken("the channel broke")


def read(reference: str) -> bytes:
    assert reference.startswith("file:///")
    return Path(reference.removeprefix("file://")).read_bytes()


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("parts", "whole"),
    (
        pytest.param((), b"", id="nothing at all"),
        pytest.param((b"hello ", b"world\n"), b"hello world\n", id="a few bytes"),
        pytest.param((b"\x00\xff\xfe",), b"\x00\xff\xfe", id="bytes that are no text"),
        pytest.param(
            (b"a" * artifacts.PART_BYTES, b"b"), b"a" * artifacts.PART_BYTES + b"b", id="one byte more than a part"
        ),
        pytest.param((b"ab" * 7_000_000,) * 2, b"ab" * 14_000_000, id="several parts"),
    ),
)
async def test_a_reference_resolves_to_exactly_the_bytes_put(
    store: artifacts.StoreArtifacts, parts: tuple[bytes, ...], whole: bytes
) -> None:
    reference = await store.put(KEY, chunks(*parts))

    assert reference.endswith(f"/store/{KEY}")
    assert read(reference) == whole


async def test_a_put_replaces_what_stood_under_its_key(store: artifacts.StoreArtifacts) -> None:
    await store.put(KEY, chunks(b"the first, and longer, text"))

    assert read(await store.put(KEY, chunks(b"the second"))) == b"the second"


@pytest.mark.parametrize("times", (1, 400), ids=("a short one", "a streamed one"))
async def test_a_body_that_breaks_leaves_no_file_and_raises_its_own_error(
    store: artifacts.StoreArtifacts, tmp_path: Path, times: int
) -> None:
    with pytest.raises(errors.ProtocolBroken):
        await store.put(KEY, broken_after(b"x" * 65_536, times))

    assert files(tmp_path) == []


async def test_a_put_that_is_canceled_keeps_what_stood_there_before(
    store: artifacts.StoreArtifacts, tmp_path: Path
) -> None:
    await store.put(KEY, chunks(b"before"))
    begun, over = asyncio.Event(), asyncio.Event()

    async def unfinished() -> AsyncIterator[bytes]:
        yield b"x" * 4 * artifacts.PART_BYTES
        begun.set()
        await over.wait()

    put = asyncio.create_task(store.put(KEY, unfinished()))
    await begun.wait()
    put.cancel()
    with pytest.raises(asyncio.CancelledError):
        await put
    over.set()

    async with asyncio.timeout(10):
        while files(tmp_path / "store") != [KEY]:  # noqa: ASYNC110 (the store clears up in a thread of its own)
            await asyncio.sleep(0.01)
    assert (tmp_path / "store" / KEY).read_bytes() == b"before"


async def test_nothing_of_a_put_shows_before_it_is_whole(store: artifacts.StoreArtifacts, tmp_path: Path) -> None:
    seen = set()

    async def watched() -> AsyncIterator[bytes]:
        for _ in range(30):
            seen.add((tmp_path / "store" / KEY).exists())
            yield b"x" * 1_048_576

    await store.put(KEY, watched())

    assert seen == {False}


async def test_a_long_body_is_never_held_in_memory(store: artifacts.StoreArtifacts) -> None:
    tracemalloc.start()
    try:
        await store.put(KEY, repeated(b"x" * 65_536, 1_600))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 4 * artifacts.PART_BYTES


async def test_a_key_that_climbs_out_of_the_store_is_not_taken(store: artifacts.StoreArtifacts, tmp_path: Path) -> None:
    with pytest.raises(errors.Unavailable, match="did not take"):
        await store.put("team/../../escaped", chunks(b"x"))

    assert files(tmp_path) == []


async def test_a_store_that_cannot_write_says_so_in_one_bounded_line(store: artifacts.StoreArtifacts) -> None:
    with pytest.raises(errors.Unavailable) as caught:
        await store.put("team/" + "x" * 5_000, chunks(b"x"))

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 3 * errors.FOREIGN_TEXT_LIMIT


@pytest.mark.parametrize("url", ("gopher://there", "not a url", "", "file:///dev/null/folder"))
def test_a_store_that_cannot_be_opened_says_which_and_why(url: str) -> None:
    with pytest.raises(errors.Unavailable, match="cannot be opened"):
        artifacts.StoreArtifacts(url)


async def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "a b#c%20d?é"

    reference = await artifacts.StoreArtifacts(folder.as_uri()).put(KEY, chunks(b"x"))

    assert (folder / KEY).read_bytes() == b"x"
    assert unquote(reference.removeprefix("file://")) == str(folder / KEY)
