"""What a session does about the calls in its sandbox."""

from __future__ import annotations

from datetime import timedelta

from tests.fakes.sessioncluster import BEGINNING
from tests.unit.sessions.stage import POD, SessionStage
from toolcall_operator import errors
from toolcall_operator.ports import CallState
from toolcall_operator.sessions.ports import Activity


async def test_what_calls_did_shows_within_seconds_and_is_not_written_for_each(stage: SessionStage) -> None:
    await stage.is_ready()
    writes = len(stage.cluster.reported)

    for number in range(1, 101):
        stage.calls.done = Activity(started=number, last_at=stage.time.now())
        await stage.passes(milliseconds=100)
    await stage.passes(seconds=6)

    assert stage.status().call_count == 100
    assert stage.status().last_activity_at == BEGINNING + timedelta(seconds=9)  # whole seconds
    assert len(stage.cluster.reported) - writes <= 4


async def test_calls_of_earlier_leaders_are_counted_once(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.calls.done = Activity(started=3, last_at=stage.time.now())
    await stage.passes(seconds=6)

    await stage.another_leads()
    assert stage.status().call_count == 3
    stage.calls.done = Activity(started=2, last_at=stage.time.now())
    await stage.passes(seconds=6)

    assert stage.status().call_count == 5


async def test_a_pod_is_protected_from_eviction_while_calls_run(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.calls.flying.add("call")
    await stage.passes(seconds=6)
    assert stage.cluster.annotations[POD] == {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}

    stage.calls.flying.clear()
    await stage.passes(seconds=6)

    assert stage.cluster.annotations[POD] == {"cluster-autoscaler.kubernetes.io/safe-to-evict": None}


async def test_a_pod_another_leader_left_protected_is_freed(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.calls.done = Activity(started=1, last_at=stage.time.now())
    stage.calls.flying.add("call")
    await stage.passes(seconds=6)

    await stage.another_leads()

    assert stage.cluster.annotations[POD] == {"cluster-autoscaler.kubernetes.io/safe-to-evict": None}


async def test_calls_of_a_sandbox_that_are_no_more_are_ended_and_those_that_are_stay(stage: SessionStage) -> None:
    supervisor = stage.greeter.supervisor
    states = {"gone": "Running", "over": "Exited", "waits": "Running", "ours": "Running", "dropped": "Acknowledged"}
    supervisor.held = dict(states)
    stage.cluster.toolcalls = {"over": True, "waits": False}
    stage.calls.flying.add("ours")

    await stage.is_ready()
    await stage.passes(seconds=5)

    assert supervisor.killed == ["gone"]
    assert sorted(supervisor.acknowledged) == ["gone", "over"]
    assert {uid: supervisor.held[uid] for uid in ("waits", "ours")} == {"waits": "Running", "ours": "Running"}


async def test_nothing_is_ended_as_long_as_nobody_knows_which_calls_there_are(stage: SessionStage) -> None:
    supervisor = stage.greeter.supervisor
    supervisor.held = {"unknown": CallState.RUNNING}
    stage.cluster.faults["live_calls"] = [errors.Unavailable("away")] * 3

    await stage.is_ready()
    assert supervisor.killed == []
    assert stage.says("Ready") == "True/SandboxReady"
    await stage.passes(seconds=10)

    assert supervisor.acknowledged == ["unknown"]


async def test_a_call_that_was_told_to_end_is_acknowledged_when_it_has(stage: SessionStage) -> None:
    supervisor = stage.greeter.supervisor
    supervisor.held, supervisor.obeys = {"gone": CallState.RUNNING}, False
    await stage.is_ready()
    await stage.passes(seconds=5)
    assert supervisor.acknowledged == []

    supervisor.held["gone"] = CallState.EXITED
    await stage.passes(minutes=1)

    assert supervisor.acknowledged == ["gone"]


async def test_a_supervisor_that_holds_nothing_strange_costs_no_list(stage: SessionStage) -> None:
    stage.greeter.supervisor.held = {"dropped": CallState.ACKNOWLEDGED, "ours": CallState.RUNNING}
    stage.calls.flying.add("ours")

    await stage.is_ready()
    await stage.passes(minutes=1)

    assert stage.cluster.asked["live_calls"] == 0
