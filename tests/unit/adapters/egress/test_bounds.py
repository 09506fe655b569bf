"""How long an answer is waited for, and how much of it is read."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.adapters.egress import serving
from tests.unit.adapters.egress.serving import head, said
from tests.unit.adapters.egress.ways import SHORT, get, opened
from toolcall_operator import errors
from toolcall_operator.core.exchange import Request


async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One byte after the other, for ever."""
    writer.write(head(Content_Length="100000"))
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A body without end, and without a length."""
    writer.write(head(Transfer_Encoding="chunked"))
    while True:
        writer.write(b"2000\r\n" + b"x" * 0x2000 + b"\r\n")
        await writer.drain()


async def bombard(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A head without end."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        await writer.drain()


async def hint(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hints that an answer will come, for ever."""
    while True:
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "play",
    (
        pytest.param(serving.never, id="says nothing"),
        pytest.param(drip, id="drips"),
        pytest.param(hint, id="says again and again that an answer will come"),
        pytest.param(head(Content_Length="5") + b"four", id="stops before the end"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX-", id="stops in its head"),
    ),
)
async def test_one_deadline_is_for_everything(play: serving.Play) -> None:
    async with serving.serving(play) as server, opened(server.origin) as egress:
        with pytest.raises(errors.Unavailable, match="no whole answer came in time"):
            await egress.send(get(server.origin, SHORT))

        await server.left.wait()


async def test_a_body_without_end_is_read_to_its_bound() -> None:
    async with serving.serving(flood) as server, opened(server.origin) as egress:
        with pytest.raises(
            errors.Unavailable, match=r"^127\.0\.0\.1 cannot be asked now: its answer has more than 1048576"
        ):
            await egress.send(get(server.origin))

        await server.left.wait()


@pytest.mark.parametrize(
    "head_of", (head(Transfer_Encoding="chunked"), head(Connection="close")), ids=("chunks", "no length")
)
@pytest.mark.parametrize(("most", "whole"), ((10, True), (9, False)), ids=("exactly so many", "one too many"))
async def test_bytes_that_no_length_announces_are_counted(head_of: bytes, most: int, *, whole: bool) -> None:
    body = b"4\r\nabcd\r\n6\r\nefghij\r\n0\r\n\r\n" if b"chunked" in head_of else b"abcdefghij"
    async with serving.serving(serving.ends_after(head_of + body)) as server, opened(server.origin) as egress:
        asking = egress.send(Request("GET", server.origin, answer_bytes=most))
        if whole:
            assert (await asking).body == b"abcdefghij"
        else:
            with pytest.raises(errors.Unavailable, match="more than 9 bytes"):
                await asking


async def test_a_body_that_says_it_is_too_large_is_not_begun() -> None:
    async with serving.serving(head(Content_Length="1048577")) as server, opened(server.origin) as egress:
        with pytest.raises(errors.Unavailable, match="more than 1048576 bytes"):
            await egress.send(get(server.origin))


async def test_what_a_head_says_of_a_body_that_is_not_there_bounds_nothing() -> None:
    async with serving.serving(head(Content_Length="1048577")) as server, opened(server.origin) as egress:
        assert (await egress.send(Request("HEAD", server.origin))).body == b""


async def test_a_head_without_end_is_given_up() -> None:
    async with serving.serving(bombard) as server, opened(server.origin) as egress:
        with pytest.raises(errors.Unavailable, match="its answer is not whole, or not HTTP"):
            await egress.send(get(server.origin))

        await server.left.wait()


@pytest.mark.parametrize("encoding", ("gzip", "deflate", "br", "identity, gzip", "GZIP"))
async def test_a_compressed_answer_is_not_read(encoding: str) -> None:
    async with (
        serving.serving(said(body=b"x", Content_Encoding=encoding)) as server,
        opened(server.origin) as egress,
    ):
        with pytest.raises(errors.Unavailable, match="compressed"):
            await egress.send(get(server.origin))


async def test_no_compressed_answer_is_asked_for() -> None:
    async with serving.serving() as server, opened(server.origin) as egress:
        await egress.send(get(server.origin))

    assert server.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "text",
    (
        pytest.param(b"", id="nothing"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour", id="less than it says"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfour", id="half a chunk"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", id="two lengths"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", id="a length without end"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", id="an upgrade"),
    ),
)
async def test_half_an_answer_is_none(text: bytes) -> None:
    async with serving.serving(serving.ends_after(text)) as server, opened(server.origin) as egress:
        with pytest.raises(errors.Unavailable):
            await egress.send(get(server.origin))


async def test_an_answer_that_ends_with_its_connection_is_whole() -> None:
    async with serving.serving(serving.ends_after(head() + b"all")) as server, opened(server.origin) as egress:
        assert (await egress.send(get(server.origin))).body == b"all"
