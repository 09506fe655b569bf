"""The caches keep what was last seen, read each object once, and wake whom a change concerns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.wakes import FakeWakes
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE, SESSION_UID
from tests.unit.core.examples import NOW
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.shelf import Identity
from toolcall_operator.api.toolcallstatus import Dispatch, ToolCallStatus
from toolcall_operator.core import status

WORK = (NAMESPACE, "work")
CLAIMED = {"dispatch": {"bootID": "boot", "operator": "other", "epoch": 1, "at": "2026-01-01T00:00:00.000000Z"}}


@pytest.fixture
def wakes() -> FakeWakes:
    return FakeWakes()


@pytest.fixture
def caches(wakes: FakeWakes) -> Caches:
    return Caches(wakes)


# Calls ----------------------------------------------------------------------------------------------------------------
def test_a_new_call_is_kept_and_told_of(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.call())

    assert caches.calls["uid-one"].spec.tool == "echo"
    assert wakes.woken == ["call one"]


@pytest.mark.parametrize(
    "echo",
    (
        manifests.call(version=2),
        manifests.call(version=2, labels={"a": "b"}),
        manifests.call(version=2, annotations={"a": "b"}),
        manifests.call(version=2, status={"conditions": [], "observedGeneration": 1}),
    ),
    ids=("nothing", "a label", "an annotation", "a status that claims nothing"),
)
def test_what_decides_nothing_about_a_call_is_not_even_read(
    caches: Caches, wakes: FakeWakes, echo: dict[str, Any]
) -> None:
    caches.put(manifests.call())
    first = caches.calls["uid-one"]

    assert not caches.is_news(echo)
    caches.put(echo)

    assert caches.calls["uid-one"] is first
    assert wakes.woken == ["call one"]


@pytest.mark.parametrize(
    "change",
    (
        manifests.call(version=2, generation=2, spec={"cancel": True}),
        manifests.call(version=2, deletionTimestamp="2026-01-01T00:00:00Z"),
        manifests.call(version=2, status=CLAIMED),
    ),
    ids=("canceled", "being deleted", "claimed"),
)
def test_what_decides_about_a_call_is_told_and_never_taken_back_by_an_older_version(
    caches: Caches, wakes: FakeWakes, change: dict[str, Any]
) -> None:
    caches.put(manifests.call())
    caches.put(change)
    changed = caches.calls["uid-one"]

    caches.put(manifests.call())

    assert caches.calls["uid-one"] is changed
    assert wakes.woken == ["call one", "call one"]


def test_a_call_that_is_marked_as_finished_is_forgotten(caches: Caches) -> None:
    caches.put(manifests.call())

    caches.put(manifests.call(version=2, status={"finished": True}))
    caches.put(manifests.call("two", status={"finished": True}))

    assert not caches.calls


def test_a_call_that_ended_without_being_marked_is_nobodys_work(caches: Caches, wakes: FakeWakes) -> None:
    ended = {"type": "Succeeded", "status": "True", "reason": "Completed", "message": ""}
    old = manifests.call(status={"conditions": [{**ended, "lastTransitionTime": "2026-01-01T00:00:00Z"}]})

    caches.put(old)

    assert not caches.calls
    assert not wakes.woken
    assert not caches.is_news(old)


def test_a_call_that_cannot_be_read_disturbs_no_other(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.call("bad", spec={"timeout": "soon"}))
    caches.put(manifests.call("good"))

    assert wakes.woken == ["unread bad", "call good"]
    assert "spec.timeout" in wakes.unread[0].problems[0]
    assert list(caches.calls) == ["uid-good"]
    assert not caches.is_news(manifests.call("bad", version=2, labels={"a": "b"}, spec={"timeout": "soon"}))


def test_the_echo_of_an_end_that_was_written_here_is_no_news(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.call())
    caches.unfinished.settle("uid-one")

    caches.put(manifests.call(version=2, deletionTimestamp="2026-01-01T00:00:00Z"))
    caches.put(manifests.call(version=3, status={"finished": True}))
    caches.replay()

    assert wakes.woken == ["call one"]


def test_the_echo_of_a_claim_that_was_written_here_is_no_news(caches: Caches) -> None:
    caches.put(manifests.call())
    dispatch = Dispatch(boot_id="boot", operator="me", epoch=1, at=NOW)

    claimed = caches.calls["uid-one"].model_copy(update={"status": ToolCallStatus(dispatch=dispatch)})
    caches.unfinished.reported(claimed)

    assert status.is_claimed(caches.calls["uid-one"])
    assert not caches.is_news(manifests.call(version=2, status=CLAIMED))


def test_a_report_about_a_call_that_has_left_does_not_bring_it_back(caches: Caches) -> None:
    caches.put(manifests.call())
    call = caches.calls["uid-one"]
    caches.unfinished.drop("uid-one")

    caches.unfinished.settle("uid-one")
    caches.unfinished.reported(call)

    assert not caches.calls
    assert not caches.unfinished.is_settling("uid-one")


def test_a_call_that_is_no_more_is_told_of_once(caches: Caches, wakes: FakeWakes) -> None:
    manifest = manifests.call()
    caches.put(manifest)

    caches.drop("ToolCall", Identity.of(manifest))
    caches.drop("ToolCall", Identity.of(manifest))

    assert wakes.woken == ["call one", "gone uid-one"]


# Sessions and classes -------------------------------------------------------------------------------------------------
def test_sessions_and_classes_are_kept_and_told_of(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.session())
    caches.put(manifests.session_class())

    assert caches.sessions[WORK].spec.class_ == "plain"
    assert caches.classes["plain"].spec.tools[0].name == "echo"
    assert wakes.woken == ["session agents/work", "class plain"]


def test_an_older_version_does_not_replace_a_newer_one(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.session(version=10, spec={"class": "new"}))

    caches.put(manifests.session(version=9, spec={"class": "old"}))
    caches.put(manifests.session(version=10, spec={"class": "same"}))

    assert caches.sessions[WORK].spec.class_ == "new"
    assert wakes.woken == ["session agents/work"]


def test_the_end_of_an_object_does_not_end_another_one_of_its_name(caches: Caches) -> None:
    before = manifests.session(uid="before")
    caches.put(before)
    caches.put(manifests.session(version=2, uid="after"))

    caches.drop("SpiceboxSession", Identity.of(before))

    assert caches.sessions[WORK].metadata.uid == "after"


def test_a_session_that_cannot_be_read_says_why_until_it_is_mended(caches: Caches) -> None:
    caches.put(manifests.session(spec={"idleTTL": "soon"}))
    unread, kept = caches.unread_sessions[WORK], dict(caches.sessions)

    caches.put(manifests.session(version=2))

    assert "spec.idleTTL" in unread.why
    assert not kept
    assert not caches.unread_sessions
    assert WORK in caches.sessions


def test_a_class_that_cannot_be_read_says_why_and_is_told_of(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.session_class(image=1))

    assert "spec.image" in caches.unread_classes["plain"].why
    assert not caches.classes
    assert wakes.woken == ["class plain"]


def test_of_the_spec_of_what_cannot_be_read_nothing_is_kept(caches: Caches) -> None:
    caches.put(manifests.session(spec={"idleTTL": "the-secret"}))

    assert set(caches.unread_sessions[WORK].manifest) == {"metadata", "status"}
    assert "the-secret" not in str(caches.unread_sessions)


def test_nothing_is_left_of_what_could_not_be_read_and_is_no_more(caches: Caches, wakes: FakeWakes) -> None:
    bad = manifests.session(spec={"idleTTL": "soon"})
    caches.put(bad)

    caches.drop("SpiceboxSession", Identity.of(bad))

    assert not caches.unread_sessions
    assert wakes.woken == ["session agents/work"] * 2


def test_what_is_written_about_a_session_that_cannot_be_read_does_not_make_it_one_that_can(caches: Caches) -> None:
    caches.put(manifests.session())
    session = caches.sessions[WORK]
    caches.put(manifests.session(version=2, spec={"idleTTL": "soon"}))

    caches.amend(session)

    assert not caches.sessions


# Waiting for a session ------------------------------------------------------------------------------------------------
async def test_a_wait_ends_with_the_next_change_of_its_session_and_no_other(caches: Caches) -> None:
    since = caches.session_revision(WORK)
    waiting = asyncio.ensure_future(caches.session_changed(WORK, since))
    caches.put(manifests.session("other"))
    await asyncio.sleep(0)
    early = waiting.done()

    caches.put(manifests.session())

    assert not early
    await asyncio.wait_for(waiting, 1)


async def test_a_wait_for_what_has_changed_already_ends_at_once(caches: Caches) -> None:
    caches.put(manifests.session())
    since = caches.session_revision(WORK)
    caches.drop("SpiceboxSession", Identity.of(manifests.session()))

    await asyncio.wait_for(caches.session_changed(WORK, since), 1)


async def test_a_session_that_was_written_here_wakes_those_who_wait_but_not_who_wrote_it(
    caches: Caches, wakes: FakeWakes
) -> None:
    caches.put(manifests.session())
    since = caches.session_revision(WORK)
    session = caches.sessions[WORK].model_copy(update={"status": None})

    caches.amend(session)

    await asyncio.wait_for(caches.session_changed(WORK, since), 1)
    assert caches.sessions[WORK] is session
    assert wakes.woken == ["session agents/work"]


async def test_nothing_is_left_of_a_wait_that_was_given_up(caches: Caches) -> None:
    waiting = asyncio.ensure_future(caches.session_changed(WORK, caches.session_revision(WORK)))
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.wait({waiting})

    assert not caches._waiting  # noqa: SLF001 (what is left behind shows nowhere else)


# Pods -----------------------------------------------------------------------------------------------------------------
def test_pods_are_found_by_the_session_that_controls_them(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.session())
    caches.put(manifests.pod())
    caches.put(manifests.pod("other-pod", owner="session-2"))

    assert [pod.name for pod in caches.pods_of(SESSION_UID)] == ["work-pod"]
    assert wakes.woken[1:] == ["pod work-pod", "session agents/work", "pod other-pod"]


def test_the_pods_of_a_session_that_cannot_be_read_are_found_and_told_of(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.session(spec={"idleTTL": "soon"}))
    caches.put(manifests.pod())
    caches.drop("Pod", Identity.of(manifests.pod()))

    assert caches.pods_of(SESSION_UID) == ()
    assert wakes.woken.count("session agents/work") == 3


def test_a_pod_that_is_no_more_is_told_of_and_forgotten(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.session())
    caches.put(manifests.pod())

    caches.drop("Pod", Identity.of(manifests.pod()))

    assert not caches.pods
    assert caches.pods_of(SESSION_UID) == ()
    assert wakes.woken[-2:] == ["pod work-pod gone", "session agents/work"]


def test_another_pod_of_the_same_name_means_that_the_first_is_gone(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.pod(uid="first"))

    caches.put(manifests.pod(version=2, uid="second"))

    assert [pod.uid for pod in caches.pods_of(SESSION_UID)] == ["second"]
    assert wakes.woken == ["pod work-pod", "pod work-pod gone", "pod work-pod"]


# All of it ------------------------------------------------------------------------------------------------------------
def test_who_comes_late_is_told_of_everything(caches: Caches) -> None:
    for manifest in (manifests.session_class(), manifests.session(), manifests.call(), manifests.pod()):
        caches.put(manifest)
    caches.put(manifests.toolspec())
    caches.put(manifests.toolkit())
    caches.put(manifests.call("bad", spec={"timeout": "soon"}))
    caches.put(manifests.session_class("bad", image=1))
    caches.put(manifests.toolspec("bad", constraints="none"))
    caches.put(manifests.toolkit("bad", env=None))
    caches.put(manifests.session("bad", spec={"idleTTL": "soon"}))
    caches.put(manifests.agent())
    caches.put(manifests.agent("bad", spec={"credentials": "none"}))
    late = caches.wakes = FakeWakes()

    caches.replay()

    assert late.woken == [
        *("call one", "unread bad"),
        *("toolkit echo-kit", "toolkit bad", "toolspec echoes", "toolspec bad"),
        *("class plain", "class bad"),
        *("agent agents/bot", "agent agents/bad"),
        *("session agents/work", "session agents/bad"),
        "pod work-pod",
    ]
