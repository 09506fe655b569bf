"""The suite that every sandbox must pass: subclass it, and supply the fixture `box`.

A sandbox that cannot pass a test for a reason of its kind lists it in `DIFFERENCES`, with the reason.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Mapping
from typing import ClassVar

import pytest

from tests.contract import harness
from tests.contract.harness import Harness, Limits
from toolcall_operator import errors, ports
from toolcall_operator.core.outcomes import Cause, ExecRequest

MEGABYTE = 1 << 20
_BROKEN = 70  # the exit code of a test tool that could not do its work


class Suite:
    """What holds for every suite."""

    DIFFERENCES: ClassVar[Mapping[str, str]] = {}

    @pytest.fixture(autouse=True)
    def differs(self, request: pytest.FixtureRequest) -> None:
        if reason := self.DIFFERENCES.get(request.node.originalname):
            pytest.skip(reason)


class OutputSuite(Suite):
    """Output and input, byte for byte."""

    async def test_each_stream_comes_complete_and_in_order(self, box: Harness) -> None:
        ran = await box.run("write", "both", "300000", "7")

        assert ran.stdout == harness.pattern(300_000)
        assert ran.stderr == harness.pattern(300_000)
        assert (ran.result.stdout.size, ran.result.stdout.stored) == (300_000, 300_000)

    async def test_streams_are_apart(self, box: Harness) -> None:
        ran = await box.run("fail", "3", "only here")

        assert (ran.stdout, ran.stderr) == (b"", b"only here\n")

    async def test_output_is_bytes_and_not_text(self, box: Harness) -> None:
        ran = await box.run("bytes")

        assert ran.stdout == bytes(range(256)) * 4

    @pytest.mark.parametrize(
        "size",
        (
            pytest.param(1, id="one byte"),
            pytest.param(65_536, id="exactly one frame"),
            pytest.param(65_537, id="one byte more than a frame"),
            pytest.param(5 * MEGABYTE, id="5 MiB"),
        ),
    )
    async def test_input_arrives_byte_for_byte(self, box: Harness, size: int) -> None:
        text = random.Random(size).randbytes(size)  # noqa: S311 - guards nothing, and is the same every time

        ran = await box.run("cat", stdin=text)

        assert ran.stdout == text

    async def test_empty_input_ends_at_once(self, box: Harness) -> None:
        ran = await box.run("cat", limits=Limits(timeout=10))

        assert (ran.stdout, ran.result.cause, ran.result.code) == (b"", Cause.EXITED, 0)

    @pytest.mark.parametrize(("first", "second"), (("stdout", "stderr"), ("stderr", "stdout")))
    async def test_streams_can_be_read_one_after_the_other(self, box: Harness, first: str, second: str) -> None:
        async with (
            asyncio.timeout(30),
            box.sandbox.start(box.call("write", "both", str(MEGABYTE), "1000")) as execution,
        ):
            one = await harness.gathered(getattr(execution, first))
            other = await harness.gathered(getattr(execution, second))

        assert one == other == harness.pattern(MEGABYTE)

    async def test_the_result_can_be_had_before_the_output(self, box: Harness) -> None:
        async with (
            asyncio.timeout(30),
            box.sandbox.start(box.call("write", "both", str(MEGABYTE), "1000")) as execution,
        ):
            result = await execution.result()
            stdout = await harness.gathered(execution.stdout)

        assert result.code == 0
        assert stdout == harness.pattern(MEGABYTE)

    @pytest.mark.parametrize(
        ("size", "limit"),
        (
            pytest.param(999, 1000, id="below"),
            pytest.param(1000, 1000, id="exactly at"),
            pytest.param(1001, 1000, id="one byte above"),
            pytest.param(MEGABYTE + 1024, MEGABYTE, id="1 MiB and a little"),
            pytest.param(5 * MEGABYTE, 1000, id="far beyond"),
            pytest.param(1000, 0, id="nothing is kept"),
        ),
    )
    async def test_the_head_is_kept_and_all_is_counted(self, box: Harness, size: int, limit: int) -> None:
        ran = await box.run("write", "stdout", str(size), "100", limits=Limits(output=limit))

        assert ran.stdout == harness.pattern(size)[:limit]
        assert ran.result.stdout.size == size
        assert ran.result.stdout.truncated == (size > limit)
        assert (ran.result.stderr.size, ran.result.stderr.truncated) == (0, False)
        assert (ran.result.cause, ran.result.code) == (Cause.EXITED, 0)

    async def test_the_end_comes_after_the_last_byte(self, box: Harness) -> None:
        async def once() -> harness.Ran:
            return await box.run("write", "stdout", "1000000", "65536")

        for ran in await asyncio.gather(*(once() for _ in range(20))):
            assert ran.stdout == harness.pattern(1_000_000)
            assert ran.result.stdout.size == 1_000_000

    async def test_2000_calls_each_get_their_own_output(self, box: Harness) -> None:
        turns = asyncio.Semaphore(64)

        async def once(number: int) -> None:
            async with turns:
                call = box.call("echo", f"x{number}")
                ran = await harness.run(box.sandbox, call)
                await box.sandbox.acknowledge(call.uid)
            assert ran == harness.Ran(f"x{number}\n".encode(), b"", ran.result)
            assert ran.result.code == 0

        await asyncio.gather(*(once(number) for number in range(2000)))

    async def test_a_slow_reader_delays_no_other_call(self, box: Harness) -> None:
        async with box.sandbox.start(box.call("write", "both", str(4 * MEGABYTE), "65536")) as slow:
            await anext(slow.stdout)
            before = time.monotonic()
            for _ in range(20):
                assert (await box.run("echo", "quick")).stdout == b"quick\n"
            took = time.monotonic() - before
            rest = await harness.ended(slow)

        assert took < 10
        assert rest.stderr == harness.pattern(4 * MEGABYTE)

    async def test_200_megabytes_in_tiny_writes_cost_no_memory(self, box: Harness) -> None:
        async with box.sandbox.start(box.call("write", "stdout", "200000000", "10", limits=Limits(300))) as execution:
            head = len(await anext(execution.stdout))
            before = (box.resident(), harness.resident(os.getpid()))
            head += len(await harness.gathered(execution.stdout))
            result = await execution.result()
            grown = (box.resident() - before[0], harness.resident(os.getpid()) - before[1])

        assert (result.stdout.size, result.stdout.stored, result.code) == (200_000_000, head, 0)
        assert head == Limits().output
        assert max(grown) < 32 * MEGABYTE


class StartSuite(Suite):
    """How processes come to be: what they get, and what keeps them from starting."""

    @pytest.mark.parametrize(
        "text", ("", "plain", "it's", 'say "x"', "two\nlines\n", "$(id) `id` ${HOME}", "snow ☃", "tab\tand \\ \x01")
    )
    async def test_a_variable_arrives_byte_for_byte(self, box: Harness, text: str) -> None:
        ran = await box.run("env", env={"GIVEN": text})

        assert json.loads(ran.stdout)["GIVEN"] == text

    async def test_arguments_arrive_byte_for_byte(self, box: Harness) -> None:
        words = ["", "a b", "*", "$(id)", "☃", "-n", "--", "'", '"', "\n"]

        ran = await box.run("args", *words)

        assert json.loads(ran.stdout) == words

    async def test_two_calls_at_once_see_only_their_own_variables(self, box: Harness) -> None:
        one, other = await asyncio.gather(
            box.run("env", env={"ONE": "first", "SHARED": "1"}), box.run("env", env={"OTHER": "second", "SHARED": "2"})
        )

        assert (json.loads(one.stdout)["SHARED"], json.loads(other.stdout)["SHARED"]) == ("1", "2")
        assert "OTHER" not in json.loads(one.stdout)
        assert "ONE" not in json.loads(other.stdout)

    async def test_no_file_of_the_sandbox_holds_a_variable(self, box: Harness) -> None:
        secret = harness.marker()
        async with box.sandbox.start(box.call("on-term", "0", env={"GIVEN": secret})) as execution:
            await harness.ready(execution)
            assert box.files_with(secret) == []

    async def test_a_process_sees_nothing_of_our_environment(
        self, box: Harness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OURS", "must not show")

        names = set(json.loads((await box.run("env")).stdout))

        assert names == {"PATH", "HOME", "TMPDIR", "LANG"}

    async def test_a_call_works_in_the_workspace(self, box: Harness) -> None:
        assert (await box.run("cwd")).stdout.decode() == f"{box.workspace}\n"

    async def test_a_relative_command_is_found_on_the_path(self, box: Harness) -> None:
        ran = await harness.run(box.sandbox, harness.request("printf", "x"))

        assert (ran.stdout, ran.result.code) == (b"x", 0)

    @pytest.mark.parametrize(
        ("command", "error"),
        (
            pytest.param("no-such-command", "ENOENT", id="not on the PATH"),
            pytest.param("/no/such/file", "ENOENT", id="no such file"),
            pytest.param("{workspace}/plain", "EACCES", id="not executable"),
            pytest.param("{workspace}", "EACCES", id="a folder"),
            pytest.param("{workspace}/text", "ENOEXEC", id="no program"),
        ),
    )
    async def test_what_cannot_be_started_says_why(self, box: Harness, command: str, error: str) -> None:
        ran = await harness.run(box.sandbox, harness.request(command.format(workspace=box.workspace)))

        assert (ran.result.cause, ran.result.step, ran.result.error) == (Cause.NOT_STARTED, "Exec", error)
        assert ran.result.code is None
        assert (ran.stdout, ran.stderr) == (b"", b"")

    async def test_too_many_arguments_say_so(self, box: Harness) -> None:
        ran = await box.run("args", *["x" * 100_000] * 40)

        assert (ran.result.cause, ran.result.error) == (Cause.NOT_STARTED, "E2BIG")

    async def test_a_supervisor_without_means_starts_nothing_and_works_again(self, box: Harness) -> None:
        before = box.limit_files(3)
        try:
            refused = await _start_until_refused(box)
            assert refused.uid not in await box.sandbox.calls()
        finally:
            box.limit_files(before)
        ledger = refused.argv[-1]
        assert (await box.run("open", ledger)).result.code == _BROKEN
        assert box.files_with(refused.env["GIVEN"]) == []

        assert (await harness.run(box.sandbox, refused)).result.code == 0
        assert (await box.run("open", ledger)).stdout.count(b"ran as process") == 1


async def _start_until_refused(box: Harness) -> ExecRequest:
    """The first call that its supervisor could not start: what it holds ready may do for a few."""
    for _ in range(10):
        call = box.call("ledger", f"{box.workspace}/{harness.marker()}", env={"GIVEN": harness.marker()})
        try:
            await harness.run(box.sandbox, call)
        except errors.Unavailable:
            return call
    raise AssertionError("a supervisor that can open nothing started every call")


class EndSuite(Suite):
    """How processes end, and that nothing of them is left."""

    @pytest.mark.parametrize("code", (0, 1, 2, 42, 126, 127, 128, 255))
    async def test_the_exit_code_is_the_one_the_process_returned(self, box: Harness, code: int) -> None:
        ran = await box.run("fail", str(code))

        assert (ran.result.cause, ran.result.code, ran.result.signal) == (Cause.EXITED, code, None)

    @pytest.mark.parametrize("signal", (1, 2, 6, 9, 11, 13, 15))
    async def test_a_signal_from_elsewhere_is_named(self, box: Harness, signal: int) -> None:
        ran = await box.run("raise", str(signal))

        assert (ran.result.cause, ran.result.code, ran.result.signal) == (Cause.SIGNALED, None, signal)

    async def test_the_deadline_ends_the_whole_tree(self, box: Harness) -> None:
        word = harness.marker()

        ran = await box.run("family", word, "60s", limits=Limits(timeout=1.5, grace=0.3))

        assert (ran.stdout, ran.result.cause, ran.result.code) == (b"ready\n", Cause.DEADLINE, None)
        assert 1.5 <= ran.result.duration.total_seconds() < 10
        assert await box.pids(word) == []

    async def test_a_process_that_ignores_term_is_killed_after_its_grace(self, box: Harness) -> None:
        ran = await box.run("ignore-term", "60s", limits=Limits(timeout=0.5, grace=0.7))

        assert (ran.result.cause, ran.result.code) == (Cause.DEADLINE, None)
        assert 1.2 <= ran.result.duration.total_seconds() < 10

    async def test_a_code_returned_within_the_grace_is_told(self, box: Harness) -> None:
        ran = await box.run("on-term", "9", limits=Limits(timeout=0.5, grace=20))

        assert (ran.result.cause, ran.result.code) == (Cause.DEADLINE, 9)
        assert ran.result.duration.total_seconds() < 10

    async def test_kill_ends_the_whole_tree(self, box: Harness) -> None:
        word = harness.marker()
        call = box.call("family", word, "60s", limits=Limits(grace=0.3))
        async with box.sandbox.start(call) as execution:
            await harness.ready(execution)
            assert len(await box.pids(word)) == 5
            await box.sandbox.kill(call.uid)
            result = (await harness.ended(execution)).result

        assert (result.cause, result.code) == (Cause.KILLED, None)
        assert await box.pids(word) == []

    async def test_kill_tells_a_code_returned_within_the_grace(self, box: Harness) -> None:
        call = box.call("on-term", "7", limits=Limits(grace=20))
        async with box.sandbox.start(call) as execution:
            await harness.ready(execution)
            await box.sandbox.kill(call.uid)
            result = (await harness.ended(execution)).result

        assert (result.cause, result.code) == (Cause.KILLED, 7)

    async def test_kill_of_unknown_and_ended_calls_is_fine(self, box: Harness) -> None:
        call = box.call("fail", "5")
        await box.sandbox.kill(call.uid)
        ran = await harness.run(box.sandbox, call)
        await box.sandbox.kill(call.uid)

        assert (ran.result.cause, ran.result.code) == (Cause.EXITED, 5)

    async def test_what_a_process_leaves_behind_dies_with_it(self, box: Harness) -> None:
        word = harness.marker()

        ran = await box.run("daemonise", word, "60s")

        assert (ran.result.cause, ran.result.code) == (Cause.EXITED, 0)
        assert ran.result.duration.total_seconds() < 10
        assert await box.pids(word) == []

    async def test_orphans_that_end_are_reaped(self, box: Harness) -> None:
        # Counted are all processes in sight: on a machine of many, some of other people's.
        orphans, others = 50, await self.unreaped(box, 0)

        assert await self.unreaped(box, orphans) - others < orphans

    async def unreaped(self, box: Harness, orphans: int) -> int:
        """How many dead processes nobody has reaped, after so many orphans have ended."""
        said = (await box.run("zombies", str(orphans))).stdout
        return int(said.removeprefix(b"unreaped "))

    async def test_more_processes_than_allowed_end_the_call(self, box: Harness) -> None:
        ran = await box.run("fork-bomb", "100", limits=Limits(pids=20))

        assert (ran.result.cause, ran.result.code) == (Cause.TOO_MANY_PROCESSES, None)
        assert await box.pids("fork-bomb") == []

    async def test_the_biggest_call_dies_when_memory_runs_out(self, box: Harness) -> None:
        small = box.call("alloc", "1000000", "60s")
        async with box.sandbox.start(small) as execution:
            await harness.ready(execution)
            big = await box.run("alloc", str(harness.NEARLY_ALL), "60s", limits=Limits(timeout=30))
            assert (await box.sandbox.calls())[small.uid] is ports.CallState.RUNNING
            await box.sandbox.kill(small.uid)

        assert (big.result.cause, big.result.code) == (Cause.OUT_OF_MEMORY, None)


class OnceSuite(Suite):
    """No call runs twice, none is forgotten before its time."""

    @pytest.fixture
    def ledger(self, box: Harness) -> str:
        return f"{box.workspace}/{harness.marker()}"

    async def test_a_second_start_attaches_and_starts_nothing(self, box: Harness, ledger: str) -> None:
        call = box.call("ledger", ledger)
        first = await harness.run(box.sandbox, call)
        second = await harness.run(box.sandbox, call)

        assert first == second
        assert (await box.run("open", ledger)).stdout.count(b"ran as process") == 1

    async def test_starts_at_the_same_time_start_one(self, box: Harness, ledger: str) -> None:
        call = box.call("ledger", ledger)

        rans = await asyncio.gather(*(harness.run(box.sandbox, call) for _ in range(10)))

        assert all(ran == rans[0] for ran in rans)
        assert (await box.run("open", ledger)).stdout.count(b"ran as process") == 1

    async def test_leaving_ends_nothing_and_coming_back_shows_everything(self, box: Harness) -> None:
        call = box.call("ignore-term", "60s", limits=Limits(grace=0))
        async with box.sandbox.start(call) as execution:
            await harness.ready(execution)
        assert (await box.sandbox.calls())[call.uid] is ports.CallState.RUNNING

        async with box.sandbox.start(call) as execution:
            await harness.ready(execution)
            await box.sandbox.kill(call.uid)
            result = (await harness.ended(execution)).result

        assert result.cause is Cause.KILLED

    async def test_an_acknowledged_call_cannot_start_again(self, box: Harness, ledger: str) -> None:
        call = box.call("ledger", ledger)
        await harness.run(box.sandbox, call)
        await box.sandbox.acknowledge(call.uid)
        await box.sandbox.acknowledge(call.uid)

        with pytest.raises(errors.SandboxLost):
            await harness.run(box.sandbox, call)

        assert (await box.run("open", ledger)).stdout.count(b"ran as process") == 1

    async def test_a_running_call_cannot_be_acknowledged(self, box: Harness) -> None:
        call = box.call("on-term", "0")
        async with box.sandbox.start(call) as execution:
            await harness.ready(execution)
            with pytest.raises(errors.Unavailable):
                await box.sandbox.acknowledge(call.uid)
            await box.sandbox.kill(call.uid)
            await harness.ended(execution)

    async def test_the_sandbox_knows_every_call_and_its_state(self, box: Harness) -> None:
        running, exited, acknowledged = box.call("on-term", "0"), box.call("echo", "x"), box.call("echo", "x")
        await harness.run(box.sandbox, exited)
        await harness.run(box.sandbox, acknowledged)
        await box.sandbox.acknowledge(acknowledged.uid)
        async with box.sandbox.start(running) as execution:
            await harness.ready(execution)
            calls = await box.sandbox.calls()
            await box.sandbox.kill(running.uid)
            await harness.ended(execution)

        assert calls == {
            running.uid: ports.CallState.RUNNING,
            exited.uid: ports.CallState.EXITED,
            acknowledged.uid: ports.CallState.ACKNOWLEDGED,
        }

    async def test_the_boot_id_stays(self, box: Harness) -> None:
        before = box.sandbox.boot_id
        await box.run("echo", "x")

        assert box.sandbox.boot_id == before != ""


class SandboxSuite(OutputSuite, StartSuite, EndSuite, OnceSuite):
    """Everything that holds for a sandbox whose connection lasts."""
