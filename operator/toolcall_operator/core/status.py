"""The status of a call at each step of its life; however a call ends, it ends in `settled`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import (
    Agent,
    Dispatch,
    FailedRule,
    ToolCallStatus,
    ToolspecDecision,
    ToolspecFailure,
)
from toolcall_operator.api.types import INT64
from toolcall_operator.core import conditions, masking, outputs
from toolcall_operator.core.conditions import ConditionType, Look
from toolcall_operator.core.outcomes import Cause, Ended, Outcome, Refused
from toolcall_operator.core.policy import judging
from toolcall_operator.core.reasons import Reason, Terminal, Waiting, terminal
from toolcall_operator.core.validation import Plan
from toolcall_operator.core.verdict import Verdict, verdict

NOTHING_YET = ToolCallStatus()
_NO_TIME = timedelta()


@dataclass(frozen=True, slots=True)
class Subject:
    """What a status needs to know of its call; an object that cannot be read as a ToolCall has this much, too."""

    generation: int = 0
    status: ToolCallStatus = NOTHING_YET
    timeout: timedelta | None = None

    @classmethod
    def of(cls, call: ToolCall) -> Subject:
        """The subject that a readable call is."""
        return cls(call.metadata.generation, call.status or NOTHING_YET, call.spec.timeout)

    @classmethod
    def of_manifest(cls, manifest: Mapping[str, object]) -> Subject:
        """As much as can be told of any object; a status that cannot be read still tells whether it is finished."""
        metadata, status = manifest.get("metadata"), manifest.get("status")
        generation = metadata.get("generation") if isinstance(metadata, Mapping) else None
        known = generation if type(generation) is int and 0 <= generation <= INT64 else 0
        try:
            return cls(known, ToolCallStatus.model_validate(status or {}))
        except ValidationError:
            ended = isinstance(status, Mapping) and status.get("finished") is True
            return cls(known, ToolCallStatus(finished=True) if ended else NOTHING_YET)


def is_finished(call: ToolCall | Subject) -> bool:
    """Whether the call has ended: by our own mark, or by a terminal condition that whoever was here before us wrote."""
    status = call.status or NOTHING_YET
    return bool(status.finished) or any(conditions.is_true(status.conditions, end) for end in Terminal)


def is_claimed(call: ToolCall | Subject) -> bool:
    """Whether the call was given to a sandbox: its process may have been started, and must not be started again."""
    return call.status is not None and (call.status.dispatch is not None or call.status.started_at is not None)


def waiting(call: ToolCall, reason: Waiting, message: str, now: datetime) -> ToolCallStatus:
    """The status of a call that waits for its turn or its sandbox; one that was claimed or has ended keeps its own."""
    if is_finished(call) or is_claimed(call):
        return Subject.of(call).status
    look = Look(call.metadata.generation, now)
    return _with(Subject.of(call), [look.condition(ConditionType.RUNNING, reason, message, holds=False)])


def started(call: ToolCall, plan: Plan, dispatch: Dispatch, now: datetime) -> ToolCallStatus:
    """The status that claims a call for one life of one sandbox; a claim is made once, and an ended call never."""
    if is_finished(call) or is_claimed(call):
        return Subject.of(call).status
    look = Look(call.metadata.generation, now)
    new = [
        look.condition(ConditionType.VALIDATED, "Valid", "every check passed", holds=True),
        look.condition(ConditionType.RUNNING, "Started", "given to its sandbox", holds=True),
        *_warnings(plan, look),
        *_recovered(Subject.of(call), look),
    ]
    return _with(Subject.of(call), new, started_at=now, dispatch=dispatch, **_judged(plan), **_credentialed(plan))


def _judged(plan: Plan) -> dict[str, Any]:
    if not plan.accepted_by:
        return {}
    told = judging.told(plan.request.confinement)
    return {"toolspec": ToolspecDecision(accepted_by=plan.accepted_by), "confinement": told}


def _credentialed(plan: Plan) -> dict[str, Any]:
    carried = plan.request.credentials
    return {"agent": Agent(injected=masking.injected(carried.env))} if carried else {}


def retrying(call: ToolCall, message: str, now: datetime) -> ToolCallStatus:
    """The status of a call that a fault of ours holds up; the transition time tells since when."""
    if is_finished(call):
        return Subject.of(call).status
    look = Look(call.metadata.generation, now)
    new = look.condition(ConditionType.RECONCILE_RETRYING, "ReconcileError", message, holds=True)
    return _with(Subject.of(call), [new])


def malformed(manifest: Mapping[str, object], problems: Sequence[str], now: datetime) -> ToolCallStatus:
    """The end of an object that cannot be read as a ToolCall; `problems` name the fields."""
    message = "; ".join(problems) or "cannot be read as a ToolCall"
    return settled(Subject.of_manifest(manifest), Refused(Reason.MALFORMED_OBJECT, message), now)


def settled(call: ToolCall | Subject, outcome: Outcome, now: datetime) -> ToolCallStatus:
    """The last status of a call, for every way in which one can end; one that is finished already is returned as it is.

    Exactly one of Succeeded, Failed, Timeout and Canceled is there and true; Finished is true with the same reason and
    message; Running is false; startedAt is not after finishedAt, and there is none if nothing was claimed.
    """
    subject = call if isinstance(call, Subject) else Subject.of(call)
    if is_finished(subject):
        return subject.status
    found = verdict(outcome, subject.timeout)
    update: dict[str, Any] = _times(subject, outcome, now)
    if isinstance(outcome, Refused) and outcome.failures:
        update["toolspec"] = ToolspecDecision(failures=outcome.failures)
    if not isinstance(outcome, Refused):
        update |= outputs.fields(outcome, is_error=terminal(found.reason) is not Terminal.SUCCEEDED)
    if found.exit_code is not None:
        update["exit_code"] = found.exit_code
    ending = list(_ending(subject, outcome, found, Look(subject.generation, now)))
    return _with(subject, ending, finished=True, **update)


def minimal(final: ToolCallStatus) -> ToolCallStatus:
    """What matters of a last status that is too large to be kept: how and when the call ended, who judged it, where."""
    kept = [
        each.model_copy(update={"message": "the status was too large to be kept whole"})
        if each.type in {*Terminal, ConditionType.FINISHED, ConditionType.RUNNING}
        else each
        for each in final.conditions
        if each.type in {*Terminal, ConditionType.FINISHED, ConditionType.RUNNING, ConditionType.VALIDATED}
    ]
    names = ("finished", "observed_generation", "started_at", "finished_at", "exit_code", "dispatch", "confinement")
    return ToolCallStatus(
        **{name: getattr(final, name) for name in names}, conditions=tuple(kept), toolspec=_minimal(final.toolspec)
    )


def _minimal(decision: ToolspecDecision | None) -> ToolspecDecision | None:
    """Who accepted the call, or who refused it by which rule, without their words."""
    if decision is None:
        return None
    failures = tuple(
        ToolspecFailure(
            spec_name=each.spec_name, failed_on=FailedRule(path=each.failed_on.path) if each.failed_on else None
        )
        for each in decision.failures
    )
    return ToolspecDecision(accepted_by=decision.accepted_by, failures=failures)


def _ending(subject: Subject, outcome: Outcome, found: Verdict, look: Look) -> Iterator[Condition]:
    """What the end of a call changes about its conditions."""
    end = terminal(found.reason)
    if isinstance(outcome, Refused) and not is_claimed(subject) and end is Terminal.FAILED:
        yield look.condition(ConditionType.VALIDATED, found.reason, found.message, holds=False)
    yield look.condition(ConditionType.RUNNING, found.reason, found.message, holds=False)
    yield look.condition(end, found.reason, found.message, holds=True)
    yield look.condition(ConditionType.FINISHED, found.reason, found.message, holds=True)
    if not isinstance(outcome, Refused) and (lacking := "; ".join(outputs.problems(outcome))):
        yield look.condition(ConditionType.OUTPUTS_HARVESTED, "OutputsNotStored", lacking, holds=False)
    if found.reason is Reason.RECONCILE_FAILED:
        yield from _no_longer_retrying(subject, look, found.reason, found.message)
    else:
        yield from _recovered(subject, look)


def _recovered(subject: Subject, look: Look) -> Iterator[Condition]:
    return _no_longer_retrying(subject, look, "ReconcileRecovered", "the fault is over")


def _no_longer_retrying(subject: Subject, look: Look, reason: str, message: str) -> Iterator[Condition]:
    """Closes ReconcileRetrying if it is open."""
    if conditions.is_true(subject.status.conditions, ConditionType.RECONCILE_RETRYING):
        yield look.condition(ConditionType.RECONCILE_RETRYING, reason, message, holds=False)


def _warnings(plan: Plan, look: Look) -> Iterator[Condition]:
    if plan.high_entropy:
        message = f"looks like a secret, and every reader of this object sees it: {', '.join(plan.high_entropy)}"
        yield look.condition(ConditionType.ENV_HIGH_ENTROPY, "EnvHighEntropy", message, holds=True)


def _times(subject: Subject, outcome: Outcome, now: datetime) -> dict[str, Any]:
    """When the call was started and finished; its duration comes from a clock that cannot be set, `now` does not."""
    started_at = subject.status.started_at
    if isinstance(outcome, Refused):
        return {"finished_at": max(now, started_at or now)}
    duration = _duration(outcome, subject.timeout) if isinstance(outcome, Ended) else None
    if started_at is None:  # the claim was not seen: the end is all there is to count from
        return {"started_at": now - (duration or _NO_TIME), "finished_at": now}
    return {"finished_at": max(now, started_at) if duration is None else started_at + duration}


def _duration(outcome: Ended, timeout: timedelta | None) -> timedelta:
    """How long it took: a timeout counts from the claim, the supervisor's clock only from the request to start."""
    least = timeout if timeout and outcome.result.cause is Cause.DEADLINE else _NO_TIME
    return max(outcome.result.duration, least)


def _with(subject: Subject, new: Sequence[Condition], **update: Any) -> ToolCallStatus:  # noqa: ANN401 (fields of a status)
    """The subject's status with `new` conditions and fields, and without ends other than a new one."""
    kept = conditions.without(subject.status.conditions, Terminal)
    for condition in new:
        kept = conditions.set_condition(kept, condition)
    restamped = tuple(each.model_copy(update={"observed_generation": subject.generation}) for each in kept)
    return subject.status.model_copy(
        update={**update, "conditions": restamped, "observed_generation": subject.generation}
    )
