"""Calls on a line that breaks: each starts once, each byte comes once, and no lie is told about the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.fakes.supervisor import IDENTITY, KEY, Break, FakeCall, FakeConnection, FakeSupervisor
from toolcall_operator import errors, ports
from toolcall_operator.adapters.sandbox import frames, output
from toolcall_operator.adapters.sandbox.connection import WINDOW
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.link import Identity
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.core.outcomes import Cause, ExecRequest, ExecResult
from toolcall_operator.core.reasons import Reason

QUICK = Patience(ping=60, request=0.2, retention=0.2, first_pause=0.0001, longest_pause=0.001)
PATIENT = replace(QUICK, request=5)
"""For what is to succeed, however busy the machine."""

STDOUT, STDERR = bytes(range(40)), b"errors"


def call(uid: str = "call", stdin: bytes = b"input", timeout: float = 0.1) -> ExecRequest:
    return ExecRequest(uid, ("tool",), {"NAME": "value"}, stdin, timedelta(seconds=timeout), timedelta(), 1 << 20, 8)


def speaks() -> FakeCall:
    return FakeCall(STDOUT, STDERR, code=3)


async def gathered(stream: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in stream])


async def run(sandbox: ports.Sandbox, request: ExecRequest) -> tuple[bytes, bytes, ExecResult]:
    async with asyncio.timeout(5), sandbox.start(request) as execution:
        stdout, stderr = await asyncio.gather(gathered(execution.stdout), gathered(execution.stderr))
        return stdout, stderr, await execution.result()


@pytest.fixture
def supervisor() -> FakeSupervisor:
    return FakeSupervisor(lambda _: speaks(), piece=4)


@pytest.fixture
async def sandbox(supervisor: FakeSupervisor) -> AsyncIterator[SupervisedSandbox]:
    opened = await SupervisedSandbox.open(supervisor, IDENTITY, QUICK)
    yield opened
    await opened.close()


async def bytes_of_one_call() -> tuple[int, int]:
    """How many bytes a call makes the supervisor send and receive on an unbroken connection, hellos included."""
    supervisor = FakeSupervisor(lambda _: speaks(), piece=4)
    sandbox = await SupervisedSandbox.open(supervisor, IDENTITY, QUICK)
    await run(sandbox, call())
    await sandbox.close()
    [connection] = supervisor.connections
    return connection.sent, connection.received


class TestBreaks:
    async def test_a_break_after_any_byte_that_was_sent_or_received_loses_and_doubles_nothing(self) -> None:
        sent, received = await bytes_of_one_call()
        places = [Break(after_sent=n) for n in range(1, sent + 1)] + [
            Break(after_received=n) for n in range(1, received + 1)
        ]
        for place in places:
            # The first connection is for opening, and is cut once it has done that.
            supervisor = FakeSupervisor(lambda _: speaks(), piece=4, breaks=[Break(), place])
            sandbox = await SupervisedSandbox.open(supervisor, IDENTITY, PATIENT)
            supervisor.connections[0].cut()

            assert (await run(sandbox, call()))[:2] == (STDOUT, STDERR), place
            assert (supervisor.starts, supervisor.inputs) == (["call"], {"call": b"input"}), place
            await sandbox.close()

    async def test_a_line_that_breaks_again_and_again_brings_everything_in_the_end(self) -> None:
        supervisor = FakeSupervisor(lambda _: FakeCall(b"0123456789" * 100), piece=10)
        sandbox = await SupervisedSandbox.open(supervisor, IDENTITY, QUICK)
        supervisor.breaks = [Break(after_sent=700) for _ in range(40)]
        supervisor.connections[0].cut()

        stdout, _, result = await run(sandbox, call(timeout=5))

        assert (stdout, result.code, supervisor.starts) == (b"0123456789" * 100, 0, ["call"])
        assert len(supervisor.connections) > 5
        await sandbox.close()

    async def test_a_call_that_runs_is_followed_across_a_break(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> None:
        supervisor.plan = lambda _: FakeCall(STDOUT, over=False)
        async with sandbox.start(call(timeout=5)) as execution:
            assert await anext(execution.stdout) == STDOUT
            supervisor.connections[0].cut()
            await supervisor.until(lambda: "attach" in [message["type"] for message in supervisor.received])
            supervisor.finish("call")
            result = await execution.result()

            assert await gathered(execution.stdout) == b""
        assert (result.cause, result.code, supervisor.starts) == (Cause.EXITED, 0, ["call"])

    async def test_requests_outlive_a_break(self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox) -> None:
        await run(sandbox, call())
        for request in (sandbox.calls, lambda: sandbox.kill("call"), lambda: sandbox.acknowledge("call")):
            supervisor.connections[-1].cut()
            await request()

        assert supervisor.calls["call"].acknowledged
        assert len(supervisor.connections) == 4

    async def test_a_supervisor_that_falls_silent_is_left_for_a_new_connection(self) -> None:
        supervisor = FakeSupervisor(lambda _: speaks())
        sandbox = await SupervisedSandbox.open(supervisor, IDENTITY, Patience(ping=0.01, request=5, first_pause=0.001))
        supervisor.connections[0].silent = True

        assert await sandbox.calls() == {}
        assert len(supervisor.connections) == 2
        await sandbox.close()


class TestLoss:
    @pytest.fixture
    def lost(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> Callable[[], asyncio.Task[errors.SandboxLost]]:
        """Starts a call that goes on, does `harm` and cuts the line, and tells how the call was lost."""
        supervisor.plan = lambda _: FakeCall(STDOUT, over=False)

        async def losing() -> errors.SandboxLost:
            async with asyncio.timeout(5), sandbox.start(call()) as execution:
                supervisor.connections[0].cut()
                assert await gathered(execution.stdout) == STDOUT
                with pytest.raises(errors.SandboxLost) as caught:
                    await execution.result()
                return caught.value

        return lambda: asyncio.create_task(losing())

    Losing = Callable[[], "asyncio.Task[errors.SandboxLost]"]

    async def test_another_boot_means_that_the_sandbox_restarted(
        self, supervisor: FakeSupervisor, lost: Losing
    ) -> None:
        supervisor.boot_id = "boot-2"
        supervisor.calls.clear()

        assert (await lost()).reason is Reason.SANDBOX_RESTARTED
        assert supervisor.starts == ["call"]

    async def test_a_connector_that_knows_better_says_why(self, supervisor: FakeSupervisor, lost: Losing) -> None:
        supervisor.gone = True

        assert (await lost()).reason is Reason.SANDBOX_GONE

    async def test_no_way_back_in_time_is_an_unreachable_sandbox(
        self, supervisor: FakeSupervisor, lost: Losing
    ) -> None:
        supervisor.unreachable = 1_000_000
        before = asyncio.get_running_loop().time()

        assert (await lost()).reason is Reason.SANDBOX_UNREACHABLE
        assert asyncio.get_running_loop().time() - before >= 0.1 + QUICK.retention

    @pytest.mark.parametrize("code", ("UnknownCall", "AcknowledgedCall", "BadRequest"))
    async def test_a_supervisor_that_shows_a_started_call_no_more_is_transport_lost(
        self, supervisor: FakeSupervisor, lost: Losing, code: str
    ) -> None:
        supervisor.refuse["attach"] = code

        assert (await lost()).reason is Reason.TRANSPORT_LOST

    async def test_after_a_restart_nothing_is_started_or_asked_any_more(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> None:
        supervisor.boot_id = "boot-2"
        supervisor.connections[0].cut()
        for request in (lambda: run(sandbox, call()), lambda: sandbox.kill("call"), sandbox.calls):
            with pytest.raises(errors.SandboxLost):
                await request()

        assert (supervisor.starts, sandbox.lost) == ([], True)

    async def test_a_call_whose_end_is_never_told_is_lost_long_after_its_deadline(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> None:
        supervisor.plan = lambda _: FakeCall(stdout=b"half", over=False)

        async with sandbox.start(call()) as execution:
            half = await gathered(execution.stdout)
            with pytest.raises(errors.SandboxLost) as lost:
                await execution.result()

        assert (half, lost.value.reason) == (b"half", Reason.TRANSPORT_LOST)

    async def test_a_start_that_is_never_answered_is_lost_long_after_its_deadline_and_not_made_again(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(FakeConnection, "_start", lambda *_: None)

        with pytest.raises(errors.SandboxLost) as lost:
            await run(sandbox, call())

        kinds = [message["type"] for message in supervisor.received]
        assert (lost.value.reason, kinds.count("start"), kinds[-1]) == (Reason.TRANSPORT_LOST, 1, "detach")

    async def test_what_is_told_of_a_call_that_was_given_up_takes_no_other_call_with_it(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> None:
        supervisor.plan = lambda _: FakeCall(STDOUT, over=False)
        async with sandbox.start(call()) as execution:
            await gathered(execution.stdout)
            supervisor.calls["call"].stderr = STDERR
            supervisor.finish("call")
            with pytest.raises(errors.SandboxLost):
                await execution.result()
            await sandbox.calls()

        assert len(supervisor.connections) == 1

    async def test_a_start_that_was_never_sent_is_unavailable(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> None:
        supervisor.unreachable = 1_000_000
        supervisor.connections[0].cut()
        for request in (lambda: run(sandbox, call()), lambda: sandbox.kill("call"), sandbox.calls):
            with pytest.raises(errors.Unavailable):
                await request()

        assert supervisor.starts == []

    async def test_a_sandbox_that_was_let_go_of_is_not_reached_for_again(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> None:
        supervisor.plan = lambda _: FakeCall(STDOUT, over=False)
        async with asyncio.timeout(5), sandbox.start(call()) as execution:
            await sandbox.close()
            with pytest.raises(errors.SandboxLost):
                await execution.result()

        assert len(supervisor.connections) == 1


class TestRefusals:
    @pytest.mark.parametrize(
        ("code", "error"),
        (
            ("Unavailable", errors.Unavailable),
            ("StaleEpoch", errors.Unavailable),
            ("AcknowledgedCall", errors.SandboxLost),
            ("BadRequest", errors.ProtocolBroken),
            ("Anything", errors.ProtocolBroken),
        ),
    )
    async def test_a_refused_start_is_the_error_that_fits(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox, code: str, error: type[errors.OperatorError]
    ) -> None:
        supervisor.refuse["start"] = code

        with pytest.raises(error):
            await run(sandbox, call())
        assert supervisor.starts == []

    async def test_after_a_refusal_the_same_start_may_succeed(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> None:
        supervisor.refuse["start"] = "Unavailable"
        with pytest.raises(errors.Unavailable):
            await run(sandbox, call())
        supervisor.refuse.clear()

        assert (await run(sandbox, call()))[0] == STDOUT

    async def test_a_start_whose_answer_was_lost_to_a_newer_leader_is_followed(self) -> None:
        """The second start is refused, and yet the process runs: to say that nothing was started would be false."""
        supervisor = FakeSupervisor(lambda _: speaks(), breaks=[Break()])
        sandbox = await SupervisedSandbox.open(supervisor, IDENTITY, QUICK)
        hello = supervisor.connections[0].sent
        supervisor.breaks = [Break(after_sent=hello + 1)]
        supervisor.connections[0].cut()
        supervisor.newer_epoch_after_start = True

        assert (await run(sandbox, call()))[0] == STDOUT
        assert supervisor.starts == ["call"]
        await sandbox.close()

    async def test_another_key_is_refused_and_never_shown(self, supervisor: FakeSupervisor) -> None:
        stranger = Identity(b"s" * 32)

        with pytest.raises(errors.ProtocolBroken, match="BadKey"):
            await SupervisedSandbox.open(supervisor, stranger, QUICK)
        assert KEY.hex() not in repr(IDENTITY)
        assert repr(KEY) not in repr(IDENTITY)


class TestChannels:
    async def test_leaving_detaches_and_ends_nothing(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> None:
        supervisor.plan = lambda _: FakeCall(STDOUT, over=False)
        async with sandbox.start(call()):
            pass
        supervisor.finish("call")

        assert await sandbox.calls() == {"call": ports.CallState.EXITED}
        assert [message["type"] for message in supervisor.received][-2:] == ["detach", "list"]
        assert len(supervisor.connections) == 1

    async def test_output_on_its_way_to_someone_who_left_is_dropped(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> None:
        async with sandbox.start(call()):
            pass

        assert (await run(sandbox, call()))[0] == STDOUT
        assert len(supervisor.connections) == 1

    async def test_a_reader_who_reads_nothing_holds_one_window_and_delays_nobody(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox
    ) -> None:
        supervisor.piece = frames.PAYLOAD_LIMIT
        supervisor.plan = lambda _: FakeCall(bytes(3 * WINDOW), bytes(3 * WINDOW))
        async with sandbox.start(call("slow")) as slow:
            supervisor.plan = lambda _: speaks()
            before = supervisor.connections[0].payload
            assert (await run(sandbox, call("quick")))[0] == STDOUT
            assert before == WINDOW
            assert len(await gathered(slow.stdout)) == 3 * WINDOW

    async def test_a_reader_who_stalls_on_one_stream_gives_way_to_the_other(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(output, "_STALL_SECONDS", 0.01)
        supervisor.piece = frames.PAYLOAD_LIMIT
        supervisor.plan = lambda _: FakeCall(bytes(3 * WINDOW), bytes(3 * WINDOW))
        async with asyncio.timeout(5), sandbox.start(call()) as execution:
            begun = len(await anext(execution.stderr))
            assert len(await gathered(execution.stdout)) == 3 * WINDOW
            assert begun + len(await gathered(execution.stderr)) == 3 * WINDOW
        assert len(supervisor.connections) == 1

    @pytest.mark.parametrize(
        "lie",
        (
            pytest.param(frames.encode_data(9, frames.STDOUT, 0, b"x"), id="data on a channel that is not open"),
            pytest.param(frames.encode_control({"type": "pong", "id": 999}), id="an answer nobody asked for"),
            pytest.param(frames.encode_control({"type": "detached", "channel": 1}), id="a channel detached by itself"),
            pytest.param(frames.encode_data(1, frames.STDOUT, 7, b"x"), id="output out of its order"),
            pytest.param(frames.encode_data(1, frames.STDIN, 0, b"x"), id="input"),
            pytest.param(
                b"".join(frames.encode_data(1, frames.STDOUT, n * 65_536, bytes(65_536)) for n in range(5)),
                id="more than the credit",
            ),
            pytest.param(frames.encode_control(FakeCall(STDOUT).exit(1)), id="an exit before its output"),
            pytest.param(
                frames.encode_control({"type": "started", "channel": 1, "attached": True}), id="a second start"
            ),
            pytest.param(b"\0\0\0\0", id="no frame"),
        ),
    )
    async def test_a_supervisor_that_breaks_the_protocol_is_told_so_and_asked_again(
        self, supervisor: FakeSupervisor, sandbox: SupervisedSandbox, lie: bytes
    ) -> None:
        supervisor.plan = lambda _: FakeCall(b"", over=False)
        arrived = bytes(WINDOW) if len(lie) > WINDOW else b""
        async with asyncio.timeout(5), sandbox.start(call(timeout=5)) as execution:
            supervisor.connections[0].raw(lie)
            await supervisor.until(lambda: len(supervisor.connections) == 2)
            supervisor.calls["call"].stdout = arrived + STDOUT
            supervisor.finish("call")

            assert await gathered(execution.stdout) == arrived + STDOUT
            assert (await execution.result()).code == 0
        refusals = [message for message in supervisor.received if message["type"] == "refused"]
        assert [message["code"] for message in refusals] == ["ProtocolError"]
