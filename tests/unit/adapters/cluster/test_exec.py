"""An exec as two byte streams, over a real websocket on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import WSMsgType, web

from tests.unit.adapters.cluster import answering
from tests.unit.adapters.cluster.answering import Answering, refused
from toolcall_operator import errors
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.exec import SUBPROTOCOL, Ending, ExecStream
from toolcall_operator.adapters.cluster.resources import PODS

POD = PODS.named("pod", "space")
Play = Callable[[web.WebSocketResponse], Awaitable[None]]
SUCCESS = json.dumps({"status": "Success"}).encode()


def failure(**fields: Any) -> bytes:  # noqa: ANN401 - a Status has fields of every kind
    return json.dumps({"status": "Failure", **fields}).encode()


def playing(play: Play, protocol: str = SUBPROTOCOL) -> Answering:
    """A server that takes a websocket and does `play` with it."""

    async def handle(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=(protocol,), timeout=0.1)
        await socket.prepare(request)
        await play(socket)
        await socket.close()
        return socket

    return Answering([handle])


@asynccontextmanager
async def executing(play: Play) -> AsyncIterator[ExecStream]:
    """The stream of a program that does `play`."""
    async with answering.served(playing(play)) as client:
        stream = await client.exec(POD, "sandbox", ("/program", "word"))
        yield stream
        await stream.close()


async def everything(stream: ExecStream) -> bytes:
    chunks = []
    while chunk := await stream.read(1 << 20):
        chunks.append(chunk)
    return b"".join(chunks)


async def echo(socket: web.WebSocketResponse) -> None:
    """Send back on standard output what comes on standard input, until a word is `end`."""
    async for message in socket:
        await socket.send_bytes(b"\x01" + message.data[1:])
        if message.data.endswith(b"end"):
            break


class TestStreams:
    async def test_bytes_go_there_and_back_in_order(self) -> None:
        async with executing(echo) as stream:
            text = bytes(range(256)) * 4096
            stream.write(text)
            stream.write(b"end")

            assert await everything(stream) == text + b"end"

    async def test_small_writes_share_a_message(self) -> None:
        seen: list[bytes] = []

        async def listen(socket: web.WebSocketResponse) -> None:
            async for message in socket:
                seen.append(message.data)
                if message.data.endswith(b"end"):
                    break

        async with executing(listen) as stream:
            for word in (b"one ", b"two ", b"end"):
                stream.write(word)
            assert await everything(stream) == b""

        assert seen == [b"\x00one two end"]

    async def test_a_read_returns_no_more_than_was_asked_for(self) -> None:
        async with executing(echo) as stream:
            stream.write(b"abcdefend")

            assert [await stream.read(4), await stream.read(4), await stream.read(4)] == [b"abcd", b"efen", b"d"]

    async def test_a_server_that_takes_nothing_holds_the_writer_back(self) -> None:
        async def sit(_: web.WebSocketResponse) -> None:
            await asyncio.sleep(0.5)

        async with executing(sit) as stream:
            for _ in range(64):
                stream.write(b"x" * (1 << 20))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await stream.drain()

    async def test_what_is_on_its_way_is_not_waited_for(self) -> None:
        async with executing(echo) as stream:
            async with asyncio.timeout(1):
                await stream.drain()
                stream.write(b"x")
                await stream.drain()

    async def test_messages_of_no_known_channel_are_passed_over(self) -> None:
        async def mumble(socket: web.WebSocketResponse) -> None:
            for message in (b"", b"\x01", b"\x07what", b"\xff\x01", b"\x01said"):
                await socket.send_bytes(message)

        async with executing(mumble) as stream:
            assert await everything(stream) == b"said"

    async def test_a_message_in_text_breaks_the_stream(self) -> None:
        async def text(socket: web.WebSocketResponse) -> None:
            await socket.send_str("hello")

        async with executing(text) as stream:
            with pytest.raises(ConnectionResetError):
                await stream.read(1)

    async def test_a_message_without_bounds_breaks_the_stream(self) -> None:
        async def flood(socket: web.WebSocketResponse) -> None:
            await socket.send_bytes(b"\x01" + b"x" * (2 << 20))

        async with executing(flood) as stream:
            with pytest.raises(ConnectionResetError):
                await stream.read(1)


class TestEnds:
    async def test_an_end_without_a_status_is_an_interruption(self) -> None:
        async def vanish(socket: web.WebSocketResponse) -> None:
            await socket.send_bytes(b"\x01half")

        async with executing(vanish) as stream:
            assert await everything(stream) == b"half"
            assert stream.ending is None

    async def test_a_connection_that_breaks_off_ends_the_stream(self) -> None:
        async def hang_up(socket: web.WebSocketResponse) -> None:
            await socket.send_bytes(b"\x01half")
            transport = socket.get_extra_info("socket")
            transport.shutdown(2)

        async with executing(hang_up) as stream:
            assert await everything(stream) == b"half"
            assert stream.ending is None

    async def test_an_end_is_told_after_the_output(self) -> None:
        async def end(socket: web.WebSocketResponse) -> None:
            await socket.send_bytes(b"\x01all")
            await socket.send_bytes(b"\x03" + SUCCESS)

        async with executing(end) as stream:
            assert await everything(stream) == b"all"
            assert stream.ending == Ending(0)

    async def test_the_last_line_of_standard_error_says_why(self) -> None:
        async def complain(socket: web.WebSocketResponse) -> None:
            await socket.send_bytes(b"\x02" + b"noise\n" * 10_000 + b"reach serve: ")
            await socket.send_bytes(b"\x02refused\n\n")
            await socket.send_bytes(b"\x03" + failure(message="command terminated"))

        async with executing(complain) as stream:
            await everything(stream)
            assert stream.last_words == "reach serve: refused"

    async def test_without_one_the_api_server_does(self) -> None:
        async def refuse(socket: web.WebSocketResponse) -> None:
            await socket.send_bytes(b"\x03" + failure(message="container not found"))

        async with executing(refuse) as stream:
            await everything(stream)
            assert stream.last_words == "container not found"

    async def test_writing_to_an_ended_stream_fails_where_it_is_drained(self) -> None:
        async def leave(_: web.WebSocketResponse) -> None:
            pass

        async with executing(leave) as stream:
            assert await everything(stream) == b""
            stream.write(b"x")
            with pytest.raises(ConnectionResetError):
                await stream.drain()

    async def test_closing_ends_a_drain_that_waits_and_may_be_done_twice(self) -> None:
        async def sit(_: web.WebSocketResponse) -> None:
            await asyncio.sleep(0.3)

        async with executing(sit) as stream:
            stream.write(b"x" * (64 << 20))
            draining = asyncio.create_task(stream.drain())
            await asyncio.sleep(0.05)
            await stream.close()
            await stream.close()
            with pytest.raises(ConnectionResetError):
                await draining

    async def test_a_close_that_is_canceled_closes_all_the_same(self) -> None:
        closed = asyncio.Event()

        async def listen(socket: web.WebSocketResponse) -> None:
            async for message in socket:
                assert message.type is WSMsgType.BINARY
            closed.set()

        async with executing(listen) as stream:
            closing = asyncio.create_task(stream.close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            async with asyncio.timeout(1):
                await closed.wait()

    @pytest.mark.parametrize(
        ("status", "expected"),
        (
            pytest.param(SUCCESS, Ending(0), id="well"),
            pytest.param(
                failure(
                    reason="NonZeroExit",
                    message="command terminated with non-zero exit code",
                    details={"causes": [{"reason": "Other"}, {"reason": "ExitCode", "message": "7"}]},
                ),
                Ending(7, "command terminated with non-zero exit code"),
                id="with a code",
            ),
            pytest.param(failure(message="no such container"), Ending(None, "no such container"), id="without one"),
            pytest.param(
                failure(details={"causes": [{"reason": "ExitCode", "message": "seven"}]}),
                Ending(None),
                id="with a code that is none",
            ),
            pytest.param(failure(details={"causes": "odd"}), Ending(None), id="with odd causes"),
            pytest.param(b"{", Ending(None, "the API server told its end in an unknown way"), id="not readable"),
            pytest.param(b"[]", Ending(None, "the API server told its end in an unknown way"), id="no Status"),
        ),
    )
    def test_a_status_tells_the_end(self, status: bytes, expected: Ending) -> None:
        assert Ending.parse(status) == expected


class TestOpening:
    async def test_the_words_and_the_container_stand_in_the_url_and_nothing_else(self) -> None:
        server = playing(echo)
        async with answering.served(server) as client:
            await (await client.exec(POD, "sandbox", ("/program", "a word"))).close()

        assert server.asked[0].url == (
            "/api/v1/namespaces/space/pods/pod/exec?container=sandbox&stdin=true&stdout=true&stderr=true"
            "&command=%2Fprogram&command=a+word"
        )
        assert server.asked[0].headers["Sec-WebSocket-Protocol"] == SUBPROTOCOL
        assert "Sec-WebSocket-Extensions" not in server.asked[0].headers

    async def test_a_server_without_the_protocol_is_left(self) -> None:
        async with answering.served(playing(echo, "v4.channel.k8s.io")) as client:
            with pytest.raises(errors.Unavailable, match=r"does not speak v5\.channel\.k8s\.io"):
                await client.exec(POD, "sandbox", ("/program",))

    @pytest.mark.parametrize(
        ("answer", "kind", "text"),
        (
            (refused(403, "no right at all"), errors.Unavailable, "no right at all"),
            (refused(404, 'pods "pod" not found', "pod"), errors.Gone, 'pods "pod" not found'),
            (refused(400, "container x is not valid"), errors.Rejected, "container x is not valid"),
            (refused(500, "broken"), errors.Unavailable, "HTTP 500: broken"),
        ),
    )
    async def test_a_refusal_is_told_with_its_text(
        self, answer: web.Response, kind: type[errors.OperatorError], text: str
    ) -> None:
        async with answering.served(Answering([answer])) as client:
            with pytest.raises(kind, match=text):
                await client.exec(POD, "sandbox", ("/program",))

    async def test_a_refusal_that_is_not_repeated_is_told_without(self) -> None:
        server = Answering([refused(503, "later"), refused(400, "Upgrade request required")])
        async with answering.served(server) as client:
            with pytest.raises(errors.Unavailable, match=r"HTTP 503$"):
                await client.exec(POD, "sandbox", ("/program",))

    async def test_who_is_not_known_any_more_shows_new_credentials(self) -> None:
        server = playing(echo)
        server.answers.insert(0, refused(401))
        async with answering.served(server, "first", "second") as client:
            await (await client.exec(POD, "sandbox", ("/program",))).close()

        assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer first", "Bearer second"]

    async def test_nobody_listening_is_unavailable(self) -> None:
        client = await Client.open(answering.Tokens("http://127.0.0.1:9", ["token"]))

        with pytest.raises(errors.Unavailable, match="cannot exec in"):
            await client.exec(POD, "sandbox", ("/program",))
        await client.aclose()
