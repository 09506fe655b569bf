"""What holds when another process leads, or the caches lag behind."""

from __future__ import annotations

from tests.fakes.sessioncluster import FakeCalls, settle
from tests.unit.sessions.stage import KEY, POD, SessionStage, session, session_class

POLICY = "create NetworkPolicy work-sandbox"


async def test_a_new_leader_finds_everything_and_changes_nothing(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.cluster.kill(POD)
    await stage.passes(seconds=5)
    stage.cluster.run("work-pod-2")
    await settle()
    writes, log = len(stage.cluster.reported), list(stage.cluster.log)

    await stage.another_leads()
    await stage.passes(minutes=1)

    assert len(stage.cluster.reported) == writes
    assert set(stage.cluster.log[len(log) :]) == {POLICY}  # it is there already
    assert stage.greeter.greeted[-1] == "work-pod-2"


async def test_a_new_leader_adopts_the_pod_that_was_made_before_it_was_greeted(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session())
    await settle()

    await stage.another_leads()
    stage.cluster.run(POD)
    await settle()

    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.cluster.log.count("create Pod work-pod") == 1


async def test_a_new_leader_finishes_what_another_began_to_clear_away(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.calls.flying.add("call")
    stage.calls.obeys = False
    stage.cluster.delete(KEY)
    await settle()
    taken_over = FakeCalls(flying={"call"})

    await stage.another_leads(taken_over)

    assert taken_over.ended == [KEY]
    assert stage.cluster.objects == {}


async def test_a_new_leader_does_not_take_a_session_for_idle_before_it_knows_its_calls(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.calls.flying.add("call")
    await stage.passes(minutes=45)

    await stage.another_leads()
    await stage.passes(seconds=30)
    stage.calls.flying.add("call")
    await stage.passes(minutes=10)

    assert KEY in stage.cluster.objects


async def test_a_process_that_stops_ends_nothing(stage: SessionStage) -> None:
    await stage.is_ready()
    log = list(stage.cluster.log)

    await stage.controller.stop()
    stage.cluster.kill(POD)
    await stage.passes(minutes=1)

    assert stage.cluster.log == log
    assert stage.greeter.left == []


async def test_another_session_of_the_same_name_begins_anew(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.cluster.views.clear()

    stage.cluster.apply(session(uid="another"))
    await settle()

    assert stage.cluster.views[POD].session_uid == "another"
    assert stage.calls.forgotten == ["uid-of-work"]


async def test_a_session_that_cannot_be_read_for_a_while_keeps_what_it_has(stage: SessionStage) -> None:
    await stage.is_ready()
    log, unread = list(stage.cluster.log), stage.cluster.objects[KEY]
    stage.cluster.vanish(KEY)
    await stage.passes(minutes=1)

    stage.cluster.apply(unread)
    await stage.passes(minutes=1)

    assert stage.says("Ready") == "True/SandboxReady"
    assert set(stage.cluster.log[len(log) :]) == {POLICY}  # it is there already
    assert (stage.greeter.left, stage.calls.ended) == ([], [])


async def test_caches_that_lag_behind_do_not_have_things_done_twice(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.lagging = True
    stage.cluster.apply(session())
    await settle()
    stage.cluster.run(POD)
    await stage.passes(seconds=4)

    assert stage.cluster.log == ["hold", "create NetworkPolicy work-sandbox", "create Pod work-pod"]
    assert len(stage.cluster.reported) == 2
