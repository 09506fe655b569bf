"""Sessions and classes that cannot be read: they say so themselves, and whatever they were comes back when they can."""

from __future__ import annotations

from tests.fakes.sessioncluster import settle
from tests.unit.sessions.stage import KEY, POD, SessionStage, session, session_class
from toolcall_operator import errors
from toolcall_operator.sessions.ports import Activity

WHY = "spec.mounts[0].source.configMapRef is required"


# Sessions -------------------------------------------------------------------------------------------------------------
async def test_a_session_that_cannot_be_read_says_so_once_and_nothing_is_made(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.unread[KEY] = WHY

    stage.cluster.apply(session())
    await stage.passes(hours=9)
    await stage.another_leads()

    assert [stage.says(kind) for kind in ("Ready", "Progressing", "Failed")] == [
        "False/MalformedObject",
        "False/MalformedObject",
        "True/MalformedObject",
    ]
    told = stage.condition("Failed")
    assert told is not None
    assert told.message == WHY
    assert stage.cluster.remarks == [("MalformedObject", WHY)]
    assert len(stage.cluster.reported) == 1
    assert (stage.cluster.log, stage.cluster.views) == ([], {})


async def test_it_disturbs_no_other(stage: SessionStage) -> None:
    stage.cluster.garble(("default", "bad"), WHY)

    stage.cluster.apply(session("bad"))
    await stage.is_ready()

    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.says("Failed", "bad") == "True/MalformedObject"


async def test_a_session_that_is_mended_goes_the_way_of_every_other(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    stage.cluster.unread[KEY] = WHY
    stage.cluster.apply(session())
    await settle()

    stage.cluster.garble(KEY)
    await settle()
    stage.cluster.run(POD)
    await settle()

    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.condition("Failed") is None


async def test_the_sandbox_of_a_session_that_cannot_be_read_any_more_stays_and_is_its_own_again(
    stage: SessionStage,
) -> None:
    await stage.is_ready(session(idleTTL="0s", maxDuration="0s"))
    before = stage.status()

    stage.cluster.garble(KEY, WHY)
    await stage.leaps(days=9)
    while_unread = stage.status()
    stage.cluster.garble(KEY)
    await settle()

    assert (while_unread.resolved_class, while_unread.pod_name) == (before.resolved_class, POD)
    assert [each.status for each in while_unread.conditions if each.type == "Ready"] == ["False"]
    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.status().resolved_class == before.resolved_class
    assert "delete Pod work-pod" not in stage.cluster.log


async def test_what_could_not_be_read_of_its_status_is_not_lost(stage: SessionStage) -> None:
    await stage.is_ready()
    before = stage.status()
    held = stage.cluster.objects[KEY]
    stage.cluster.apply_class(session_class(image="tools:2"))

    # Whoever leads next sees no more of it than this.
    hidden = before.model_copy(update={"resolved_class": None})
    stage.cluster.objects[KEY] = held.model_copy(update={"status": hidden})
    stage.cluster.unread[KEY] = "status.resolvedClass.image must be text"
    await stage.another_leads()
    whole = before.model_copy(update={"conditions": stage.status().conditions})
    stage.cluster.objects[KEY] = held.model_copy(update={"status": whole})
    stage.cluster.garble(KEY)
    await settle()

    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.status().resolved_class == before.resolved_class


async def test_the_calls_of_a_session_are_not_counted_twice_when_it_can_be_read_again(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.calls.done = Activity(started=3, last_at=stage.time.now())
    await stage.passes(seconds=10)

    stage.cluster.garble(KEY, WHY)
    await settle()
    stage.cluster.garble(KEY)
    await stage.passes(seconds=10)

    assert stage.status().call_count == 3


async def test_a_session_that_is_deleted_while_it_cannot_be_read_ends_as_every_other(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.cluster.garble(KEY, WHY)
    stage.calls.flying.add("call")
    await settle()

    stage.cluster.delete(KEY)
    await settle()

    assert stage.calls.ended == [KEY]
    assert stage.cluster.log[-2:] == ["delete Pod work-pod", "release"]
    assert (stage.cluster.objects, stage.cluster.views) == ({}, {})


async def test_a_leader_that_never_could_read_it_lets_it_go_all_the_same(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.cluster.unread[KEY] = WHY
    stage.cluster.delete(KEY)

    await stage.another_leads()
    await settle()

    assert (stage.cluster.objects, stage.cluster.views) == ({}, {})


async def test_a_status_nobody_takes_does_not_keep_it_from_going(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.cluster.always["report"] = errors.Rejected("the rest of it is against the schema")
    stage.cluster.garble(KEY, WHY)
    await settle()

    stage.cluster.delete(KEY)
    await stage.passes(seconds=10)

    assert stage.cluster.objects == {}


async def test_faults_are_tried_again_behind_the_others(stage: SessionStage) -> None:
    stage.cluster.faults["report"] = [errors.Unavailable("away")] * 3
    stage.cluster.unread[KEY] = WHY

    stage.cluster.apply(session())
    await stage.passes(seconds=10)

    assert stage.says("Failed") == "True/MalformedObject"
    assert len(stage.cluster.reported) == 1


# Classes --------------------------------------------------------------------------------------------------------------
async def test_a_class_that_cannot_be_read_says_so_once(stage: SessionStage) -> None:
    stage.cluster.unread_classes["plain"] = WHY

    stage.cluster.apply_class(session_class())
    await stage.passes(minutes=5)
    await stage.another_leads()

    (status,) = stage.cluster.reported_classes
    (valid,) = status.conditions
    assert (valid.type, valid.status, valid.reason, valid.message) == ("Valid", "False", "MalformedObject", WHY)
    assert stage.cluster.remarks == [("MalformedObject", WHY)]


async def test_a_class_that_is_mended_is_judged_and_its_sessions_go_on(stage: SessionStage) -> None:
    stage.cluster.unread_classes["plain"] = WHY
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session())
    await stage.passes(seconds=11)
    waiting = stage.says("Failed")

    stage.cluster.garble_class("plain")
    await settle()
    stage.cluster.run(POD)
    await settle()

    (valid,) = stage.cluster.reported_classes[-1].conditions
    assert (valid.status, valid.reason) == ("True", "Valid")
    assert waiting == "True/ClassInvalid"
    assert stage.says("Ready") == "True/SandboxReady"


async def test_the_word_on_a_class_that_cannot_be_read_is_written_when_it_can_be(stage: SessionStage) -> None:
    stage.cluster.faults["report_judged"] = [errors.Unavailable("away"), errors.Rejected("not now")]
    stage.cluster.unread_classes["plain"] = WHY

    stage.cluster.apply_class(session_class())
    await stage.passes(seconds=10)

    assert len(stage.cluster.reported_classes) == 1
