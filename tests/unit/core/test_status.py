"""The status of a call, from its first wait to its end."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core import examples, policies
from tests.unit.core.examples import NOW
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import (
    Dispatch,
    FailedRule,
    ToolCallStatus,
    ToolspecDecision,
    ToolspecFailure,
)
from toolcall_operator.core import conditions, status, validation
from toolcall_operator.core.conditions import ConditionType, Look
from toolcall_operator.core.outcomes import Cause, Ended, ExecResult, Lost, Outcome, Refused, Stored, StreamSize
from toolcall_operator.core.reasons import Reason, Terminal, Waiting, terminal
from toolcall_operator.core.status import Subject
from toolcall_operator.core.validation import Plan
from toolcall_operator.core.world import World

SECOND = timedelta(seconds=1)
BODY = b"hello world\n"
STDOUT = Stored("file:///artifacts/stdout", hashlib.sha256(BODY).hexdigest(), len(BODY), BODY)
EXITED = Ended(ExecResult(Cause.EXITED, code=0, duration=2 * SECOND, stdout=StreamSize(12, 12)), STDOUT)


def dispatch(at: datetime = NOW) -> Dispatch:
    fields = {"podName": "work-pod", "podUID": "p-1", "bootID": "b-1", "operator": "test", "epoch": 1, "at": at}
    known = {field.alias or name for name, field in Dispatch.model_fields.items()}
    return Dispatch.model_validate({name: value for name, value in fields.items() if name in known})


def planned(call: ToolCall) -> Plan:
    plan = validation.plan(call, examples.world())
    assert isinstance(plan, Plan)
    return plan


def started(call: ToolCall, now: datetime = NOW) -> ToolCall:
    return having(call, status.started(call, planned(call), dispatch(now), now))


def having(call: ToolCall, new: ToolCallStatus) -> ToolCall:
    return call.model_copy(update={"status": new})


def told(found: ToolCallStatus, kind: str) -> tuple[str, str] | None:
    """Status and reason of a condition."""
    condition = conditions.find(found.conditions, kind)
    return (condition.status, condition.reason) if condition else None


def seen_again(call: ToolCall) -> ToolCall:
    """The call after its spec was changed: setting cancel raises the generation."""
    metadata = call.metadata.model_copy(update={"generation": call.metadata.generation + 1})
    return call.model_copy(update={"metadata": metadata})


def message(found: ToolCallStatus, kind: str) -> str:
    condition = conditions.find(found.conditions, kind)
    assert condition
    return condition.message


# From the first wait to the start -------------------------------------------------------------------------------------


def test_a_call_that_waits_says_for_what() -> None:
    found = status.waiting(examples.call(), Waiting.QUEUED, "session work is busy", NOW)

    assert told(found, "Running") == ("False", "Queued")
    assert message(found, "Running") == "session work is busy"
    assert found.observed_generation == 3
    assert found.started_at is None


def test_a_call_that_starts_is_valid_and_running_and_names_its_sandbox() -> None:
    waited = having(examples.call(), status.waiting(examples.call(), Waiting.QUEUED, "busy", NOW - SECOND))

    found = status.started(waited, planned(waited), dispatch(), NOW)

    assert told(found, "Validated") == ("True", "Valid")
    assert told(found, "Running") == ("True", "Started")
    assert found.started_at == NOW
    assert found.dispatch == dispatch()
    assert told(found, "EnvHighEntropy") is None
    assert not status.is_finished(having(waited, found))
    assert status.is_claimed(having(waited, found))


def test_a_value_that_looks_like_a_secret_is_warned_about_by_the_name_of_its_field() -> None:
    key = "ghp_aB3dE5gH7jK9mN1pQ2sT4vW6yZ8xC0fL"
    call = started(examples.call(env={"FOO": key}))

    found = status.settled(call, EXITED, NOW + SECOND)

    assert told(found, "EnvHighEntropy") == ("True", "EnvHighEntropy")
    assert message(found, "EnvHighEntropy").endswith(": spec.env.FOO")
    assert told(found, "Succeeded") == ("True", "ProcessExited")
    assert key not in found.model_dump_json()


def test_a_claim_is_made_once() -> None:
    call = started(examples.call())

    again = status.started(call, planned(call), dispatch(NOW + SECOND), NOW + SECOND)
    waiting = status.waiting(call, Waiting.QUEUED, "busy", NOW + SECOND)

    assert again == waiting == call.status


def test_a_fault_of_ours_shows_since_when_it_lasts_and_that_it_is_over() -> None:
    first = having(examples.call(), status.retrying(examples.call(), "the store does not answer", NOW))
    second = having(first, status.retrying(first, "the store refuses", NOW + SECOND))
    over = started(second, NOW + 2 * SECOND)

    assert second.status
    open_ = conditions.find(second.status.conditions, "ReconcileRetrying")
    assert open_
    assert (open_.status, open_.reason, open_.message) == ("True", "ReconcileError", "the store refuses")
    assert open_.last_transition_time == NOW
    assert over.status
    assert told(over.status, "ReconcileRetrying") == ("False", "ReconcileRecovered")


# The end --------------------------------------------------------------------------------------------------------------


def test_a_process_that_exits_with_0_has_succeeded() -> None:
    found = status.settled(started(examples.call()), EXITED, NOW + timedelta(seconds=9))

    assert told(found, "Succeeded") == told(found, "Finished") == ("True", "ProcessExited")
    assert told(found, "Running") == ("False", "ProcessExited")
    assert told(found, "Validated") == ("True", "Valid")
    assert (found.finished, found.exit_code) == (True, 0)
    assert (found.started_at, found.finished_at) == (NOW, NOW + 2 * SECOND)
    assert found.stdout_artifact_ref == "file:///artifacts/stdout"
    assert found.stderr_artifact_ref is None
    assert found.result
    assert (found.result.text, found.result.is_error) == ("hello world\n", False)


def test_a_process_that_exits_with_7_has_failed_with_that_code() -> None:
    stderr = Stored("file:///artifacts/stderr", "0" * 64, 5, b"boom\n")
    ended = Ended(ExecResult(Cause.EXITED, code=7, stderr=StreamSize(5, 5)), stderr=stderr)

    found = status.settled(started(examples.call()), ended, NOW)

    assert told(found, "Failed") == told(found, "Finished") == ("True", "NonZeroExit")
    assert message(found, "Failed") == message(found, "Finished") == "exit code 7"
    assert found.exit_code == 7
    assert found.stderr_artifact_ref == "file:///artifacts/stderr"
    assert found.result
    assert found.result.is_error


def test_a_call_beyond_its_deadline_has_timed_out() -> None:
    call = started(examples.call(timeout="200ms"))

    found = status.settled(call, Ended(ExecResult(Cause.DEADLINE, duration=SECOND)), NOW)

    assert told(found, "Timeout") == ("True", "DeadlineExceeded")
    assert told(found, "Running") == ("False", "DeadlineExceeded")
    assert message(found, "Timeout") == "did not end within 200ms; every process of the call was killed"
    assert found.exit_code is None


@pytest.mark.parametrize("duration", (timedelta(milliseconds=700), SECOND, 2 * SECOND))
def test_a_call_beyond_its_deadline_did_not_end_before_it(duration: timedelta) -> None:
    """Its timeout counts from the claim; its duration only from when its sandbox heard of it."""
    outcome = Ended(ExecResult(Cause.DEADLINE, duration=duration))
    claimed, unseen = started(examples.call(timeout="1s")), examples.call(timeout="1s")

    found, found_late = status.settled(claimed, outcome, NOW), status.settled(unseen, outcome, NOW)

    took = max(duration, SECOND)
    assert (found.started_at, found.finished_at) == (NOW, NOW + took)
    assert (found_late.started_at, found_late.finished_at) == (NOW - took, NOW)


def test_a_refused_call_was_never_started() -> None:
    found = status.settled(examples.call(), Refused(Reason.TOOL_UNKNOWN, "spec.tool: no"), NOW)

    assert told(found, "Validated") == ("False", "ToolUnknown")
    assert told(found, "Failed") == told(found, "Finished") == ("True", "ToolUnknown")
    assert told(found, "Running") == ("False", "ToolUnknown")
    assert (found.started_at, found.exit_code, found.result, found.stdout) == (None, None, None, None)
    assert found.finished_at == NOW


def test_a_call_that_was_canceled_while_it_waited_is_canceled_and_not_invalid() -> None:
    call = having(examples.call(), status.waiting(examples.call(), Waiting.QUEUED, "busy", NOW))

    found = status.settled(call, Refused(Reason.USER_CANCEL, "canceled before it started"), NOW + SECOND)

    assert told(found, "Canceled") == told(found, "Finished") == ("True", "UserCancel")
    assert told(found, "Validated") is None
    assert found.started_at is None


def test_a_fault_of_ours_that_lasts_ends_the_call_and_closes_the_retry() -> None:
    call = having(examples.call(), status.retrying(examples.call(), "the store does not answer", NOW))

    found = status.settled(call, Refused(Reason.RECONCILE_FAILED, "the store does not answer"), NOW + SECOND)

    assert told(found, "Failed") == ("True", "ReconcileFailed")
    assert told(found, "ReconcileRetrying") == ("False", "ReconcileFailed")


def test_a_call_whose_sandbox_is_gone_ends_when_that_is_found_out() -> None:
    lost = Lost(Reason.SANDBOX_GONE, "its sandbox is gone", STDOUT)

    found = status.settled(started(examples.call()), lost, NOW + SECOND)

    assert told(found, "Failed") == ("True", "SandboxGone")
    assert found.exit_code is None
    assert (found.started_at, found.finished_at) == (NOW, NOW + SECOND)
    assert found.stdout_truncated is True


def test_a_stream_that_could_not_be_stored_is_named_and_changes_nothing_else() -> None:
    stdout = Stored(size=12, sha256="0" * 64, head=BODY, problem="the store is full")
    ended = Ended(EXITED.result, stdout)

    found = status.settled(started(examples.call()), ended, NOW)

    assert told(found, "OutputsHarvested") == ("False", "OutputsNotStored")
    assert message(found, "OutputsHarvested") == "stdout was not stored: the store is full"
    assert told(found, "Succeeded") == ("True", "ProcessExited")
    assert found.exit_code == 0


def test_a_status_that_is_finished_does_not_change_any_more() -> None:
    ended = having(examples.call(), status.settled(started(examples.call()), EXITED, NOW))
    later = NOW + timedelta(hours=1)

    assert status.settled(ended, Lost(Reason.SANDBOX_GONE, "gone"), later) == ended.status
    assert status.waiting(ended, Waiting.QUEUED, "busy", later) == ended.status
    assert status.retrying(ended, "fault", later) == ended.status
    assert status.started(ended, planned(ended), dispatch(), later) == ended.status


def test_an_end_that_did_not_come_is_not_listed_beside_the_one_that_did() -> None:
    not_yet = Look(1, NOW).condition(Terminal.TIMEOUT, "Running", "", holds=False)
    call = examples.call(ToolCallStatus(conditions=(not_yet,)))

    found = status.settled(call, Refused(Reason.TOOL_UNKNOWN, "spec.tool: no"), NOW)

    assert told(found, "Timeout") is None
    assert told(found, "Failed") == ("True", "ToolUnknown")


def test_a_claim_stays_on_record_even_if_the_call_is_refused_after_it() -> None:
    call = started(examples.call())

    found = status.settled(call, Refused(Reason.RECONCILE_FAILED, "fault"), NOW + SECOND)

    assert told(found, "Validated") == ("True", "Valid")
    assert (found.started_at, found.dispatch) == (NOW, dispatch())


def test_a_call_that_another_operator_finished_is_finished() -> None:
    succeeded = Look(1, NOW).condition(Terminal.SUCCEEDED, "ProcessExited", "", holds=True)
    call = examples.call(ToolCallStatus(conditions=(succeeded,)))

    assert status.is_finished(call)
    assert status.settled(call, Lost(Reason.SANDBOX_GONE, "gone"), NOW) == call.status


# Objects that cannot be read ------------------------------------------------------------------------------------------


def test_an_object_that_cannot_be_read_ends_malformed_naming_the_fields() -> None:
    manifest = {"metadata": {"generation": 4}, "spec": {"env": 7}}

    found = status.malformed(manifest, ["spec.env: must be an object", "spec.tool: is missing"], NOW)

    assert told(found, "Failed") == told(found, "Finished") == ("True", "MalformedObject")
    assert told(found, "Validated") == ("False", "MalformedObject")
    assert message(found, "Failed") == "spec.env: must be an object; spec.tool: is missing"
    assert found.observed_generation == 4
    assert found.finished_at == NOW


@pytest.mark.parametrize(
    "manifest",
    (
        {},
        {"metadata": 7, "status": 7},
        {"metadata": {"generation": "4"}, "status": {"conditions": "none"}},
        {"metadata": {"generation": True}, "status": None},
        {"metadata": {"generation": -1}, "status": []},
    ),
)
def test_whatever_it_holds_it_ends(manifest: dict[str, Any]) -> None:
    found = status.malformed(manifest, [], NOW)

    assert (found.finished, found.observed_generation) == (True, 0)
    assert message(found, "Failed") == "cannot be read as a ToolCall"


def test_an_object_that_is_finished_stays_so_even_if_its_status_cannot_be_read() -> None:
    subject = Subject.of_manifest({"status": {"finished": True, "conditions": "none"}})

    assert status.is_finished(subject)


# What holds for every end ---------------------------------------------------------------------------------------------

TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 (made aware)
CODES = st.none() | st.integers(0, 255)
STREAMS = st.integers(0, 40_000).map(lambda size: StreamSize(size + size % 3, size))
STORED = st.builds(
    Stored,
    ref=st.sampled_from(["", "file:///a"]),
    sha256=st.sampled_from(["", "0" * 64]),
    size=st.integers(0, 40_000),
    head=st.binary(max_size=50),
    problem=st.sampled_from(["", "the store is full\n"]),
)
RESULTS = st.builds(
    ExecResult,
    st.sampled_from(Cause),
    code=CODES,
    signal=st.none() | st.integers(1, 64),
    step=st.sampled_from(["", "Exec", "Fork", "Confine"]),
    error=st.sampled_from(["", "ENOENT", "EACCES", "ENOEXEC", "E2BIG", "EAGAIN"]),
    duration=st.sampled_from([timedelta(-1), timedelta(), timedelta(microseconds=1), SECOND, timedelta(days=2)]),
    stdout=STREAMS,
    stderr=STREAMS,
)
MESSAGES = st.text(max_size=2000)
OUTCOMES: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(Refused, st.sampled_from(Reason), MESSAGES),
    st.builds(Lost, st.sampled_from(Reason), MESSAGES, STORED, STORED),
    st.builds(Ended, RESULTS, STORED, STORED, st.none() | st.sampled_from(Reason), MESSAGES),
)


@st.composite
def calls(draw: st.DrawFn) -> ToolCall:
    """A call after any of the steps that come before its end, taken by clocks that do not agree."""
    call = examples.call()
    for step in draw(st.lists(st.sampled_from(["waiting", "retrying", "started", "changed"]), max_size=4)):
        now = draw(TIMES)
        if step == "waiting":
            call = having(call, status.waiting(call, draw(st.sampled_from(Waiting)), draw(MESSAGES), now))
        elif step == "retrying":
            call = having(call, status.retrying(call, draw(MESSAGES), now))
        elif step == "started":
            call = started(call, now)
        else:
            call = seen_again(call)
    return call


@given(calls(), OUTCOMES, TIMES)
def test_every_call_ends_in_exactly_one_way_and_says_so_once_and_for_all(
    call: ToolCall, outcome: Outcome, now: datetime
) -> None:
    found = status.settled(call, outcome, now)

    ends = [end for end in Terminal if told(found, end)]
    assert len(ends) == 1
    (end,) = (conditions.find(found.conditions, kind) for kind in ends)
    finished = conditions.find(found.conditions, ConditionType.FINISHED)
    running = conditions.find(found.conditions, ConditionType.RUNNING)
    assert end
    assert finished
    assert running
    assert (end.status, finished.status, running.status) == ("True", "True", "False")
    assert (end.reason, end.message) == (finished.reason, finished.message)
    assert terminal(Reason(end.reason)) == end.type
    assert found.finished is True
    assert status.settled(having(call, found), outcome, now) is found


@given(calls(), OUTCOMES, TIMES)
def test_every_end_has_its_times_and_generation_in_order(call: ToolCall, outcome: Outcome, now: datetime) -> None:
    found = status.settled(call, outcome, now)

    assert found.finished_at is not None
    assert found.started_at is None or found.started_at <= found.finished_at
    assert (found.started_at is None) == (isinstance(outcome, Refused) and not status.is_claimed(call))
    assert found.observed_generation == call.metadata.generation
    assert {each.observed_generation for each in found.conditions} == {call.metadata.generation}
    assert len({each.type for each in found.conditions}) == len(found.conditions)


@given(calls(), OUTCOMES, TIMES)
def test_no_end_is_a_false_success_or_hides_the_claim(call: ToolCall, outcome: Outcome, now: datetime) -> None:
    found = status.settled(call, outcome, now)

    succeeded = isinstance(outcome, Ended) and outcome.result.cause is Cause.EXITED and outcome.result.code == 0
    assert (told(found, Terminal.SUCCEEDED) is not None) == succeeded
    assert (found.exit_code == 0) <= isinstance(outcome, Ended)
    assert found.dispatch == (call.status.dispatch if call.status else None)
    assert not conditions.is_true(found.conditions, ConditionType.RECONCILE_RETRYING)


@given(calls(), OUTCOMES, TIMES)
def test_every_end_can_be_written_and_read_again(call: ToolCall, outcome: Outcome, now: datetime) -> None:
    found = status.settled(call, outcome, now)

    read = ToolCallStatus.model_validate(found.to_manifest())

    assert all(each.message.isprintable() and len(each.message) <= 1024 for each in found.conditions)
    assert read.finished is True
    assert [(each.type, each.status) for each in read.conditions] == [(c.type, c.status) for c in found.conditions]
    assert read.finished_at
    assert read.started_at is None or read.started_at <= read.finished_at


def ended(cause: Cause, stop: Reason | None = None, **fields: Any) -> Ended:  # noqa: ANN401 (fields of a result)
    return Ended(ExecResult(cause, **fields), stop=stop)


PRODUCED: dict[Reason, Outcome] = {
    Reason.PROCESS_EXITED: ended(Cause.EXITED, code=0),
    Reason.NON_ZERO_EXIT: ended(Cause.EXITED, code=7),
    Reason.SIGNALED: ended(Cause.SIGNALED, signal=9),
    Reason.COMMAND_NOT_FOUND: ended(Cause.NOT_STARTED, step="Exec", error="ENOENT"),
    Reason.NOT_EXECUTABLE: ended(Cause.NOT_STARTED, step="Exec", error="EACCES"),
    Reason.ARGUMENTS_TOO_LONG: ended(Cause.NOT_STARTED, step="Exec", error="E2BIG"),
    Reason.START_FAILED: ended(Cause.NOT_STARTED, step="Fork", error="EAGAIN"),
    Reason.OOM_KILLED: ended(Cause.OUT_OF_MEMORY),
    Reason.PIDS_LIMIT_EXCEEDED: ended(Cause.TOO_MANY_PROCESSES),
    Reason.SANDBOX_TERMINATING: ended(Cause.TERMINATING),
    Reason.TRANSPORT_LOST: ended(Cause.LOST),
    Reason.DEADLINE_EXCEEDED: ended(Cause.DEADLINE),
    Reason.USER_CANCEL: ended(Cause.KILLED, stop=Reason.USER_CANCEL),
    Reason.SANDBOX_GONE: Lost(Reason.SANDBOX_GONE, "its sandbox is gone"),
    Reason.SANDBOX_OOM_KILLED: Lost(Reason.SANDBOX_OOM_KILLED, "its sandbox ran out of memory"),
    Reason.SANDBOX_UNREACHABLE: Lost(Reason.SANDBOX_UNREACHABLE, "its node does not answer"),
    Reason.EVICTED: Lost(Reason.EVICTED, "its sandbox was evicted"),
    Reason.USER_DELETE: ended(Cause.KILLED, stop=Reason.USER_DELETE),
    Reason.SESSION_TERMINATED: ended(Cause.KILLED, stop=Reason.SESSION_TERMINATED),
    Reason.SANDBOX_RESTARTED: Lost(Reason.SANDBOX_RESTARTED, "its sandbox was started again"),
    Reason.MALFORMED_OBJECT: Refused(Reason.MALFORMED_OBJECT, "spec.env: must be an object"),
    Reason.RECONCILE_FAILED: Refused(Reason.RECONCILE_FAILED, "the store does not answer"),
    Reason.CREDENTIAL_EXPIRED: Refused(Reason.CREDENTIAL_EXPIRED, "its token has expired"),
}
"""How each reason comes about that no check of a call gives (those are found by `validation.plan`)."""

_BY_NAME = {"inject": {"envVar": "MINE"}, "identity": {"name": "bot", "credential": "hub"}}


def _asked(**source: object) -> dict[str, Any]:
    """A credential for the variable MINE."""
    full = {"type": "static", "namespace": "default", "name": "github", "key": "token", **source}
    return {"inject": {"envVar": "MINE"}, "source": full}


CHECKED: dict[Reason, tuple[World, dict[str, Any]]] = {
    Reason.SESSION_GONE: (World(None, None), {}),
    Reason.SESSION_NOT_ACTIVE: (World(examples.session(), None), {}),
    Reason.SESSION_BINDING_MISMATCH: (World(examples.labelled("victim"), examples.session_class()), {}),
    Reason.TOOL_UNKNOWN: (examples.world(), {"tool": "other"}),
    Reason.UNSUPPORTED_FOR_TOOL: (examples.world(), {"arguments": {"a": 1}}),
    Reason.NOT_SUPPORTED: (examples.world(), {"captureOutputs": ["/work/out/a"]}),
    Reason.ENV_NAME_INVALID: (examples.world(), {"env": {"NOT-A-NAME": ""}}),
    Reason.ENV_NAME_FORBIDDEN: (policies.world(policies.toolspec()), {"env": {"LD_PRELOAD": ""}}),
    Reason.TOOLSPEC_DENIED: (policies.world(), {}),
    Reason.ENV_SECRET_LIKE: (examples.world(), {"env": {"GH_TOKEN": ""}}),
    Reason.ENV_SHADOWS_AGENT: (examples.world(), {"credentials": [_asked()], "env": {"MINE": ""}}),
    Reason.CREDENTIAL_CONFLICT: (examples.world(), {"credentials": [_asked(), _asked()]}),
    Reason.CREDENTIAL_SOURCE_FORBIDDEN: (examples.world(), {"credentials": [_asked(namespace="elsewhere")]}),
    Reason.CREDENTIAL_INVALID: (examples.world(), {"credentials": [_asked(key=None)]}),
    Reason.CREDENTIAL_UNRESOLVED: (
        World(examples.session(agent="bot"), examples.session_class()),
        {"credentials": [_BY_NAME]},
    ),
}


@pytest.mark.parametrize("reason", tuple(Reason))
def test_every_reason_comes_about(reason: Reason) -> None:
    call = started(examples.call())
    outcome = PRODUCED.get(reason)
    if outcome is None:
        world, spec = CHECKED[reason]
        call = examples.call(**spec)
        refused = validation.plan(call, world)
        assert isinstance(refused, Refused)
        outcome = refused

    found = status.settled(call, outcome, NOW)

    assert told(found, "Finished") == ("True", reason)


def test_an_end_too_large_to_be_kept_keeps_what_matters() -> None:
    call = started(examples.call())
    final = status.settled(call, ended(Cause.EXITED, code=7), NOW)

    found = status.minimal(final)

    assert told(found, "Finished") == ("True", Reason.NON_ZERO_EXIT)
    assert (found.finished, found.exit_code, found.dispatch) == (True, 7, final.dispatch)
    assert (found.started_at, found.finished_at) == (final.started_at, final.finished_at)
    assert found.result is None


def test_an_end_too_large_to_be_kept_still_says_which_toolspec_accepted_the_call() -> None:
    accepted = ToolCallStatus(finished=True, toolspec=ToolspecDecision(accepted_by="say"))

    assert status.minimal(accepted).toolspec == accepted.toolspec
    assert status.minimal(ToolCallStatus(finished=True)).toolspec is None


def test_an_end_too_large_to_be_kept_still_says_which_toolspecs_refused_the_call_and_by_which_rule() -> None:
    ruled = FailedRule(path="constraints[0]", message="m" * 512)
    failures = (
        ToolspecFailure(spec_name="ruled", reason="r" * 512, failed_on=ruled),
        ToolspecFailure(spec_name="broken", reason="r" * 512),
    )
    final = status.settled(examples.call(), Refused(Reason.TOOLSPEC_DENIED, "no", failures=failures), NOW)

    found = status.minimal(final).toolspec

    assert found
    assert found.failures == (
        ToolspecFailure(spec_name="ruled", failed_on=FailedRule(path="constraints[0]")),
        ToolspecFailure(spec_name="broken"),
    )
