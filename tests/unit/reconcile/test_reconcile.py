"""The way of one call: manifest and fake world in, reported statuses and started processes out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import stamina

from tests.fakes.artifacts import FakeArtifacts
from tests.fakes.sandbox import FakeSandbox, FakeSandboxes, Script
from tests.unit.core import examples, policies
from tests.unit.stage import ECHO, SESSION, Stage, ending, says, until
from toolcall_operator import errors
from toolcall_operator.api.base import ObjectMeta
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch, ToolCallStatus
from toolcall_operator.core import conditions, status, validation
from toolcall_operator.core.outcomes import Cause, ExecRequest
from toolcall_operator.core.reasons import Reason, Waiting
from toolcall_operator.core.world import World
from toolcall_operator.ports import Execution, Sandbox
from toolcall_operator.reconcile import preparing, running
from toolcall_operator.reconcile.record import Stop

UID = examples.call().metadata.uid


async def test_a_call_is_claimed_before_its_process_starts() -> None:
    stage = Stage()
    claimed: list[bool] = []

    def looks(_request: ExecRequest) -> Script:
        claimed.append(bool(stage.cluster.reported[-1].dispatch))
        return Script()

    call = await stage.runs(looks).carry()

    assert claimed == [True]
    assert ending(call) == ("Succeeded", "ProcessExited", 0)


async def test_a_short_call_costs_two_writes() -> None:
    stage = Stage().runs(says())

    await stage.carry()

    assert [bool(each.finished) for each in stage.cluster.reported] == [False, True]


async def test_output_is_stored_under_the_uid_of_its_session() -> None:
    stage = Stage().runs(says(b"out\n"))

    call = await stage.carry()

    key = f"default/work/{examples.session().metadata.uid}/{UID}/stdout"
    assert stage.artifacts.stored == {key: b"out\n"}
    assert call.status is not None
    assert (call.status.stdout_artifact_ref, call.status.stderr_artifact_ref) == (f"fake://{key}", None)


async def test_the_supervisor_may_forget_a_call_only_when_its_end_is_written() -> None:
    stage = Stage()

    def cannot_be_written(_request: ExecRequest) -> Script:
        stage.cluster.unwritable = 2
        return Script(code=7)

    call = await stage.runs(cannot_be_written).carry()

    assert ending(call) == ("Failed", "NonZeroExit", 7)
    assert stage.sandbox.acknowledged == [UID]


async def test_a_refused_call_starts_nothing_and_opens_no_sandbox() -> None:
    stage = Stage(world=World(None, None))

    call = await stage.carry()

    assert ending(call) == ("Failed", "SessionGone", None)
    assert stage.sandboxes.opened == []


async def test_a_call_that_has_ended_is_left_as_it_is() -> None:
    stage = Stage().runs(says())
    ended = await stage.carry()
    writes = len(stage.cluster.reported)

    assert await stage.carry(ended) == ended
    assert (len(stage.cluster.reported), len(stage.sandbox.started)) == (writes, 1)


async def test_a_fault_of_ours_shows_on_the_call_until_it_is_over() -> None:
    stage = Stage().runs(says())
    stage.sandboxes.unavailable = 2

    call = await stage.carry()

    assert ending(call) == ("Succeeded", "ProcessExited", 0)
    retrying = [conditions.find(each.conditions, "ReconcileRetrying") for each in stage.cluster.reported]
    assert [each.status for each in retrying if each] == ["True", "False", "False"]


async def test_a_fault_that_outlasts_the_budget_ends_the_call() -> None:
    stage = Stage().runs(says())
    stage.sandboxes.unavailable = 1000

    call = await stage.carry()

    assert ending(call) == ("Failed", "ReconcileFailed", None)
    assert call.status is not None
    assert (call.status.started_at, stage.sandbox.started) == (None, [])


async def test_a_world_that_cannot_be_read_is_read_again() -> None:
    stage = Stage().runs(says())
    stage.cluster.unobservable = 1

    assert ending(await stage.carry()) == ("Succeeded", "ProcessExited", 0)


async def test_a_process_that_the_supervisor_could_not_make_is_tried_again() -> None:
    stage = Stage().runs(says())
    stage.sandbox.faults.append(errors.Unavailable("fork: no more processes"))

    assert ending(await stage.carry()) == ("Succeeded", "ProcessExited", 0)
    assert len(stage.sandbox.started) == 1


async def test_a_process_that_can_never_be_made_ends_with_the_fault_named() -> None:
    stage = Stage().runs(says())
    stage.sandbox.faults.extend([errors.Unavailable("fork: no more processes")] * 9)

    call = await stage.carry()

    assert ending(call) == ("Failed", "ReconcileFailed", None)
    finished = conditions.find(call.status.conditions if call.status else (), "Finished")
    assert finished is not None
    assert "no more processes" in finished.message
    assert stage.sandbox.started == []


async def test_a_lost_sandbox_is_never_a_success_and_what_arrived_is_kept() -> None:
    stage = Stage().runs(says(b"half", lasts=None))
    carrying = asyncio.create_task(stage.carry())
    await until(lambda: stage.sandbox.started)

    stage.sandbox.lose(Reason.SANDBOX_GONE)
    call = await carrying

    assert ending(call) == ("Failed", "SandboxGone", None)
    assert list(stage.artifacts.stored.values()) == [b"half"]
    assert call.status is not None
    assert call.status.stdout_truncated is True


async def test_a_call_that_another_life_of_the_sandbox_claimed_is_not_started_again() -> None:
    stage = Stage().runs(says())
    claimed = claim_of(stage, boot_id="an-earlier-boot")

    call = await stage.carry(claimed)

    assert ending(call) == ("Failed", "SandboxRestarted", None)
    assert stage.sandbox.started == []


async def test_a_claimed_call_that_nobody_started_is_not_started_once_its_toolspec_is_gone() -> None:
    stage = Stage(world=policies.world(policies.toolspec())).runs(says())
    claimed = claim_of(stage, stage.sandbox.boot_id)
    stage.cluster.becomes(policies.world())

    call = await stage.carry(claimed)

    assert ending(call) == ("Failed", "TransportLost", None)
    assert not await stage.sandbox.calls()


async def test_a_claimed_call_that_runs_is_followed_although_its_toolspec_is_gone() -> None:
    stage = Stage(world=policies.world(policies.toolspec())).runs(says(code=7))
    claimed = claim_of(stage, stage.sandbox.boot_id)
    async with stage.sandbox.start(request_of(stage)):
        pass
    stage.cluster.becomes(policies.world())

    assert ending(await stage.carry(claimed)) == ("Failed", "NonZeroExit", 7)


async def test_a_claimed_call_is_taken_over_with_its_real_exit_code() -> None:
    stage = Stage().runs(says(b"kept\n", code=7))
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)
    async with stage.sandbox.start(request_of(stage)):  # the operator that claimed it started it, and died
        pass

    call = await stage.carry(claimed)

    assert ending(call) == ("Failed", "NonZeroExit", 7)
    assert (len(stage.sandbox.started), list(stage.artifacts.stored.values())) == (1, [b"kept\n"])


async def test_the_timeout_counts_from_the_claim() -> None:
    stage = Stage().runs(says())
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)
    stage.now += timedelta(seconds=50)

    await stage.carry(claimed)

    assert [each.timeout for each in stage.sandbox.started] == [timedelta(seconds=10)]


async def test_a_call_canceled_before_its_claim_starts_nothing() -> None:
    stage, stop = Stage().runs(says()), Stop()
    stop.ask(Reason.USER_CANCEL)

    call = await stage.carry(stop=stop)

    assert ending(call) == ("Canceled", "UserCancel", None)
    assert (stage.sandbox.started, call.status.started_at if call.status else "none") == ([], None)


@pytest.mark.parametrize(("on_term", "code"), ((None, None), (3, 3)), ids=["killed", "returns in its grace"])
async def test_a_call_canceled_while_it_runs_is_ended(on_term: int | None, code: int | None) -> None:
    stage, stop = Stage().runs(says(lasts=None, on_term=on_term)), Stop()
    carrying = asyncio.create_task(stage.carry(stop=stop))
    await until(lambda: stage.sandbox.started)

    stop.ask(Reason.USER_CANCEL)

    assert ending(await carrying) == ("Canceled", "UserCancel", code)
    assert stage.sandbox.killed == [UID]


async def test_a_call_canceled_between_its_claim_and_its_start_does_not_start() -> None:
    stage, stop = Stage().runs(says()), Stop()

    def canceled_after_the_claim() -> datetime:
        if stage.cluster.reported:
            stop.ask(Reason.USER_CANCEL)
        return stage.now

    stage.ports = replace(stage.ports, now=canceled_after_the_claim)
    stage.sandbox.faults.append(errors.Unavailable("fork: no more processes"))

    call = await stage.carry(stop=stop)

    assert ending(call) == ("Canceled", "UserCancel", None)
    assert stage.sandbox.started == []


async def test_a_kill_that_does_not_get_through_is_asked_for_again() -> None:
    stage, stop = Stage().runs(says(lasts=None)), Stop()
    carrying = asyncio.create_task(stage.carry(stop=stop))
    await until(lambda: stage.sandbox.started)

    stage.sandbox.faults.append(errors.Unavailable("no connection"))
    stop.ask(Reason.USER_CANCEL)

    assert ending(await carrying) == ("Canceled", "UserCancel", None)


@pytest.mark.parametrize("reason", (Reason.SANDBOX_GONE, Reason.SANDBOX_RESTARTED, Reason.TRANSPORT_LOST))
async def test_a_sandbox_lost_before_the_start_is_told_as_what_it_is(reason: Reason) -> None:
    stage = Stage().runs(says())
    stage.sandbox.faults.append(errors.SandboxLost(reason, "lost"))

    assert ending(await stage.carry()) == ("Failed", reason.value, None)


async def test_an_end_that_the_supervisor_cannot_be_told_of_stands_all_the_same() -> None:
    stage = Stage()

    def lost_after_its_end(_request: ExecRequest) -> Script:
        stage.cluster.unwritable = 1
        return Script(code=7)

    class LostAtLast(FakeSandbox):
        async def acknowledge(self, uid: str) -> None:
            raise errors.SandboxLost(Reason.SANDBOX_GONE, f"gone before {uid}")

    stage.sandboxes.sandboxes[SESSION] = LostAtLast({ECHO: lost_after_its_end})

    call = await stage.carry()

    assert ending(call) == ("Failed", "NonZeroExit", 7)
    assert sum(bool(each.finished) for each in stage.cluster.reported) == 1


async def test_a_truth_that_is_known_is_not_lost_with_the_sandbox() -> None:
    stage = Stage().runs(says(b"whole", code=7))
    stage.artifacts.failures = 1

    class LostAfterOneStart(FakeSandbox):
        @asynccontextmanager
        async def start(self, request: ExecRequest) -> AsyncIterator[Execution]:
            if self.started:
                raise errors.SandboxLost(Reason.SANDBOX_GONE, "lost")
            async with super().start(request) as execution:
                yield execution

    stage.sandboxes.sandboxes[SESSION] = LostAfterOneStart(stage.sandbox.behaviours)

    assert ending(await stage.carry()) == ("Failed", "NonZeroExit", 7)


async def test_a_call_that_waits_for_its_turn_shows_it_and_can_be_canceled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "SILENT_WAIT", timedelta(milliseconds=1))
    stage, stop = Stage(calls_at_once=1).runs(says(lasts=None)), Stop()
    async with stage.ports.slots.of(examples.session(), examples.session_class(), claimed=False):
        carrying = asyncio.create_task(stage.carry(stop=stop))
        await until(lambda: stage.cluster.reported)
        stop.ask(Reason.USER_CANCEL)
        call = await carrying

    shown = conditions.find(stage.cluster.reported[0].conditions, "Running")
    assert shown is not None
    assert (shown.status, shown.reason) == ("False", "Queued")
    assert ending(call) == ("Canceled", "UserCancel", None)


async def test_a_claimed_call_that_was_canceled_meanwhile_is_reached_and_ended() -> None:
    stage, stop = Stage().runs(says(lasts=None)), Stop()
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)
    async with stage.sandbox.start(request_of(stage)):
        pass
    stop.ask(Reason.USER_CANCEL)

    call = await stage.carry(claimed, stop=stop)

    assert (ending(call), stage.sandbox.killed) == (("Canceled", "UserCancel", None), [UID])


async def test_a_claimed_call_that_was_canceled_before_its_start_does_not_start() -> None:
    stage, stop = Stage().runs(says()), Stop()
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)
    stop.ask(Reason.USER_CANCEL)

    call = await stage.carry(claimed, stop=stop)

    assert (ending(call), stage.sandbox.started) == (("Canceled", "UserCancel", None), [])


async def test_a_call_that_somebody_started_without_a_claim_is_not_started_again() -> None:
    stage = Stage().runs(says())
    running = examples.call(status=ToolCallStatus(started_at=stage.now - timedelta(seconds=1)))

    call = await stage.carry(running)

    assert (ending(call), stage.sandbox.started) == (("Failed", "TransportLost", None), [])


async def test_a_claimed_call_whose_sandbox_is_gone_when_it_is_opened_says_so() -> None:
    stage = Stage().runs(says())
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)

    class Gone(FakeSandboxes):
        @asynccontextmanager
        async def open(
            self, session: SpiceboxSession, session_class: SpiceboxClass, *, claim: Dispatch | None = None
        ) -> AsyncIterator[Sandbox]:
            self.claims.append(claim)
            self.opened.append(f"{session.metadata.name} of {session_class.metadata.name}")
            if self.opened:
                raise errors.SandboxLost(Reason.SANDBOX_GONE, "the pod is gone")
            yield self.of(SESSION)

    stage.ports = replace(stage.ports, sandboxes=Gone())

    assert ending(await stage.carry(claimed)) == ("Failed", "SandboxGone", None)


async def test_a_claimed_call_is_reached_where_its_claim_says() -> None:
    stage = Stage().runs(says())
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)

    await stage.carry(claimed)
    await stage.carry(examples.call().model_copy(update={"metadata": another()}))

    assert claimed.status is not None
    assert stage.sandboxes.claims == [claimed.status.dispatch, None]


class Deaf(FakeSandbox):
    """Answers no start before it is told to, and kills at once; `nonsense` comes in place of the first kill."""

    def __init__(self, stage: Stage, *, nonsense: bool = False) -> None:
        super().__init__(stage.sandbox.behaviours)
        self.hears = asyncio.Event()
        self.asked = asyncio.Event()
        self._nonsense = [errors.ProtocolBroken("nonsense")] if nonsense else []

    @asynccontextmanager
    async def start(self, request: ExecRequest) -> AsyncIterator[Execution]:
        self.asked.set()
        await self.hears.wait()
        async with super().start(request) as execution:
            yield execution

    async def kill(self, uid: str) -> None:
        if self._nonsense:
            raise self._nonsense.pop()
        await super().kill(uid)


async def test_a_call_whose_start_is_never_answered_can_be_canceled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        running, "UNANSWERED", timedelta(milliseconds=50) - examples.session_class().spec.termination_grace_period
    )
    stage, stop = Stage().runs(says()), Stop()
    deaf = stage.sandboxes.sandboxes[SESSION] = Deaf(stage)
    carrying = asyncio.create_task(stage.carry(stop=stop))
    await deaf.asked.wait()

    stop.ask(Reason.USER_CANCEL)

    assert ending(await carrying) == ("Canceled", "UserCancel", None)
    assert (deaf.killed, deaf.started) == ([UID], [])


async def test_a_process_that_came_to_be_after_it_was_killed_is_killed_again() -> None:
    stage, stop = Stage().runs(says(lasts=None)), Stop()
    deaf = stage.sandboxes.sandboxes[SESSION] = Deaf(stage)
    carrying = asyncio.create_task(stage.carry(stop=stop))
    await deaf.asked.wait()
    stop.ask(Reason.USER_CANCEL)
    await until(lambda: deaf.killed)

    deaf.hears.set()

    assert ending(await carrying) == ("Canceled", "UserCancel", None)
    assert (deaf.killed, len(deaf.started)) == ([UID, UID], 1)


async def test_a_kill_that_is_answered_with_nonsense_is_asked_for_again() -> None:
    stage, stop = Stage().runs(says(lasts=None)), Stop()
    deaf = stage.sandboxes.sandboxes[SESSION] = Deaf(stage, nonsense=True)
    deaf.hears.set()
    carrying = asyncio.create_task(stage.carry(stop=stop))
    await until(lambda: deaf.started)

    stop.ask(Reason.USER_CANCEL)

    assert ending(await carrying) == ("Canceled", "UserCancel", None)
    assert deaf.killed == [UID]


async def test_the_same_fault_is_written_once() -> None:
    stage = Stage().runs(says())
    claimed = claim_of(stage, boot_id=stage.sandbox.boot_id)
    stage.sandboxes.unavailable = 4

    await stage.carry(claimed)

    assert [bool(each.finished) for each in stage.cluster.reported] == [False, True]


async def test_a_claim_and_an_end_of_which_no_answer_came_are_written_again() -> None:
    stage = Stage()

    def unheard(_request: ExecRequest) -> Script:
        stage.cluster.unwritable = 2  # the first was the end, the second what shows that
        return Script(code=7)

    stage.runs(unheard)
    stage.cluster.unwritable = 2

    assert ending(await stage.carry()) == ("Failed", "NonZeroExit", 7)
    assert [bool(each.finished) for each in stage.cluster.reported] == [False, True]


async def test_a_bug_after_the_start_leaves_no_process_behind() -> None:
    class Broken(FakeArtifacts):
        async def put(self, key: str, body: AsyncIterator[bytes]) -> str:
            raise RuntimeError(f"a bug at {key}: {body}")

    stage = Stage().runs(says(lasts=None))
    stage.ports = replace(stage.ports, artifacts=Broken())

    call = await stage.carry()

    assert (ending(call), stage.sandbox.killed) == (("Failed", "ReconcileFailed", None), [UID])


async def test_the_budget_for_a_fault_ends_and_counts_from_the_first_fault() -> None:
    stage = Stage().runs(says(lasts=0.4))
    stage.ports = replace(stage.ports, fault_budget=timedelta(seconds=0.3))
    stage.artifacts.failures = 1

    with stamina.set_testing(False):
        assert ending(await stage.carry()) == ("Succeeded", "ProcessExited", 0)
        assert stage.artifacts.failures == 0
        assert len(stage.artifacts.stored) == 1

        stage.sandboxes.unavailable = 1000
        began = asyncio.get_running_loop().time()
        call = await stage.carry(examples.call().model_copy(update={"metadata": another()}))

    assert ending(call) == ("Failed", "ReconcileFailed", None)
    assert 0.3 <= asyncio.get_running_loop().time() - began < 5


async def test_output_that_a_store_did_not_take_is_stored_from_its_first_byte_again() -> None:
    stage = Stage().runs(says(b"whole", code=7))
    stage.artifacts.failures = 2

    call = await stage.carry()

    assert ending(call) == ("Failed", "NonZeroExit", 7)
    assert list(stage.artifacts.stored.values()) == [b"whole"]
    assert len(stage.sandbox.started) == 1


async def test_a_store_that_never_answers_does_not_hide_the_outcome() -> None:
    stage = Stage().runs(says(b"whole"))
    stage.artifacts.failures = 1000

    call = await stage.carry()

    assert ending(call) == ("Succeeded", "ProcessExited", 0)
    assert call.status is not None
    harvested = conditions.find(call.status.conditions, "OutputsHarvested")
    assert harvested is not None
    assert (harvested.status, call.status.stdout_artifact_ref) == ("False", None)


async def test_a_bug_ends_the_call_it_met_and_shows_no_text_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()

    def bug(_request: ExecRequest) -> Script:
        raise RuntimeError(f"hunter{len('xx')}")  # not as in this line, which a traceback quotes

    call = await stage.runs(bug).carry()

    assert ending(call) == ("Failed", "ReconcileFailed", None)
    assert "hunter2" not in str(call.status) + caplog.text
    assert "RuntimeError" in caplog.text


async def test_a_process_that_never_came_to_be_names_its_command() -> None:
    stage = Stage().runs(lambda _: Script(code=None, cause=Cause.NOT_STARTED, step="Exec", error="ENOENT"))

    call = await stage.carry()

    assert ending(call) == ("Failed", "CommandNotFound", 127)
    finished = conditions.find(call.status.conditions if call.status else (), "Finished")
    assert finished is not None
    assert "/bin/echo" in finished.message


def claim_of(stage: Stage, boot_id: str) -> ToolCall:
    """The example's call as an operator left it that died right after its claim."""
    dispatch = Dispatch(boot_id=boot_id, operator="an earlier one", epoch=0, at=stage.now)
    return examples.call(status=status.started(examples.call(), plan_of(stage), dispatch, stage.now))


def request_of(stage: Stage) -> ExecRequest:
    return plan_of(stage).request


def plan_of(stage: Stage) -> validation.Plan:
    planned = validation.plan(examples.call(), stage.world)
    assert isinstance(planned, validation.Plan)
    return planned


def test_the_first_reason_to_stop_stays() -> None:
    stop = Stop()

    stop.ask(Reason.USER_CANCEL)
    stop.ask(Reason.RECONCILE_FAILED)

    assert stop.reason is Reason.USER_CANCEL


def test_a_waiting_call_is_not_finished() -> None:
    waiting = status.waiting(examples.call(), Waiting.QUEUED, "in line", examples.NOW)

    assert not status.is_finished(examples.call(status=waiting))


def another() -> ObjectMeta:
    return examples.call().metadata.model_copy(update={"uid": "4f1c1a1e-0000-4000-8000-000000000009"})
