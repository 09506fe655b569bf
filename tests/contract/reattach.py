"""The suite for sandboxes whose connection can break: whatever breaks, a call starts once and nothing of it is lost."""

from __future__ import annotations

import asyncio

import pytest

from tests.contract import harness
from tests.contract.harness import Limits
from tests.contract.pods import KEY, PodHarness
from tests.contract.sandbox import MEGABYTE, Suite
from toolcall_operator import errors, ports
from toolcall_operator.adapters.sandbox.link import Identity
from toolcall_operator.core.outcomes import Cause
from toolcall_operator.core.reasons import Reason


class ReattachSuite(Suite):
    """Connections that are killed, leaders that change, sandboxes that restart."""

    async def test_a_connection_killed_before_a_start_is_not_noticed(self, box: PodHarness) -> None:
        box.connector.cut()

        assert (await box.run("echo", "x")).stdout == b"x\n"

    @pytest.mark.parametrize("milliseconds", (0, 1, 3, 6, 12, 25))
    async def test_a_connection_killed_right_after_the_start_starts_once(
        self, box: PodHarness, milliseconds: int
    ) -> None:
        loop = asyncio.get_running_loop()

        def cut_after_start(data: bytes) -> None:
            if b'"type":"start"' in data and box.connector.connections == 1:
                loop.call_later(milliseconds / 1000, box.connector.cut)

        box.connector.wrote = cut_after_start
        ledger = f"{box.workspace}/{harness.marker()}"

        ran = await box.run("ledger", ledger)

        assert (ran.result.cause, ran.result.code) == (Cause.EXITED, 0)
        assert (await box.run("open", ledger)).stdout.count(b"ran as process") == 1

    @pytest.mark.parametrize("offset", (1, 1000, 65_536, 400_000, MEGABYTE))
    async def test_a_connection_killed_in_mid_output_loses_and_doubles_nothing(
        self, box: PodHarness, offset: int
    ) -> None:
        call = box.call("write", "both", str(MEGABYTE), "1000")
        async with box.sandbox.start(call) as execution:
            stderr = asyncio.create_task(harness.gathered(execution.stderr))
            stdout = b""
            while len(stdout) < offset:
                stdout += await anext(execution.stdout)
            box.connector.cut()
            stdout += await harness.gathered(execution.stdout)

            assert stdout == await stderr == harness.pattern(MEGABYTE)
            assert (await execution.result()).code == 0

    async def test_a_connection_killed_after_the_exit_still_tells_it(self, box: PodHarness) -> None:
        call = box.call("write", "stdout", str(MEGABYTE), "65536")
        async with box.sandbox.start(call) as execution:
            await box.until_exited(call.uid)
            box.connector.cut()

            ran = await harness.ended(execution)

        assert (ran.stdout, ran.result.code) == (harness.pattern(MEGABYTE), 0)

    async def test_50_killed_connections_lose_and_double_nothing(self, box: PodHarness) -> None:
        size = 16 * MEGABYTE
        call = box.call("write", "stdout", str(size), "65536")
        async with box.sandbox.start(call) as execution:
            chunks: list[bytes] = []
            arrived = kills = 0
            async for chunk in execution.stdout:
                chunks.append(chunk)
                arrived += len(chunk)
                if kills < 50 and arrived > kills * size // 60:
                    kills += 1
                    box.connector.cut()
            result = await execution.result()

        assert kills == 50
        assert b"".join(chunks) == harness.pattern(size)
        assert (result.code, result.stdout.size) == (0, size)

    async def test_requests_are_answered_across_a_killed_connection(self, box: PodHarness) -> None:
        call = box.call("on-term", "4")
        async with box.sandbox.start(call) as execution:
            await harness.ready(execution)
            box.connector.cut()
            await box.sandbox.kill(call.uid)
            result = (await harness.ended(execution)).result
        box.connector.cut()
        await box.sandbox.acknowledge(call.uid)
        box.connector.cut()

        assert (result.cause, result.code) == (Cause.KILLED, 4)
        assert (await box.sandbox.calls())[call.uid] is ports.CallState.ACKNOWLEDGED

    async def test_a_deadline_is_kept_while_nobody_is_connected(self, box: PodHarness) -> None:
        word = harness.marker()
        call = box.call("family", word, "60s", limits=Limits(timeout=1, grace=0.2))
        async with box.sandbox.start(call) as execution:
            await harness.ready(execution)
        box.connector.cut()
        await asyncio.sleep(2)

        assert (await harness.run(box.sandbox, call)).result.cause is Cause.DEADLINE
        assert await box.pids(word) == []

    async def test_an_older_leader_can_change_nothing_and_still_see(self, box: PodHarness) -> None:
        call = box.call("on-term", "0")
        async with box.sandbox.start(call) as execution:
            await harness.ready(execution)
            async with box.other(Identity(KEY, epoch=6)) as newer:
                with pytest.raises(errors.Unavailable):
                    await box.run("echo", "x")
                with pytest.raises(errors.Unavailable):
                    await box.sandbox.kill(call.uid)
                assert await box.sandbox.calls() == {call.uid: ports.CallState.RUNNING}
                await newer.kill(call.uid)

            assert (await harness.ended(execution)).result.cause is Cause.KILLED

    async def test_a_stranger_without_the_key_is_refused(self, box: PodHarness) -> None:
        with pytest.raises(errors.ProtocolBroken, match="BadKey"):
            async with box.other(Identity(b"a wrong key")):
                pass

        assert (await box.run("echo", "x")).stdout == b"x\n"

    async def test_a_sandbox_that_restarted_says_so_and_starts_nothing(self, box: PodHarness) -> None:
        ledger = f"{box.workspace}/{harness.marker()}"
        call = box.call("ignore-term", "60s")
        async with box.sandbox.start(call) as execution:
            await harness.ready(execution)
            box.pod.restart()
            with pytest.raises(errors.SandboxLost) as lost:
                await execution.result()
        with pytest.raises(errors.SandboxLost):
            await box.run("ledger", ledger)

        assert lost.value.reason is Reason.SANDBOX_RESTARTED
        async with box.other(Identity(KEY, epoch=6)) as new:
            assert await new.calls() == {}
            assert new.boot_id != box.sandbox.boot_id

    async def test_a_sandbox_that_is_told_to_end_says_why_its_calls_ended(self, box: PodHarness) -> None:
        async with box.sandbox.start(box.call("on-term", "3")) as execution:
            await harness.ready(execution)
            box.terminate()
            result = (await harness.ended(execution)).result

        assert (result.cause, result.code) == (Cause.TERMINATING, 3)
