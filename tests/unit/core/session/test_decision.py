"""What is done next for a session, in every state of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.unit.core import examples as manifests
from tests.unit.core.examples import NOW
from tests.unit.core.session import examples
from tests.unit.core.session.examples import AGO, GREETING, bound, ended, fresh, known, pending, pod, ready, session
from toolcall_operator.core import conditions
from toolcall_operator.core.pod.pods import Container
from toolcall_operator.core.session import decision
from toolcall_operator.core.session import status as sessionstatus
from toolcall_operator.core.session.actions import (
    Action,
    Delete,
    Discard,
    Greet,
    Hold,
    Leave,
    LookUpAgent,
    LookUpClass,
    MakePod,
    MakePolicy,
    Protect,
    ReadNamespace,
    Reclaim,
    Record,
    Release,
    Replace,
    Rest,
    Show,
    StopCalls,
)
from toolcall_operator.core.session.activity import Activity
from toolcall_operator.core.session.chores import POLICY_PAUSE
from toolcall_operator.core.session.known import Absent, Greeted, Labels
from toolcall_operator.core.session.status import SessionReason
from toolcall_operator.core.session.trouble import Kind
from toolcall_operator.core.session.view import SessionView

OLD_AGE = AGO + timedelta(hours=4)
IDLE = AGO + timedelta(minutes=30)
CLASSLESS = fresh(session_class=None)
SOME = examples.CLASS.model_copy(update={"spec": examples.CLASS.spec.model_copy(update={"tools": ()})})


AGENTLESS = fresh(session=session(agent="bot"))


def awaiting_agent(since: datetime) -> SessionView:
    """A session that waits for its AgentIdentity."""
    shown = decision.decide(AGENTLESS, since)
    assert isinstance(shown, Show)
    return fresh(session=session(shown.status, agent="bot"))


def without_agent() -> SessionView:
    """A session that was told that its AgentIdentity is not there."""
    shown = decision.decide(known(AGENTLESS, has_agent=False), AGO)
    assert isinstance(shown, Show)
    return fresh(session=session(shown.status, agent="bot"))


COVERLESS = examples.CLASS.model_copy(
    update={"spec": manifests.session_class(image="t:1", toolspecs=[{"name": "all"}]).spec}
)
UNCOVERED = fresh(session_class=COVERLESS)
NARROWED_BEYOND = session(toolspecs=[{"name": "all"}])


def awaiting(since: datetime) -> SessionView:
    """A session that waits for its class."""
    return fresh(
        session=session(sessionstatus.awaiting_class(session(), "there is no SpiceboxClass plain yet", since)),
        session_class=None,
    )


def uncovered_since(since: datetime) -> SessionView:
    """A session whose class lacks toolspecs, of which that is shown since then."""
    shown = decision.decide(UNCOVERED, since)
    assert isinstance(shown, Show)
    return fresh(session=session(shown.status), session_class=COVERLESS)


def over(view: SessionView, since: datetime = NOW) -> SessionView:
    """A session whose end is shown."""
    status = sessionstatus.terminated(view.session, SessionReason.DELETED, "the session is being deleted", since)
    return replace(view, session=view.session.model_copy(update={"status": status}))


def restarted(view: SessionView, restarts: int) -> SessionView:
    """A session whose sandbox was lost so often."""
    status = sessionstatus.lost(view.session, SessionReason.SANDBOX_LOST, "lost", AGO)
    update = {"status": status.model_copy(update={"restarts": restarts})}
    return replace(view, session=view.session.model_copy(update=update))


NARROWED = fresh(
    session_class=examples.CLASS.model_copy(
        update={"spec": manifests.session_class(image="t:1", allowedNamespaces={"matchLabels": {"team": "a"}}).spec}
    )
)
REPLACED = ready(
    session=session(sessionstatus.greeted(restarted(bound(), 1).session, pod(1), GREETING, AGO)),
    pods=(ended(0), pod(1)),
    known=replace(ready().known, greeted={"uid-1": Greeted(GREETING, AGO)}, reclaimed=frozenset({"uid-1"})),
)
HALF_DELETED = over(examples.deleted(ready()))
CALLS_ENDED = known(HALF_DELETED, done={StopCalls(): NOW})

WHY = "spec.mounts[0].source.configMapRef is required"
UNREAD = fresh(unread=WHY)


def unread(view: SessionView) -> SessionView:
    """A session of which it is shown that it cannot be read."""
    status = sessionstatus.refused(view.session, SessionReason.MALFORMED_OBJECT, WHY, AGO)
    return replace(view, session=view.session.model_copy(update={"status": status}), unread=WHY)


def mended(view: SessionView) -> SessionView:
    """A session that can be read again."""
    return replace(unread(view), unread="")


def tried(view: SessionView, action: Action) -> SessionView:
    """A session for which this was just done in vain."""
    return replace(view, known=view.known.failed(action, Kind.RETRYING, "away", NOW))


def told_open(view: SessionView) -> SessionView:
    """A session whose supervisor has just said that its network is open, as its status tells."""
    unsafe = replace(GREETING, network="Open")
    status = sessionstatus.greeted(view.session, pod(), unsafe, NOW)
    shown = replace(view, session=view.session.model_copy(update={"status": status}))
    return known(shown, greeted={"uid-0": Greeted(unsafe, NOW)})


TABLE: tuple[tuple[str, SessionView, Action], ...] = (
    ("a session that cannot be read rests, when that is shown", unread(fresh(session=session(held=False))), Rest()),
    ("so does one that has a sandbox, whose time is never over", unread(ready()), Rest()),
    ("when it can be read again, that is shown before its sandbox is", mended(ready()), Show(ready().status)),
    ("one whose time was over before is deleted all the same", replace(over(ready()), unread=WHY), Delete()),
    ("one that is deleted has its calls end, too", replace(HALF_DELETED, unread=WHY), StopCalls()),
    ("then its pod is deleted", replace(CALLS_ENDED, unread=WHY), Discard("uid-0")),
    ("and then it may go", replace(CALLS_ENDED, pods=(), unread=WHY), Release()),
    ("a session without our finalizer gets it", fresh(session=session(held=False)), Hold()),
    ("a session whose class never came is asked about once", awaiting(NOW - timedelta(seconds=10)), LookUpClass()),
    (
        "a session whose class is not there waits for it",
        awaiting(NOW - timedelta(seconds=4)),
        Rest(NOW + timedelta(seconds=6)),
    ),
    (
        "a session whose agent is not there waits for it",
        awaiting_agent(NOW - timedelta(seconds=4)),
        Rest(NOW + timedelta(seconds=6)),
    ),
    ("one whose agent never came is asked about once", awaiting_agent(NOW - timedelta(seconds=10)), LookUpAgent()),
    ("so is one that was told so by another process", without_agent(), LookUpAgent()),
    (
        "a session that has its class for good does not ask for its agent any more",
        bound(session=session(bound().status, agent="bot")),
        MakePolicy("work-pod"),
    ),
    (
        "a session whose class lacks toolspecs waits for them",
        uncovered_since(NOW - timedelta(seconds=4)),
        Rest(NOW + timedelta(seconds=6)),
    ),
    ("a class that allows some namespaces has ours looked at", NARROWED, ReadNamespace()),
    (
        "what was known of the namespace a minute ago is looked at again",
        known(NARROWED, labels=Labels({}, NOW - timedelta(minutes=1))),
        ReadNamespace(),
    ),
    ("a bound session gets its policy first", bound(), MakePolicy("work-pod")),
    (
        "then its pod",
        known(bound(), done={MakePolicy("work-pod"): AGO}),
        MakePod("work-pod"),
    ),
    (
        "a pod that was made is waited for",
        known(bound(), done={MakePolicy("work-pod"): AGO, MakePod("work-pod"): NOW - timedelta(seconds=1)}),
        Rest(NOW + timedelta(seconds=4)),
    ),
    (
        "a pod that was made and never came is made again",
        known(bound(), done={MakePolicy("work-pod"): AGO, MakePod("work-pod"): NOW - timedelta(seconds=5)}),
        MakePod("work-pod"),
    ),
    ("a pod that is not there yet for a good reason is waited for", bound(pods=(pending(),)), Rest(IDLE)),
    ("a pod that runs is greeted", bound(pods=(pod(),)), Greet("uid-0")),
    ("while it is greeted, nothing else is done", bound(pods=(pod(),), errand=Greet("uid-0")), Rest(IDLE)),
    ("a session that is ready rests until its policy is made again", ready(), Rest(NOW + POLICY_PAUSE)),
    (
        "or until it is idle, if that is sooner",
        ready(session=session(ready().status, idleTTL="5m30s")),
        Rest(NOW + timedelta(seconds=30)),
    ),
    (
        "its policy is made again",
        known(ready(), done={MakePolicy("work-pod"): NOW - POLICY_PAUSE}),
        MakePolicy("work-pod"),
    ),
    ("so it is by a process that has never made it", known(ready(), done={}), MakePolicy("work-pod")),
    (
        "by one that cannot reach the API server, after a pause",
        tried(known(ready(), done={}), MakePolicy("work-pod")),
        Rest(NOW + timedelta(milliseconds=250)),
    ),
    (
        "it is made again while the supervisor sees an open network",
        told_open(known(ready(), done={MakePolicy("work-pod"): NOW - POLICY_PAUSE})),
        MakePolicy("work-pod"),
    ),
    ("a sandbox that was greeted has its calls compared", known(ready(), reclaimed=frozenset()), Reclaim("uid-0")),
    ("a busy pod is protected", ready(activity=Activity(in_flight=1)), Protect("uid-0", busy=True)),
    ("another pod than the one that was greeted is greeted, too", ready(pods=(ended(0), pod(1))), Greet("uid-1")),
    ("a pod that was replaced is deleted when another is ready", REPLACED, Discard("uid-0")),
    (
        "a lost sandbox is replaced after a pause",
        restarted(bound(pods=(ended(created_at=NOW),)), 1),
        Rest(NOW + timedelta(seconds=1)),
    ),
    ("one that lived for a while is replaced at once", restarted(bound(pods=(ended(),)), 1), MakePolicy("work-pod-2")),
    (
        "a pod in the way is deleted before another is made",
        restarted(bound(pods=(pod(),)), 1),
        Discard("uid-0"),
    ),
    (
        "a status that lags behind the pods does not bring back an old one",
        bound(pods=(ended(), pending(1))),
        Rest(IDLE),
    ),
    (
        "a supervisor that saw an open network is asked again",
        known(ready(), greeted={"uid-0": Greeted(replace(GREETING, network="Open"), NOW - timedelta(seconds=30))}),
        Show(ready().status),
    ),
    ("a session whose time is over is deleted", over(ready()), Delete()),
    ("a session that is deleted has its calls end", HALF_DELETED, StopCalls()),
    (
        "which takes its time",
        replace(HALF_DELETED, errand=StopCalls()),
        Rest(NOW + timedelta(seconds=35)),
    ),
    ("when they have, its pod is deleted", CALLS_ENDED, Discard("uid-0")),
    (
        "a pod that ends is waited for",
        replace(CALLS_ENDED, pods=(pod(deleting=True),)),
        Rest(NOW + timedelta(seconds=65)),
    ),
    ("when it is gone, the session may go", replace(CALLS_ENDED, pods=()), Release()),
    (
        "a session that others still hold is nothing to us any more",
        examples.deleted(ready(session=session(held=False))),
        Rest(),
    ),
)


@pytest.mark.parametrize(("view", "action"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_is_next(view: SessionView, action: Action) -> None:
    found = decision.decide(view, NOW)

    assert type(found) is type(action)
    if not isinstance(action, Show):
        assert found == action


SHOWN: tuple[tuple[str, SessionView, str], ...] = (
    ("it cannot be read", UNREAD, "Failed=True/MalformedObject"),
    ("it cannot be read any more", replace(ready(), unread=WHY), "Ready=False/MalformedObject"),
    ("it cannot be read, and is being deleted", examples.deleted(UNREAD), "Terminated=True/Deleted"),
    ("it can be read again", mended(UNREAD), "Progressing=True/Creating"),
    ("the class is not there", CLASSLESS, "Progressing=True/WaitingForClass"),
    ("the class never came", known(CLASSLESS, looked_up=Absent()), "Failed=True/ClassMissing"),
    ("the class cannot be read", known(CLASSLESS, looked_up=Absent("spec is bad")), "Failed=True/ClassInvalid"),
    ("the class is not valid", fresh(session_class=SOME), "Failed=True/ClassInvalid"),
    ("nobody judges the calls of the class yet", UNCOVERED, "Progressing=True/WaitingForClass"),
    ("nobody came to judge them", uncovered_since(NOW - timedelta(seconds=10)), "Failed=True/ClassInvalid"),
    ("the session names toolspecs of others", fresh(session=NARROWED_BEYOND), "Ready=False/ToolspecNotInClass"),
    ("its agent is not there", AGENTLESS, "Progressing=True/WaitingForAgent"),
    ("its agent has not come", known(AGENTLESS, has_agent=False), "Failed=True/AgentMissing"),
    ("its agent has come late", replace(without_agent(), has_agent=True), "Progressing=True/Creating"),
    ("the session asks too much", fresh(session=session(scopes=["files"])), "Failed=True/NotSupported"),
    (
        "so does one that has its class",
        bound(session=session(bound().status, scopes=["a"])),
        "Failed=True/NotSupported",
    ),
    ("the namespace is not allowed", known(NARROWED, labels=Labels({}, NOW)), "Failed=True/ClassNotAllowed"),
    ("the namespace is allowed", known(NARROWED, labels=Labels({"team": "a"}, NOW)), "Progressing=True/Creating"),
    ("everything is right", fresh(), "Progressing=True/Creating"),
    (
        "its own mount hides another",
        fresh(session=session(mounts=[{"name": "m", "mountPath": "/work", "source": {"configMapRef": {"name": "m"}}}])),
        "Failed=True/InvalidMounts",
    ),
    ("the pod has no node", bound(pods=(pending(unscheduled="no node fits"),)), "Progressing=True/PodPending"),
    (
        "the supervisor said hello",
        known(bound(pods=(pod(),)), greeted=ready().known.greeted),
        "Ready=True/SandboxReady",
    ),
    (
        "the supervisor sees the network",
        known(bound(pods=(pod(),)), greeted={"uid-0": Greeted(replace(GREETING, network="Open"), NOW)}),
        "NetworkEnforced=False/NetworkPolicyNotEnforced",
    ),
    ("the sandbox ended", ready(pods=(ended(),)), "Ready=False/SandboxLost"),
    ("the pod is being deleted", ready(pods=(pod(deleting=True),)), "Ready=False/SandboxLost"),
    ("the pod is not there any more", ready(pods=()), "Ready=False/SandboxLost"),
    (
        "the pod can never run",
        bound(pods=(pending(phase="Failed", init=(Container("unpack", ended=True, exit_code=1),)),)),
        "Ready=False/PodStuck",
    ),
    ("it is being deleted", examples.deleted(ready()), "Terminated=True/Deleted"),
)


def test_one_that_waited_for_its_class_does_not_wait_as_long_again_for_its_agent() -> None:
    waited = awaiting(NOW - timedelta(seconds=10)).session.status
    shown = decision.decide(fresh(session=session(waited, agent="bot")), NOW)
    assert isinstance(shown, Show)

    found = decision.decide(fresh(session=session(shown.status, agent="bot")), NOW)

    assert found == LookUpAgent()


def test_a_session_that_is_bound_names_its_agent_for_good() -> None:
    shown = decision.decide(replace(AGENTLESS, has_agent=True), NOW)

    assert isinstance(shown, Show)
    assert shown.status.resolved_agent == "bot"


@pytest.mark.parametrize(("view", "told"), [row[1:] for row in SHOWN], ids=[row[0] for row in SHOWN])
def test_what_is_shown(view: SessionView, told: str) -> None:
    found = decision.decide(view, NOW)

    shown = found.status.conditions if isinstance(found, Show | Replace) else ()
    words = [f"{each.type}={each.status}/{each.reason}" for each in shown]
    assert told in words


@pytest.mark.parametrize("view", [row[1] for row in SHOWN], ids=[row[0] for row in SHOWN])
def test_what_is_shown_is_shown_once(view: SessionView) -> None:
    found = decision.decide(view, NOW)
    if isinstance(found, Show):
        after = replace(view, session=view.session.model_copy(update={"status": found.status}))

        again = decision.decide(after, NOW + timedelta(seconds=1))

        assert not isinstance(again, Show)


@pytest.mark.parametrize(
    ("view", "at", "reason"),
    (
        pytest.param(ready(), IDLE, "IdleTTL", id="a session that was never used is idle from when it was ready"),
        pytest.param(
            ready(activity=Activity(1, 0, NOW)), NOW + timedelta(minutes=30), "IdleTTL", id="a call keeps it for longer"
        ),
        pytest.param(
            ready(activity=Activity(1, 1, NOW)), OLD_AGE, "MaxDuration", id="a running call, until it is too old"
        ),
        pytest.param(
            ready(session=session(ready().status, idleTTL="1m", maxDuration="2m")),
            AGO + timedelta(minutes=1),
            "IdleTTL",
            id="a session may say how long itself",
        ),
        pytest.param(
            bound(pods=(pending(),)), IDLE, "IdleTTL", id="a session that never got ready counts from when it was made"
        ),
        pytest.param(
            known(ready(), since=IDLE),
            IDLE + timedelta(minutes=1),
            "IdleTTL",
            id="whoever has just taken over waits until it knows which calls run",
        ),
    ),
)
def test_a_session_is_over_at_its_time_and_not_before(view: SessionView, at: datetime, reason: str) -> None:
    early = decision.decide(view, at - timedelta(milliseconds=1))
    late = decision.decide(view, at)

    assert not (isinstance(early, Show) and conditions.is_true(early.status.conditions, "Terminated"))
    assert isinstance(late, Show)
    told = conditions.find(late.status.conditions, "Terminated")
    assert told is not None
    assert (told.status, told.reason) == ("True", reason)


def test_trouble_holds_back_only_what_it_was_with() -> None:
    view = bound()
    troubled = replace(view, known=view.known.failed(MakePolicy("work-pod"), Kind.RETRYING, "away", NOW))

    assert decision.decide(troubled, NOW) == Rest(NOW + timedelta(milliseconds=250))
    assert decision.decide(troubled, NOW + timedelta(milliseconds=250)) == MakePolicy("work-pod")
    assert isinstance(decision.decide(examples.deleted(troubled), NOW), Show)


def test_trouble_with_a_chore_does_not_keep_the_others_from_being_done() -> None:
    view = ready(activity=Activity(3, 1, NOW))
    found = decision.decide(view, NOW)
    assert isinstance(found, Record)

    view = replace(view, known=view.known.failed(found, Kind.RETRYING, "away", NOW))

    assert decision.decide(view, NOW) == Protect("uid-0", busy=True)


def test_trouble_with_a_chore_is_not_shown_on_a_session_that_works() -> None:
    view = known(ready(), reclaimed=frozenset())
    view = replace(view, known=view.known.failed(Reclaim("uid-0"), Kind.RETRYING, "away", NOW - timedelta(minutes=1)))

    assert decision.decide(view, NOW) == Reclaim("uid-0")


def test_what_calls_did_is_written_at_most_every_five_seconds() -> None:
    view = known(ready(activity=Activity(3, 0, NOW)), recorded_at=NOW, counted=4)

    assert decision.decide(view, NOW) == Rest(NOW + timedelta(seconds=5))
    found = decision.decide(view, NOW + timedelta(seconds=5))
    assert isinstance(found, Record)
    assert (found.status.call_count, found.status.last_activity_at) == (7, NOW)


def test_an_open_network_is_looked_at_anew_through_another_hello() -> None:
    unsafe = Greeted(replace(GREETING, network="Open"), NOW)
    view = known(ready(), greeted={"uid-0": unsafe})
    shown = decision.decide(view, NOW)
    assert isinstance(shown, Show)

    view = replace(view, session=view.session.model_copy(update={"status": shown.status}))

    assert decision.decide(view, NOW) == Rest(NOW + timedelta(seconds=30))
    assert decision.decide(view, NOW + timedelta(seconds=30)) == Leave("uid-0")
