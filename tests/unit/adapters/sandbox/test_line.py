"""The standing connection: whoever waits for it is served, told, or let go."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from tests.fakes.supervisor import IDENTITY, FakeSupervisor
from toolcall_operator import errors
from toolcall_operator.adapters.sandbox.line import Line, Patience
from toolcall_operator.adapters.sandbox.link import Link
from toolcall_operator.core.reasons import Reason

QUICK = Patience(ping=60, request=0.2, opening=0.2, retention=0.2, first_pause=0.0001, longest_pause=0.001)
EVICTED = errors.SandboxLost(Reason.EVICTED, "the pod was evicted")


@dataclass
class Explaining(FakeSupervisor):
    """A supervisor whose links know why nobody is met over them."""

    why: errors.OperatorError = field(default_factory=lambda: errors.Unavailable("its container is not up yet"))
    asked: list[str] = field(default_factory=list)

    async def connect(self) -> Link:
        link = await super().connect()
        self.connections[-1].silent = True

        async def explain(trouble: errors.Unavailable) -> errors.OperatorError:
            self.asked.append(str(trouble))
            return self.why

        return replace(link, explain=explain)


def soon(seconds: float = 1.0) -> float:
    return asyncio.get_running_loop().time() + seconds


async def test_a_first_attempt_is_made_at_once_and_only_once() -> None:
    supervisor = FakeSupervisor(unreachable=1)
    line = Line(supervisor, IDENTITY, replace(QUICK, first_pause=60, longest_pause=60))

    with pytest.raises(errors.Unavailable, match="unreachable"):
        await line.connection(soon())
    assert (await line.connection(soon())).hello.boot_id == line.boot_id == "boot-1"
    await line.close()


async def test_a_link_over_which_nobody_was_met_explains_itself() -> None:
    supervisor = Explaining()
    line = Line(supervisor, IDENTITY, QUICK)

    with pytest.raises(errors.Unavailable, match="its container is not up yet"):
        await line.connection(soon())

    assert supervisor.asked == ["the supervisor did not answer within 0.2 s"]
    assert not line.lost


async def test_a_link_that_knows_the_sandbox_is_lost_ends_the_line() -> None:
    line = Line(Explaining(why=EVICTED), IDENTITY, QUICK)

    for _ in range(2):
        with pytest.raises(errors.SandboxLost, match="evicted"):
            await line.connection(soon())
    assert line.lost


async def test_a_line_that_is_lost_tells_all_who_wait_now() -> None:
    supervisor = FakeSupervisor()
    line = Line(supervisor, IDENTITY, QUICK)
    await line.connection(soon())
    supervisor.unreachable = 1_000_000
    supervisor.connections[0].cut()
    waiting = [asyncio.create_task(line.connection(soon(60))) for _ in range(3)]
    await asyncio.sleep(0.02)

    await line.lose(EVICTED)
    told = await asyncio.gather(*waiting, return_exceptions=True)

    assert [(type(error), str(error)) for error in told] == [(errors.SandboxLost, "the pod was evicted")] * 3
    assert len(set(map(id, told))) == 3


async def test_the_first_reason_stays() -> None:
    line = Line(FakeSupervisor(), IDENTITY, QUICK)
    await line.lose(EVICTED)
    await line.lose(errors.SandboxLost(Reason.SANDBOX_GONE, "gone"))

    with pytest.raises(errors.SandboxLost) as lost:
        await line.connection(soon())
    assert lost.value.reason is Reason.EVICTED


async def test_who_waits_no_more_ends_no_attempt_of_others() -> None:
    supervisor = FakeSupervisor(hello_after=0.1)
    line = Line(supervisor, IDENTITY, QUICK)
    hasty, patient = (asyncio.create_task(line.connection(soon())) for _ in range(2))
    await asyncio.sleep(0.01)
    hasty.cancel()

    assert (await patient).hello.boot_id == "boot-1"
    assert len(supervisor.connections) == 1
    await line.close()


async def test_who_waited_in_vain_is_told_the_last_trouble() -> None:
    supervisor = FakeSupervisor()
    line = Line(supervisor, IDENTITY, QUICK)
    await line.connection(soon())
    supervisor.unreachable = 1_000_000
    supervisor.connections[0].cut()
    await line.quiet()

    with pytest.raises(errors.Unavailable, match="could not be reached in time: unreachable"):
        await line.connection(soon(0.05))
    assert line.unreached is Reason.SANDBOX_UNREACHABLE
    await line.close()


async def test_a_supervisor_that_answers_and_does_not_help_is_no_unreachable_sandbox() -> None:
    supervisor = FakeSupervisor()
    line = Line(supervisor, IDENTITY, QUICK)
    await line.connection(soon())
    supervisor.key = b"another"
    supervisor.connections[0].cut()
    await line.quiet()

    with pytest.raises(errors.Unavailable, match="BadKey"):
        await line.connection(soon(0.05))
    assert line.unreached is Reason.TRANSPORT_LOST
    await line.close()


async def test_a_line_is_quiet_when_its_connection_has_ended() -> None:
    supervisor = FakeSupervisor()
    line = Line(supervisor, IDENTITY, QUICK)
    await line.quiet()
    await line.connection(soon())
    quiet = asyncio.create_task(line.quiet())
    await asyncio.sleep(0.01)
    assert not quiet.done()

    supervisor.connections[0].cut()

    async with asyncio.timeout(1):
        await quiet
    await line.close()


async def test_a_line_that_was_closed_makes_no_connection() -> None:
    supervisor = FakeSupervisor()
    line = Line(supervisor, IDENTITY, QUICK)
    await line.close()

    with pytest.raises(errors.Unavailable, match="let go of"):
        await line.connection(soon())
    assert supervisor.connections == []
