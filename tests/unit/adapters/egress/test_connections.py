"""Connections to servers outside, over real sockets."""

from __future__ import annotations

import asyncio

import httpcore
import pytest

from tests.unit.adapters.egress import serving
from tests.unit.adapters.egress.serving import said
from tests.unit.adapters.egress.ways import cancelled, get, opened
from toolcall_operator import errors
from toolcall_operator.adapters.egress import asking
from toolcall_operator.adapters.egress import connections as connections_module
from toolcall_operator.adapters.egress.connections import Connections
from toolcall_operator.core.exchange import Origin, Request


async def test_a_connection_is_used_again() -> None:
    async with serving.serving() as server, opened(server.origin) as egress:
        for _ in range(3):
            await egress.send(get(server.origin))

    assert [asked.connection for asked in server.asked] == [1, 1, 1]


async def test_requests_at_once_share_none() -> None:
    async with serving.serving() as server, opened(server.origin) as egress:
        await asyncio.gather(*(egress.send(get(server.origin)) for _ in range(5)))

    assert len(server.asked) == 5
    assert server.connections <= 5


async def test_one_that_the_server_closed_meanwhile_is_not_used() -> None:
    async with serving.serving() as server, opened(server.origin) as egress:
        await egress.send(get(server.origin))
        server.hang_up()
        await server.left.wait()
        await asyncio.sleep(0.01)

        assert (await egress.send(get(server.origin))).status == 200

    assert [asked.connection for asked in server.asked] == [1, 2]


async def test_one_whose_answer_was_not_read_to_the_end_is_closed() -> None:
    async with serving.serving(said(body=b"x" * 100), said()) as server, opened(server.origin) as egress:
        with pytest.raises(errors.Unavailable):
            await egress.send(Request("GET", server.origin, answer_bytes=10))
        await server.left.wait()

        assert (await egress.send(get(server.origin))).body == b""


async def test_a_request_is_not_sent_twice_when_its_connection_breaks() -> None:
    async with serving.serving(said(), serving.ends_after(b"")) as server, opened(server.origin) as egress:
        await egress.send(get(server.origin))
        with pytest.raises(errors.Unavailable):
            await egress.send(Request("POST", server.origin, body=b"once"))

    assert [asked.method for asked in server.asked] == ["GET", "POST"]


async def test_a_cancelled_request_hangs_up() -> None:
    async with serving.serving(serving.never) as server, opened(server.origin) as egress:
        sending = asyncio.create_task(egress.send(get(server.origin)))
        await server.arrived.wait()
        sending.cancel()

        with pytest.raises(asyncio.CancelledError):
            await sending
        await server.left.wait()


async def test_a_slow_server_keeps_no_request_to_another_waiting() -> None:
    async with (
        serving.serving(serving.never) as slow,
        serving.serving() as quick,
        opened(slow.origin, quick.origin) as egress,
    ):
        waiting = [asyncio.create_task(egress.send(get(slow.origin))) for _ in range(200)]
        await slow.arrived.wait()

        assert (await egress.send(get(quick.origin))).status == 200

        assert slow.connections <= 16
        await cancelled(waiting)


async def test_cancelled_requests_leave_no_place_taken() -> None:
    async with serving.serving(serving.never) as server, opened(server.origin) as egress:
        for pause in (0, 0.0005, 0.001, 0.002, 0.004, 0.02):
            waiting = [asyncio.create_task(egress.send(get(server.origin))) for _ in range(40)]
            await asyncio.sleep(pause)
            await cancelled(waiting)
        server.plays = [said()]

        answers = await asyncio.gather(*(egress.send(get(server.origin)) for _ in range(40)))

    assert {answer.status for answer in answers} == {200}


async def test_closing_ends_what_is_under_way_and_what_would_follow() -> None:
    async with serving.serving(said(), serving.never) as server, opened(server.origin) as egress:
        await egress.send(get(server.origin))
        sending = asyncio.create_task(egress.send(get(server.origin)))
        while len(server.asked) < 2:  # noqa: ASYNC110 - one event is for the first request
            await asyncio.sleep(0.001)

        await egress.aclose()

        with pytest.raises(errors.Unavailable):
            await sending
        with pytest.raises(errors.Unavailable, match="about to end"):
            await egress.send(get(server.origin))
        await server.left.wait()


async def test_closing_twice_is_fine() -> None:
    async with serving.serving() as server, opened(server.origin) as egress:
        await egress.send(get(server.origin))
        await egress.aclose()
        await egress.aclose()


class Line(httpcore.AsyncMockStream):
    """A connection to a server that answers everything; it knows whether it was closed."""

    def __init__(self) -> None:
        super().__init__([said()] * 100)
        self.closed = False

    def get_extra_info(self, info: str) -> None:  # noqa: ARG002 - httpcore asks whether the server has hung up
        return None

    async def aclose(self) -> None:
        self.closed = True
        await super().aclose()


class Lines:
    """Connects whomever it is asked for, once `connects` is set."""

    def __init__(self) -> None:
        self.connects = asyncio.Event()
        self.begun = 0
        self.made: list[Line] = []

    async def dial(self, _: Origin) -> Line:
        self.begun += 1
        await self.connects.wait()
        self.made.append(Line())
        return self.made[-1]


def origin(number: int) -> Origin:
    return Origin("https", f"host-{number}.test", 443)


async def ask(connections: Connections, whom: Origin) -> None:
    target = asking.target(get(f"https://{whom.host}"))
    async with connections.to(whom) as connection:
        await asking.answer(connection, target, get(f"https://{whom.host}"))


async def test_128_requests_in_all_are_under_way_at_once() -> None:
    lines = Lines()
    connections = Connections(lines.dial)
    sending = [asyncio.create_task(ask(connections, origin(number % 10))) for number in range(200)]
    await asyncio.sleep(0.01)

    assert lines.begun == 128

    lines.connects.set()
    await asyncio.gather(*sending)
    await connections.aclose()


async def test_16_idle_connections_are_kept_the_latest_ones() -> None:
    lines = Lines()
    lines.connects.set()
    connections = Connections(lines.dial)

    for number in range(20):
        await ask(connections, origin(number))

    assert [line.closed for line in lines.made] == [True] * 4 + [False] * 16
    await connections.aclose()
    assert all(line.closed for line in lines.made)


async def test_a_connection_is_not_used_when_it_may_be_about_to_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections_module, "_FRESH_SECONDS", -1.0)
    lines = Lines()
    lines.connects.set()
    connections = Connections(lines.dial)

    for _ in range(2):
        await ask(connections, origin(0))

    assert [line.closed for line in lines.made] == [True, False]
    await connections.aclose()


async def test_closing_ends_a_connection_that_is_just_being_made() -> None:
    lines = Lines()
    connections = Connections(lines.dial)
    sending = asyncio.create_task(ask(connections, origin(0)))
    await asyncio.sleep(0)

    await connections.aclose()
    lines.connects.set()

    with pytest.raises(errors.Unavailable, match="about to end"):
        await sending
    assert [line.closed for line in lines.made] == [True]


async def test_nothing_is_remembered_of_whom_nobody_asks_any_more() -> None:
    lines = Lines()
    lines.connects.set()
    connections = Connections(lines.dial)
    sending = [asyncio.create_task(ask(connections, origin(number))) for number in range(300)]
    await asyncio.sleep(0)
    sending[7].cancel()
    await asyncio.gather(*sending, return_exceptions=True)

    assert connections._queues == {}  # noqa: SLF001 - memory shows in nothing else
    await connections.aclose()
