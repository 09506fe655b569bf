"""What a call meets only where others write too: sessions that come late, objects that go, claims of somebody else."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.fakes.sandbox import Script
from tests.unit.core import examples, policies
from tests.unit.reconcile.test_reconcile import UID, claim_of, request_of
from tests.unit.stage import Stage, ending, says, until
from toolcall_operator import errors
from toolcall_operator.api.toolcall import FINALIZER, ToolCall
from toolcall_operator.core import conditions, readiness, status
from toolcall_operator.core.outcomes import ExecRequest, Refused
from toolcall_operator.core.policy import judging
from toolcall_operator.core.policy.deciding.candidates import Pending
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.world import World
from toolcall_operator.reconcile import preparing, running
from toolcall_operator.reconcile.record import Stop

READY = examples.in_cluster(("Ready", True, ""))
STARTING = replace(
    examples.in_cluster(("Progressing", True, "the pod is being created")), patience=timedelta(milliseconds=60)
)
ABSENT = World(None, None, on_demand=False)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that last minutes last milliseconds."""
    monkeypatch.setattr(preparing, "SILENT_WAIT", timedelta(milliseconds=5))
    monkeypatch.setattr(running, "HELD_AFTER", timedelta(milliseconds=5))
    monkeypatch.setattr(readiness, "ABSENT_PATIENCE", timedelta(milliseconds=30))


def held(call: ToolCall) -> ToolCall:
    return call.model_copy(update={"metadata": call.metadata.model_copy(update={"finalizers": (FINALIZER,)})})


def shown(stage: Stage) -> list[tuple[str, str]]:
    """What Running said of the call, report by report."""
    found = [conditions.find(each.conditions, "Running") for each in stage.cluster.reported]
    return [(each.status, each.reason) for each in found if each]


async def test_a_call_waits_for_its_session_and_runs_when_it_is_ready() -> None:
    stage = Stage(world=ABSENT).runs(says())
    carrying = asyncio.create_task(stage.carry())
    for world in (STARTING, READY):
        await asyncio.sleep(0.01)
        stage.cluster.becomes(world)

    assert ending(await carrying) == ("Succeeded", "ProcessExited", 0)
    assert len(stage.cluster.reported) == 2


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(("world", "reason"), ((ABSENT, "SessionGone"), (STARTING, "SessionNotActive")))
async def test_a_session_that_does_not_come_in_time_ends_its_calls(world: World, reason: str) -> None:
    stage = Stage(world=world).runs(says())

    call = await stage.carry()

    assert ending(call) == ("Failed", reason, None)
    assert shown(stage) == [("False", "WaitingForSession"), ("False", reason)]
    assert (stage.sandboxes.opened, stage.cluster.remarks) == ([], [Reason(reason)])


@pytest.mark.usefixtures("hasty")
async def test_a_call_that_waits_for_a_toolspec_says_so_and_only_in_the_end_that_it_was_denied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judging, "PATIENCE", timedelta(milliseconds=30))
    stage = Stage(world=policies.world(Pending("late", "echo"))).runs(says())

    call = await stage.carry()

    found = [conditions.find(each.conditions, "Running") for each in stage.cluster.reported]
    assert [(each.reason, each.message) for each in found if each] == [
        ("WaitingForPolicy", "no toolspec allows the call yet; it waits for some to be judged: late"),
        ("ToolspecDenied", "all 1 candidate spec(s) denied — late: has not been judged yet"),
    ]
    assert ending(call) == ("Failed", "ToolspecDenied", None)


async def test_a_session_that_cannot_be_read_takes_no_calls_and_nothing_is_waited_for() -> None:
    stage = Stage(world=replace(ABSENT, unread="spec.idleTTL must be a duration"))

    call = await stage.carry()

    assert ending(call) == ("Failed", "SessionNotActive", None)
    assert len(stage.cluster.reported) == 1


@pytest.mark.usefixtures("hasty")
async def test_a_wait_that_changes_shows_the_change() -> None:
    stage = Stage(world=ABSENT)
    carrying = asyncio.create_task(stage.carry())
    await until(lambda: stage.cluster.reported)
    stage.cluster.becomes(STARTING)
    await carrying

    told = [conditions.find(each.conditions, "Running") for each in stage.cluster.reported]
    assert "being created" in (told[1].message if told[1] else "")
    assert len(stage.cluster.reported) == 3


