"""How sessions end."""

from __future__ import annotations

from tests.fakes.sessioncluster import settle
from tests.unit.sessions.stage import KEY, POD, SessionStage, session, session_class
from toolcall_operator import errors
from toolcall_operator.core import conditions
from toolcall_operator.sessions.ports import Activity


async def test_a_deleted_session_ends_its_calls_then_its_pod_then_goes(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.calls.flying.add("call")

    stage.cluster.delete(KEY)
    await settle()

    assert stage.calls.ended == [KEY]
    assert stage.cluster.log[-2:] == ["delete Pod work-pod", "release"]
    assert stage.cluster.objects == {}
    told = conditions.find(stage.cluster.reported[-1].conditions, "Terminated")
    assert told is not None
    assert (told.status, told.reason) == ("True", "Deleted")
    assert len(stage.greeter.left) == 1
    assert stage.calls.forgotten == ["uid-of-work"]


async def test_the_pod_of_a_deleted_session_waits_for_calls_to_end_but_not_for_ever(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.calls.flying.add("call")
    stage.calls.obeys = False

    stage.cluster.delete(KEY)
    await stage.passes(seconds=34)
    assert POD in stage.cluster.views

    await stage.passes(seconds=2)
    assert stage.cluster.views == {}
    assert stage.cluster.objects == {}


async def test_a_pod_that_does_not_go_does_not_keep_the_session(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.cluster.lingering = True

    stage.cluster.delete(KEY)
    await settle()
    assert KEY in stage.cluster.objects
    await stage.passes(minutes=2)

    assert stage.cluster.objects == {}
    assert stage.cluster.log.count("delete Pod work-pod") == 1


async def test_a_deleted_session_whose_pod_is_gone_already_goes(stage: SessionStage) -> None:
    await stage.is_ready()
    del stage.cluster.views[POD]

    stage.cluster.delete(KEY)
    await settle()

    assert stage.cluster.objects == {}


async def test_a_session_that_never_got_a_class_can_be_deleted(stage: SessionStage) -> None:
    stage.cluster.apply(session())
    await stage.passes(seconds=20)

    stage.cluster.delete(KEY)
    await settle()

    assert stage.cluster.objects == {}


async def test_a_session_a_quota_holds_up_is_deleted_at_once(stage: SessionStage) -> None:
    stage.cluster.always["create Pod"] = errors.Rejected("exceeded quota")
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session())
    await stage.passes(minutes=10)

    stage.cluster.delete(KEY)
    await settle()

    assert stage.cluster.objects == {}


async def test_a_status_nobody_takes_does_not_keep_a_session_from_going(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.cluster.always["report"] = errors.Rejected("a webhook is against it")

    stage.cluster.delete(KEY)
    await stage.passes(seconds=10)

    assert stage.cluster.objects == {}


async def test_faults_while_a_session_ends_are_tried_again(stage: SessionStage) -> None:
    await stage.is_ready()
    away = errors.Unavailable("away")
    stage.cluster.faults = {"report": [away] * 2, "delete_pod": [away] * 3, "release": [away] * 2}

    stage.cluster.delete(KEY)
    await stage.passes(seconds=20)

    assert stage.cluster.objects == {}
    assert stage.cluster.views == {}


async def test_a_session_nobody_uses_is_deleted(stage: SessionStage) -> None:
    await stage.is_ready()
    await stage.passes(minutes=29)
    assert KEY in stage.cluster.objects

    await stage.passes(minutes=2)

    assert stage.cluster.objects == {}
    assert "delete session" in stage.cluster.log
    told = conditions.find(stage.cluster.reported[-1].conditions, "Terminated")
    assert told is not None
    assert (told.status, told.reason) == ("True", "IdleTTL")


async def test_a_session_of_a_leader_that_knows_its_calls_may_be_short(stage: SessionStage) -> None:
    await stage.passes(minutes=2)

    stage.cluster.apply_class(session_class())
    begins = {"creationTimestamp": stage.time.now()}
    await stage.is_ready(session(idleTTL="8s", meta=begins))
    await stage.passes(seconds=9)

    assert stage.cluster.objects == {}


async def test_a_session_lives_on_while_calls_run_and_for_its_ttl_after_them(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.calls.flying.add("call")
    await stage.passes(minutes=90)
    assert KEY in stage.cluster.objects

    stage.calls.flying.clear()
    stage.calls.done = Activity(started=1, last_at=stage.time.now())
    await stage.passes(minutes=29)
    assert KEY in stage.cluster.objects
    await stage.passes(minutes=2)

    assert stage.cluster.objects == {}


async def test_a_session_whose_calls_wait_is_not_idle(stage: SessionStage) -> None:
    stage.calls.waiting.add("call")
    await stage.is_ready()

    await stage.passes(minutes=90)
    assert KEY in stage.cluster.objects

    stage.calls.waiting.clear()
    await stage.passes(minutes=1)
    assert stage.cluster.objects == {}


async def test_a_session_that_grows_too_old_is_deleted_and_its_calls_end(stage: SessionStage) -> None:
    await stage.is_ready(session(maxDuration="1h"))
    stage.calls.flying.add("call")

    await stage.passes(minutes=61)

    assert stage.cluster.objects == {}
    assert stage.calls.ended == [KEY]


async def test_a_session_without_limits_stays(stage: SessionStage) -> None:
    await stage.is_ready(session(idleTTL="0s", maxDuration="0s"))

    await stage.leaps(days=30)

    assert stage.says("Ready") == "True/SandboxReady"


async def test_the_session_of_an_agent_session_is_left_to_it(stage: SessionStage) -> None:
    owner = {
        "apiVersion": "agentprimitives.authzed.com/v1alpha1",
        "kind": "AgentSession",
        "name": "bot",
        "uid": "u",
        "controller": True,
    }

    await stage.is_ready(session(meta={"ownerReferences": [owner]}))
    await stage.leaps(days=2)

    assert stage.says("Ready") == "True/SandboxReady"


async def test_a_session_that_is_over_is_deleted_even_if_that_takes_several_attempts(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.cluster.faults["delete_session"] = [errors.Unavailable("away")] * 4

    await stage.passes(minutes=32)

    assert stage.cluster.objects == {}
