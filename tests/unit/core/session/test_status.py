"""The status of a session after each thing that was found out about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from tests.unit.core.examples import NOW
from tests.unit.core.session.examples import AGO, CLASS, GREETING, bound, pending, pod, ready, session
from toolcall_operator.api.spiceboxsession import SpiceboxSession, SpiceboxSessionStatus
from toolcall_operator.core import conditions
from toolcall_operator.core.pod import pods
from toolcall_operator.core.session import status as sessionstatus
from toolcall_operator.core.session import trouble as sessiontrouble
from toolcall_operator.core.session.known import Greeting
from toolcall_operator.core.session.status import SessionReason
from toolcall_operator.core.session.trouble import Kind

Finding = Callable[[SpiceboxSession, datetime], SpiceboxSessionStatus]
STUCK = pods.state(pending(unscheduled="no node fits"))
REJECTED = sessiontrouble.again(None, Kind.REJECTED, "exceeded quota", NOW)

FINDINGS: dict[str, Finding] = {
    "its class is not there": lambda s, now: sessionstatus.awaiting_class(s, "there is no SpiceboxClass yet", now),
    "it is refused": lambda s, now: sessionstatus.refused(s, SessionReason.NOT_SUPPORTED, "spec.agent", now),
    "its class is frozen": lambda s, now: sessionstatus.bound(s, CLASS.spec, (), now),
    "its pod is made": lambda s, now: sessionstatus.being_made(s, None, now),
    "its pod is held up": lambda s, now: sessionstatus.being_made(s, STUCK, now),
    "its sandbox is ready": lambda s, now: sessionstatus.greeted(s, pod(), GREETING, now),
    "its network is open": lambda s, now: sessionstatus.greeted(
        s, pod(), Greeting("b", "1", 7, "Landlock", "Open"), now
    ),
    "its sandbox is lost": lambda s, now: sessionstatus.lost(s, SessionReason.SANDBOX_LOST, "Evicted: full", now),
    "a quota is against it": lambda s, now: sessionstatus.troubled(s, REJECTED, now),
    "it ends": lambda s, now: sessionstatus.terminated(s, SessionReason.DELETED, "deleted", now),
}


def after(status: SpiceboxSessionStatus) -> SpiceboxSession:
    return session(status)


def told(status: SpiceboxSessionStatus) -> dict[str, str]:
    return {each.type: f"{each.status}/{each.reason}" for each in status.conditions}


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=FINDINGS)
@pytest.mark.parametrize("before", (None, *FINDINGS.values()), ids=["at first", *FINDINGS])
def test_what_is_found_out_twice_changes_nothing(before: Finding | None, finding: Finding) -> None:
    start = after(before(session(), AGO)) if before else session()

    once = finding(start, NOW)
    twice = finding(after(once), NOW + timedelta(hours=1))

    assert twice == once


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=FINDINGS)
@pytest.mark.parametrize("before", FINDINGS.values(), ids=FINDINGS)
def test_no_status_is_ready_and_failed_or_over_at_once(before: Finding, finding: Finding) -> None:
    status = finding(after(before(session(), AGO)), NOW)

    is_true = {kind for kind in told(status) if conditions.is_true(status.conditions, kind)}
    assert "Ready" not in is_true or not is_true & {"Failed", "Progressing"}


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=FINDINGS)
def test_a_status_is_a_manifest_of_its_kind_and_speaks_of_the_generation_that_was_seen(finding: Finding) -> None:
    status = finding(bound().session, NOW)

    assert SpiceboxSessionStatus.model_validate(status.to_manifest()).to_manifest() == status.to_manifest()
    assert {each.observed_generation for each in status.conditions} == {status.observed_generation} == {2}


def test_a_frozen_class_survives_whatever_is_found_out_later() -> None:
    for finding in FINDINGS.values():
        assert finding(ready().session, NOW).resolved_class == CLASS.spec


def test_a_refusal_that_does_not_hold_any_more_leaves_nothing_behind() -> None:
    refused = after(sessionstatus.refused(session(), SessionReason.CLASS_MISSING, "no class", AGO))

    assert told(sessionstatus.bound(refused, CLASS.spec, (), NOW)) == {
        "Ready": "False/Creating",
        "Progressing": "True/Creating",
    }


def test_while_a_lost_sandbox_is_replaced_the_session_goes_on_saying_why() -> None:
    lost = after(sessionstatus.lost(ready().session, SessionReason.SANDBOX_LOST, "Evicted: disk is full", AGO))

    waiting = sessionstatus.being_made(lost, pods.state(pending(1)), NOW)
    held_up = sessionstatus.being_made(after(waiting), STUCK, NOW)

    assert told(waiting) == {"Ready": "False/SandboxLost", "Progressing": "True/Replacing"}
    assert told(held_up) == {"Ready": "False/SandboxLost", "Progressing": "True/PodPending"}
    for status in (waiting, held_up):
        ready_again = conditions.find(status.conditions, "Ready")
        assert ready_again is not None
        assert ready_again.message == "Evicted: disk is full"


def test_a_lost_sandbox_is_not_shown_any_more() -> None:
    status = sessionstatus.lost(ready().session, SessionReason.SANDBOX_LOST, "gone", NOW)

    assert status.sandbox is None
    assert status.pod_name is None
    assert "NetworkEnforced" not in told(status)


def test_why_a_session_ended_is_told_by_whoever_is_first() -> None:
    idle = after(sessionstatus.terminated(ready().session, SessionReason.IDLE_TTL, "no calls", AGO))

    status = sessionstatus.terminated(idle, SessionReason.DELETED, "deleted", NOW)

    assert told(status)["Terminated"] == "True/IdleTTL"


def test_counts_and_times_of_calls_never_go_back() -> None:
    first = sessionstatus.used(ready().session, 5, NOW)

    assert sessionstatus.used(after(first), 3, AGO) == first
    assert sessionstatus.used(ready().session, 0, None) == ready().status


def test_refusals_and_faults_are_remarked_on_once_and_ordinary_progress_is_not() -> None:
    def remarks(finding: str, before: SpiceboxSessionStatus | None = None) -> list[str]:
        return list(sessionstatus.remarks(before, FINDINGS[finding](session(before), NOW)))

    assert {finding: remarks(finding) for finding in FINDINGS} == {
        "its class is not there": [],
        "it is refused": ["NotSupported"],
        "its class is frozen": [],
        "its pod is made": [],
        "its pod is held up": [],
        "its sandbox is ready": [],
        "its network is open": ["NetworkPolicyNotEnforced"],
        "its sandbox is lost": ["SandboxLost"],
        "a quota is against it": ["Rejected"],
        "it ends": [],
    }
    for finding in FINDINGS.values():
        standing = finding(session(), NOW)
        assert list(sessionstatus.remarks(standing, finding(session(standing), NOW))) == []


def test_a_supervisor_cannot_make_a_status_of_any_size() -> None:
    status = sessionstatus.greeted(bound().session, pod(), Greeting("boot", "1\n" * 1000, 7, "Else", None), NOW)

    assert status.sandbox is not None
    assert len(status.sandbox.supervisor_version or "") <= 256
    assert status.sandbox.isolation == "Exclusive"