@pytest.mark.usefixtures("hasty")
async def test_what_memory_lacks_is_asked_for_before_a_call_is_refused_for_it() -> None:
    stage = Stage(world=ABSENT).runs(says())
    stage.cluster.live = READY
    carrying = asyncio.create_task(stage.carry())
    await until(lambda: stage.cluster.reported)
    stage.cluster.becomes(READY)  # for what is decided again when the turn has come

    assert ending(await carrying) == ("Succeeded", "ProcessExited", 0)


async def test_a_call_that_waits_can_be_canceled() -> None:
    stage, stop = Stage(world=ABSENT), Stop()
    carrying = asyncio.create_task(stage.carry(stop=stop))
    await asyncio.sleep(0.01)

    stop.ask(Reason.USER_CANCEL)

    assert ending(await carrying) == ("Canceled", "UserCancel", None)


async def test_a_waiting_call_whose_session_ends_has_no_session() -> None:
    stage, stop = Stage(world=STARTING), Stop()
    carrying = asyncio.create_task(stage.carry(stop=stop))
    await asyncio.sleep(0.01)

    stop.ask(Reason.SESSION_TERMINATED)

    assert ending(await carrying) == ("Failed", "SessionGone", None)


async def test_a_running_call_whose_session_ends_is_canceled() -> None:
    stage, stop = Stage(world=READY).runs(says(lasts=None)), Stop()
    carrying = asyncio.create_task(stage.carry(stop=stop))
    await until(lambda: stage.sandbox.started)

    stop.ask(Reason.SESSION_TERMINATED)

    assert ending(await carrying) == ("Canceled", "SessionTerminated", None)


async def test_a_call_that_is_gone_before_its_claim_starts_nothing() -> None:
    stage = Stage().runs(says())
    stage.cluster.gone = True

    await stage.carry()

    assert (stage.sandbox.started, stage.cluster.reported) == ([], [])


async def test_what_runs_of_a_call_that_is_gone_is_killed_and_acknowledged() -> None:
    stage, stop = Stage().runs(says(lasts=None)), Stop()
    carrying = asyncio.create_task(stage.carry(stop=stop))
    await until(lambda: stage.sandbox.started)

    stage.cluster.gone = True
    stop.ask(Reason.USER_DELETE)
    await carrying

    assert (stage.sandbox.killed, stage.sandbox.acknowledged) == ([UID], [UID])


@pytest.mark.usefixtures("hasty")
async def test_a_call_that_was_deleted_unseen_is_found_out_when_it_is_to_be_held() -> None:
    stage = Stage().runs(says(lasts=None))
    carrying = asyncio.create_task(stage.carry())
    await until(lambda: stage.sandbox.started)

    stage.cluster.gone = True
    await carrying

    assert stage.sandbox.killed == [UID]


@pytest.mark.usefixtures("hasty")
async def test_a_call_that_runs_for_a_while_is_held_until_its_end_is_written() -> None:
    stage = Stage().runs(says(lasts=0.05))

    assert ending(await stage.carry()) == ("Succeeded", "ProcessExited", 0)

    assert (stage.cluster.held, stage.cluster.released) == ([UID], [UID])


async def test_a_short_call_is_not_held() -> None:
    stage = Stage().runs(says())

    await stage.carry()

    assert (stage.cluster.held, stage.cluster.released) == ([], [])


async def test_a_call_that_arrives_held_is_released_also_when_it_has_ended_already() -> None:
    stage = Stage().runs(says())
    ended = status.settled(examples.call(), Refused(Reason.USER_DELETE, "deleted"), stage.now)

    await stage.carry(held(examples.call()))
    await stage.carry(held(examples.call(status=ended)))

    assert stage.cluster.released == [UID, UID]


async def test_a_call_that_is_taken_over_is_released_for_whoever_claimed_it_may_have_held_it_unseen() -> None:
    stage = Stage().runs(says())
    claim = claim_of(stage, boot_id=stage.sandbox.boot_id)

    await stage.carry(claim)

    assert (stage.cluster.held, stage.cluster.released) == ([], [UID])


async def test_a_call_that_somebody_else_claimed_meanwhile_is_not_started_again() -> None:
    stage = Stage().runs(says(b"theirs", code=7))
    async with stage.sandbox.start(request_of(stage)):
        pass
    stage.cluster.faults.append(errors.Superseded("claimed"))
    stage.cluster.elsewhere = claim_of(stage, boot_id=stage.sandbox.boot_id)

    call = await stage.carry()

    assert ending(call) == ("Failed", "NonZeroExit", 7)
    assert len(stage.sandbox.started) == 1


