"""Many calls at once, and who has to wait for whom."""

from __future__ import annotations

import asyncio

from tests.fakes.sandbox import Script
from tests.unit.core import examples
from tests.unit.reconcile.test_reconcile import claim_of
from tests.unit.stage import Stage, ending, says, until
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.outcomes import ExecRequest, Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.world import World
from toolcall_operator.dispatcher import Dispatcher
from toolcall_operator.reconcile.preparing import stopped_in_time, unless_stopped
from toolcall_operator.reconcile.record import Stop
from toolcall_operator.slots import Limits, Slots

KEY = ("default", "work")


def numbered(number: int, *, cancel: bool = False) -> ToolCall:
    call = examples.call(cancel=cancel)
    return call.model_copy(update={"metadata": call.metadata.model_copy(update={"uid": f"uid-{number}"})})


def limited(most: int) -> World:
    return World(examples.session(), examples.session_class(limits={"maxConcurrentCalls": most}))


async def test_a_session_runs_as_many_calls_at_once_as_its_class_allows_in_their_order() -> None:
    stage = Stage(world=limited(2)).runs(says(lasts=None))
    dispatcher = Dispatcher(stage.ports)
    for number in range(5):
        dispatcher.submit(numbered(number))
    await until(lambda: len(stage.sandbox.started) == 2)
    await asyncio.sleep(0.02)
    assert [each.uid for each in stage.sandbox.started] == ["uid-0", "uid-1"]

    await stage.sandbox.kill("uid-0")
    await until(lambda: len(stage.sandbox.started) == 3)

    assert stage.sandbox.started[-1].uid == "uid-2"
    dispatcher.stop_all(Reason.USER_CANCEL)
    await dispatcher.join()


async def test_a_session_that_is_full_does_not_hold_up_another() -> None:
    slots = Slots(Limits(3, 3), lambda: examples.NOW)
    narrow = examples.session_class(limits={"maxConcurrentCalls": 1})
    busy, other = examples.session(), examples.session()
    other = other.model_copy(update={"metadata": other.metadata.model_copy(update={"uid": "another"})})

    async def waits() -> None:
        async with slots.of(busy, narrow):
            raise AssertionError("the session was full")

    async with slots.of(busy, narrow):
        waiting = [asyncio.create_task(waits()) for _ in range(10)]
        await asyncio.sleep(0)
        async with asyncio.timeout(1), slots.of(other, narrow):
            pass
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_call_in_flight_is_not_begun_again() -> None:
    stage = Stage().runs(says(lasts=None))
    dispatcher = Dispatcher(stage.ports)

    dispatcher.submit(numbered(1))
    dispatcher.submit(numbered(1))
    await until(lambda: stage.sandbox.started)
    dispatcher.stop_all(Reason.USER_CANCEL)
    await dispatcher.join()

    assert len(stage.sandbox.started) == 1


async def test_a_hung_call_and_a_bug_delay_nobody() -> None:
    def hangs_or_breaks(request: ExecRequest) -> Script:
        if request.uid == "uid-1":
            raise RuntimeError("a bug")
        return Script(lasts=None if request.uid == "uid-0" else 0.0)

    stage = Stage().runs(hangs_or_breaks)
    dispatcher = Dispatcher(stage.ports)
    for number in range(20):
        dispatcher.submit(numbered(number))

    await until(lambda: sum(bool(each.finished) for each in stage.cluster.reported) == 19)

    dispatcher.stop_all(Reason.USER_CANCEL)
    await dispatcher.join()


async def test_the_end_of_a_call_that_is_canceled_or_deleted_in_flight_speaks_of_the_generation_that_was() -> None:
    stage = Stage().runs(says(lasts=None))
    dispatcher = Dispatcher(stage.ports)
    dispatcher.submit(numbered(1))
    await until(lambda: stage.sandbox.started)
    canceled = numbered(1, cancel=True)
    newer = canceled.metadata.model_copy(update={"generation": 9})

    dispatcher.submit(canceled.model_copy(update={"metadata": newer}))
    await dispatcher.join()

    ended = stage.cluster.reported[-1]
    assert ended.observed_generation == 9
    assert {condition.observed_generation for condition in ended.conditions} == {9}


async def test_a_call_whose_spec_cancels_it_is_not_started() -> None:
    stage = Stage().runs(says())
    dispatcher = Dispatcher(stage.ports)

    dispatcher.submit(numbered(1, cancel=True))
    await dispatcher.join()

    assert stage.sandbox.started == []
    assert stage.cluster.reported[-1].finished is True


async def test_calls_that_come_while_their_session_ends_are_ended_as_well_and_those_of_others_go_on() -> None:
    stage = Stage().runs(says(lasts=None))
    dispatcher = Dispatcher(stage.ports)
    dispatcher.submit(numbered(1))
    await until(lambda: stage.sandbox.started)
    other = numbered(9)
    dispatcher.submit(other.model_copy(update={"spec": other.spec.model_copy(update={"session": "other"})}))

    ends = asyncio.create_task(dispatcher.end_session(KEY))
    await asyncio.sleep(0)
    late, claimed = numbered(2), claim_of(stage, boot_id=stage.sandbox.boot_id)
    dispatcher.submit(claimed)
    dispatcher.submit(late)
    flying = {uid: dispatcher._flights[uid].task for uid in ("uid-2", claimed.metadata.uid)}  # noqa: SLF001 (who ends how)
    async with asyncio.timeout(5):
        await ends

    assert ending(flying["uid-2"].result())[:2] == ("Failed", "SessionGone")
    assert ending(flying[claimed.metadata.uid].result())[:2] == ("Canceled", "SessionTerminated")
    assert dispatcher.knows("uid-9")
    dispatcher.stop_all(Reason.USER_CANCEL)
    await dispatcher.join()
    assert dispatcher.activity(KEY, examples.session().metadata.uid).waiting == 0


async def test_a_call_that_waits_is_activity_and_counts_only_when_it_is_claimed() -> None:
    stage = Stage(world=limited(1)).runs(says(lasts=None))
    dispatcher, uid = Dispatcher(stage.ports), examples.session().metadata.uid
    dispatcher.submit(numbered(1))
    await until(lambda: stage.sandbox.started)
    dispatcher.submit(numbered(2))
    await asyncio.sleep(0.01)
    told = dispatcher.activity(KEY, uid)
    assert (told.started, told.in_flight, told.waiting) == (1, 1, 1)

    dispatcher.stop_all(Reason.USER_CANCEL)
    await dispatcher.join()

    told = dispatcher.activity(KEY, uid)
    assert (told.started, told.in_flight, told.waiting) == (1, 0, 0)


async def test_a_call_that_is_canceled_in_its_turn_before_its_claim_does_not_count() -> None:
    stage = Stage().runs(says())
    stage.sandboxes.unavailable = 1000
    dispatcher, uid = Dispatcher(stage.ports), examples.session().metadata.uid
    dispatcher.submit(numbered(1))
    await until(lambda: dispatcher.activity(KEY, uid).in_flight)

    dispatcher.submit(numbered(1, cancel=True))
    await dispatcher.join()

    assert dispatcher.activity(KEY, uid).started == 0


async def test_nothing_is_prepared_for_a_call_that_was_asked_to_stop_before() -> None:
    began: list[str] = []

    async def prepares() -> Refused:
        began.append("preparing")
        return Refused(Reason.TOOL_UNKNOWN, "")

    stop = Stop()
    stop.ask(Reason.USER_CANCEL)

    assert await unless_stopped(prepares(), stop) == stopped_in_time(Reason.USER_CANCEL)
    assert not began
