"""What holds a session up, and how people see it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.sessioncluster import GREETING, settle
from tests.unit.sessions.stage import KEY, POD, SessionStage, session, session_class
from toolcall_operator import errors
from toolcall_operator.core.pod.pods import Container
from toolcall_operator.sessions.ports import Activity, Key


async def test_a_pod_a_quota_forbids_shows_on_the_session_and_comes_when_there_is_room(stage: SessionStage) -> None:
    stage.cluster.always["create Pod"] = errors.Rejected("exceeded quota: pods=0")
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session())
    await settle()
    assert stage.says("Progressing") == "True/Rejected"
    assert stage.cluster.remarks == [("Rejected", "exceeded quota: pods=0")]
    await stage.passes(minutes=10)
    assert len(stage.cluster.remarks) == 1

    del stage.cluster.always["create Pod"]
    await stage.passes(minutes=1)

    assert POD in stage.cluster.views
    assert stage.says("Progressing") == "True/Creating"


async def test_what_holds_a_pod_up_shows_on_the_session(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session())
    await settle()

    waiting = Container("sandbox", reason="ImagePullBackOff", message="no such image")
    stage.cluster.change_pod(POD, sandbox=waiting)
    await settle()

    told = stage.condition("Progressing")
    assert told is not None
    assert (told.status, told.reason) == ("True", "PodPending")
    assert "no such image" in told.message
    assert stage.says("Ready") == "False/PodPending"


async def test_a_pod_that_can_never_run_is_replaced_and_the_session_says_why_all_the_while(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session())
    await settle()

    failed = Container("unpack", ended=True, reason="Error", message="digest is a, not b", exit_code=1)
    stage.cluster.change_pod(POD, phase="Failed", init=(failed,))
    await stage.passes(seconds=2)

    for kind in ("Ready", "Progressing"):
        told = stage.condition(kind)
        assert told is not None
        assert "digest is a, not b" in told.message
    assert list(stage.cluster.views) == ["work-pod-2"]
    assert stage.says("Ready") == "False/PodStuck"


async def test_a_network_that_is_open_keeps_the_session_from_being_ready_until_it_is_not(stage: SessionStage) -> None:
    stage.greeter.greeting = replace(GREETING, network="Open")
    await stage.is_ready()
    assert stage.says("Ready") == "False/NetworkPolicyNotEnforced"
    assert stage.says("NetworkEnforced") == "False/NetworkPolicyNotEnforced"
    assert [reason for reason, _ in stage.cluster.remarks] == ["NetworkPolicyNotEnforced"]

    stage.greeter.greeting = GREETING
    await stage.passes(seconds=31)

    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.says("NetworkEnforced") == "True/Blocked"


@pytest.mark.parametrize("network", ("Blocked", "Open"))
async def test_a_policy_that_is_taken_away_is_made_again_within_a_minute(stage: SessionStage, network: str) -> None:
    stage.greeter.greeting = replace(GREETING, network=network)
    await stage.is_ready()
    del stage.cluster.manifests["work-sandbox"]

    await stage.passes(seconds=61)

    assert "work-sandbox" in stage.cluster.manifests


async def test_one_request_a_minute_keeps_the_policy_and_nothing_is_written(stage: SessionStage) -> None:
    await stage.is_ready()
    writes, before = len(stage.cluster.reported), stage.cluster.asked["create NetworkPolicy"]

    await stage.passes(minutes=10)

    assert stage.cluster.asked["create NetworkPolicy"] - before == 10
    assert len(stage.cluster.reported) == writes


async def test_a_supervisor_that_was_not_to_look_at_the_network_says_nothing_of_it(stage: SessionStage) -> None:
    stage.greeter.greeting = replace(GREETING, network=None)

    await stage.is_ready()

    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.says("NetworkEnforced") == ""


async def test_a_supervisor_that_does_not_answer_yet_is_asked_again_soon(stage: SessionStage) -> None:
    stage.greeter.faults = [errors.Unavailable("not listening yet")] * 3

    await stage.is_ready()
    await stage.passes(seconds=2)

    assert stage.says("Ready") == "True/SandboxReady"
    assert len(stage.greeter.greeted) == 4


async def test_trouble_that_lasts_shows_on_the_session(stage: SessionStage) -> None:
    stage.greeter.broken = errors.Unavailable("exec is refused")

    await stage.is_ready()
    await stage.passes(seconds=9)
    assert stage.says("Progressing") == "True/Creating"
    await stage.passes(seconds=30)

    told = stage.condition("Progressing")
    assert told is not None
    assert (told.reason, told.message) == ("Retrying", "exec is refused")


async def test_a_supervisor_that_is_not_ours_is_replaced(stage: SessionStage) -> None:
    stage.greeter.broken = errors.ProtocolBroken("refused: BadKey")
    await stage.is_ready()
    await stage.passes(seconds=40)

    assert list(stage.cluster.views) == ["work-pod-2"]
    assert stage.status().restarts == 1


async def test_a_supervisor_that_is_not_ours_stays_as_long_as_calls_wait_for_it(stage: SessionStage) -> None:
    stage.calls.flying.add("call")
    stage.greeter.broken = errors.ProtocolBroken("refused: BadKey")

    await stage.is_ready()
    await stage.passes(minutes=5)

    assert list(stage.cluster.views) == [POD]
    assert stage.says("Progressing") == "True/SandboxUnreachable"


async def test_a_hello_that_is_held_back_delays_no_deletion(stage: SessionStage) -> None:
    stage.greeter.silent.add(POD)
    await stage.is_ready()

    stage.cluster.delete(KEY)
    await settle()

    assert stage.cluster.objects == {}


async def test_the_trouble_of_one_session_delays_no_other(stage: SessionStage) -> None:
    stage.greeter.silent.add(POD)
    await stage.is_ready()

    await stage.is_ready(session("other"))

    assert stage.says("Ready", "other") == "True/SandboxReady"


async def test_a_bug_with_one_session_is_tried_again_and_troubles_no_other(
    stage: SessionStage, caplog: pytest.LogCaptureFixture
) -> None:
    calls, secret = stage.calls, f"hunter-{len(POD)}"
    activity = calls.activity

    def broken(key: Key, uid: str) -> Activity:
        if uid == "uid-of-work":
            raise RuntimeError(secret)
        return activity(key, uid)

    calls.activity = broken  # type: ignore[method-assign,assignment] # the bug is planted
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session())
    await stage.is_ready(session("other"))
    assert stage.says("Ready", "other") == "True/SandboxReady"
    assert "RuntimeError" in caplog.text
    assert secret not in caplog.text

    calls.activity = activity  # type: ignore[method-assign] # and taken away
    await stage.passes(seconds=31)

    assert POD in stage.cluster.views


async def test_a_fault_that_nobody_expected_ends_no_worker(stage: SessionStage) -> None:
    calls = stage.calls
    activity = calls.activity

    def away(_key: Key, _uid: str) -> Activity:
        raise errors.Unavailable("away")

    calls.activity = away  # type: ignore[method-assign,assignment] # the fault is planted
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session())
    await settle()

    calls.activity = activity  # type: ignore[method-assign] # and taken away
    await stage.passes(seconds=31)

    assert POD in stage.cluster.views


async def test_a_bug_in_what_is_done_beside_the_rest_is_tried_again_ever_more_slowly(
    stage: SessionStage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.greeter.broken = RuntimeError("a bug")  # type: ignore[assignment] # the bug is planted
    await stage.is_ready()

    await stage.passes(minutes=1)

    assert 1 < len(stage.greeter.greeted) < 15
    assert "RuntimeError" in caplog.text
    assert stage.says("Progressing") == "True/Retrying"
    stage.greeter.broken = None
    await stage.passes(seconds=31)
    assert stage.says("Ready") == "True/SandboxReady"