async def test_a_call_that_somebody_else_ended_meanwhile_keeps_its_end() -> None:
    stage = Stage().runs(says())
    ended = status.settled(examples.call(), Refused(Reason.USER_CANCEL, "by somebody else"), stage.now)
    stage.cluster.faults.append(errors.Superseded("finished"))
    stage.cluster.elsewhere = examples.call(status=ended)

    call = await stage.carry()

    assert (ending(call), stage.sandbox.started) == (("Canceled", "UserCancel", None), [])


async def test_an_end_that_the_api_server_will_not_have_is_written_without_its_trimmings() -> None:
    stage = Stage()

    def too_large(_request: ExecRequest) -> Script:
        stage.cluster.faults.append(errors.Rejected("request is too large"))
        return Script(stdout=b"hello", code=7)

    call = await stage.runs(too_large).carry()

    assert ending(call) == ("Failed", "NonZeroExit", 7)
    assert call.status is not None
    assert call.status.result is None


async def test_an_end_that_the_api_server_will_not_have_at_all_is_written_when_it_will() -> None:
    stage = Stage()

    def forbidden(_request: ExecRequest) -> Script:
        stage.cluster.faults += [errors.Rejected("against a rule")] * 6
        return Script(code=7)

    assert ending(await stage.runs(forbidden).carry()) == ("Failed", "NonZeroExit", 7)
    assert stage.cluster.faults == []


async def test_a_session_that_is_lost_again_before_its_call_enters_ends_it_as_one_that_never_came() -> None:
    stage = Stage(world=READY).runs(says())
    stage.sandboxes.unavailable = 1
    carrying = asyncio.create_task(stage.carry())
    await until(lambda: stage.sandboxes.opened)

    stage.cluster.becomes(STARTING)

    assert ending(await carrying) == ("Failed", "SessionNotActive", None)
    assert stage.sandbox.started == []


async def test_what_memory_lacks_when_a_call_enters_is_asked_for_too() -> None:
    stage = Stage(world=READY).runs(says())
    stage.sandboxes.unavailable = 1
    stage.cluster.live = READY
    carrying = asyncio.create_task(stage.carry())
    await until(lambda: stage.sandboxes.opened)

    stage.cluster.becomes(ABSENT)

    assert ending(await carrying) == ("Succeeded", "ProcessExited", 0)


async def test_a_claim_that_the_api_server_will_not_have_starts_nothing() -> None:
    stage = Stage().runs(says())
    stage.cluster.faults.append(errors.Rejected("against a rule"))

    call = await stage.carry()

    assert (ending(call), stage.sandbox.started) == (("Failed", "ReconcileFailed", None), [])


async def test_a_claimed_call_is_followed_although_its_session_takes_no_calls_any_more() -> None:
    stage = Stage().runs(says(b"kept", code=7))
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)
    async with stage.sandbox.start(request_of(stage)):
        pass
    stage.cluster.world = replace(STARTING)

    assert ending(await stage.carry(claimed)) == ("Failed", "NonZeroExit", 7)


async def test_a_claimed_call_whose_session_is_gone_has_lost_its_sandbox() -> None:
    stage = Stage()
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)
    stage.cluster.world = ABSENT

    assert ending(await stage.carry(claimed)) == ("Failed", "SandboxGone", None)


async def test_a_claimed_call_whose_session_cannot_be_read_is_reached_when_it_can_be_again() -> None:
    stage = Stage().runs(says(b"kept", code=7))
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)
    async with stage.sandbox.start(request_of(stage)):
        pass
    world, stage.cluster.world = stage.cluster.world, replace(ABSENT, unread="spec.idleTTL must be a duration")
    carrying = asyncio.create_task(stage.carry(claimed))
    await until(lambda: stage.cluster.reported)
    retrying = conditions.find(stage.cluster.reported[0].conditions, "ReconcileRetrying")

    stage.cluster.world = world

    assert ending(await carrying) == ("Failed", "NonZeroExit", 7)
    assert "spec.idleTTL" in (retrying.message if retrying else "")
    assert len(stage.sandbox.started) == 1


async def test_a_claimed_call_whose_sandbox_never_answers_again_is_unreachable() -> None:
    stage = Stage()
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)
    stage.sandboxes.unavailable = 1000

    assert ending(await stage.carry(claimed)) == ("Failed", "SandboxUnreachable", None)


async def test_a_sandbox_that_does_not_take_us_is_no_end_of_a_call_that_somebody_else_may_follow() -> None:
    stage = Stage().runs(says(b"kept", code=7))
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)
    async with stage.sandbox.start(request_of(stage)):
        pass
    stage.sandboxes.broken = 2

    assert ending(await stage.carry(claimed)) == ("Failed", "NonZeroExit", 7)
