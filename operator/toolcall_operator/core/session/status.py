"""The status of a session after each thing that was found out about it.

What is found out twice gives the same status: whoever compares it with the one that stands knows whether to write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from toolcall_operator import errors
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.spiceboxclass import SpiceboxClassSpec
from toolcall_operator.api.spiceboxsession import SessionSandbox, SpiceboxSession, SpiceboxSessionStatus
from toolcall_operator.core import conditions
from toolcall_operator.core.conditions import Look
from toolcall_operator.core.pod.pods import PodState, PodView
from toolcall_operator.core.session.known import NOTHING_YET, Greeting
from toolcall_operator.core.session.trouble import Kind, Trouble


class SessionCondition(StrEnum):
    """What conditions tell of a session."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    FAILED = "Failed"
    TERMINATED = "Terminated"
    NETWORK_ENFORCED = "NetworkEnforced"


class SessionReason(StrEnum):
    """Why a condition of a session is what it is."""

    CREATING = "Creating"
    WAITING_FOR_CLASS = "WaitingForClass"
    WAITING_FOR_AGENT = "WaitingForAgent"
    POD_PENDING = "PodPending"
    POD_STUCK = "PodStuck"
    REPLACING = "Replacing"
    SANDBOX_READY = "SandboxReady"
    SANDBOX_LOST = "SandboxLost"
    NETWORK_BLOCKED = "Blocked"
    NETWORK_OPEN = "NetworkPolicyNotEnforced"

    CLASS_MISSING = "ClassMissing"
    CLASS_INVALID = "ClassInvalid"
    CLASS_NOT_ALLOWED = "ClassNotAllowed"
    AGENT_MISSING = "AgentMissing"
    TOOLSPEC_NOT_IN_CLASS = "ToolspecNotInClass"
    NOT_SUPPORTED = "NotSupported"
    MALFORMED_OBJECT = "MalformedObject"

    IDLE_TTL = "IdleTTL"
    MAX_DURATION = "MaxDuration"
    DELETED = "Deleted"


_LOSSES = frozenset({SessionReason.SANDBOX_LOST, SessionReason.POD_STUCK})
_MAKING = "its sandbox is being made"
_UNENFORCED = (
    "its sandbox can reach the API server: the cluster does not enforce NetworkPolicies, or has not begun to; "
    "no call runs there"
)


def awaiting_class(session: SpiceboxSession, message: str, now: datetime) -> SpiceboxSessionStatus:
    """The class is not there, or lacks what others have to make, and that may still come."""
    return _unfinished(session, SessionReason.WAITING_FOR_CLASS, message, now)


def awaiting_agent(session: SpiceboxSession, message: str, now: datetime) -> SpiceboxSessionStatus:
    """The AgentIdentity is not there, and may still come."""
    return _unfinished(session, SessionReason.WAITING_FOR_AGENT, message, now)


def refused(session: SpiceboxSession, reason: StrEnum, message: str, now: datetime) -> SpiceboxSessionStatus:
    """There can be no sandbox, as the session and its class are."""
    look = _look(session, now)
    new = [
        look.condition(SessionCondition.READY, reason, message, holds=False),
        look.condition(SessionCondition.PROGRESSING, reason, message, holds=False),
        look.condition(SessionCondition.FAILED, reason, message, holds=True),
    ]
    return _with(session, new)


def bound(
    session: SpiceboxSession, spec: SpiceboxClassSpec, toolspecs: tuple[str, ...], now: datetime
) -> SpiceboxSessionStatus:
    """The class is as `spec` says for as long as the session lives, whatever becomes of it; so are toolspecs and agent.

    Where there are none because neither the class nor the session names any, the list is left out.
    """
    narrowed = session.spec.toolspecs is not None
    frozen: dict[str, Any] = {
        "resolved_class": spec,
        "resolved_tool_config": session.spec.tool_config,
        "resolved_agent": session.spec.agent,
    }
    if toolspecs or narrowed:
        frozen["effective_toolspecs"] = toolspecs
    return _unfinished(session, SessionReason.CREATING, _MAKING, now, **frozen)


def being_made(session: SpiceboxSession, state: PodState | None, now: datetime) -> SpiceboxSessionStatus:
    """The pod is to be made, or has no sandbox yet; `state` says what holds it up.

    Ready goes on telling why there is no sandbox any more, until there is another.
    """
    ready = conditions.find(_status(session).conditions, SessionCondition.READY)
    loss = ready if ready and ready.reason in _LOSSES else None
    if state and state.problem:
        reason, message = SessionReason.POD_PENDING, state.problem
    else:
        reason, message = (SessionReason.REPLACING, loss.message) if loss else (SessionReason.CREATING, _MAKING)
    if loss is None:
        return _unfinished(session, reason, message, now)
    progressing = _look(session, now).condition(SessionCondition.PROGRESSING, reason, message, holds=True)
    return _with(session, [progressing], drop=[SessionCondition.FAILED])


def greeted(session: SpiceboxSession, pod: PodView, greeting: Greeting, now: datetime) -> SpiceboxSessionStatus:
    """The supervisor of the pod said hello; calls may run unless it sees an open network."""
    look, is_open = _look(session, now), greeting.network == "Open"
    reason = SessionReason.NETWORK_OPEN if is_open else SessionReason.SANDBOX_READY
    message = _UNENFORCED if is_open else f"calls run in pod {pod.name}"
    new = [
        look.condition(SessionCondition.READY, reason, message, holds=not is_open),
        look.condition(SessionCondition.PROGRESSING, reason, message, holds=is_open),
        *_network(look, greeting.network),
    ]
    unsaid = [] if greeting.network else [SessionCondition.NETWORK_ENFORCED]
    return _with(
        session,
        new,
        drop=[SessionCondition.FAILED, *unsaid],
        pod_name=pod.name,
        sandbox=_sandbox(pod, greeting),
    )


def lost(session: SpiceboxSession, reason: SessionReason, message: str, now: datetime) -> SpiceboxSessionStatus:
    """The sandbox is lost, or cannot come to be in its pod, and is to be replaced."""
    look = _look(session, now)
    new = [
        look.condition(SessionCondition.READY, reason, message, holds=False),
        look.condition(SessionCondition.PROGRESSING, SessionReason.REPLACING, message, holds=True),
    ]
    drop = [SessionCondition.FAILED, SessionCondition.NETWORK_ENFORCED]
    return _with(session, new, drop=drop, pod_name=None, sandbox=None)


def troubled(session: SpiceboxSession, trouble: Trouble, now: datetime) -> SpiceboxSessionStatus:
    """Something of ours, or of the cluster's, stands in the way of a sandbox; one that is ready is not disturbed."""
    if conditions.is_true(_status(session).conditions, SessionCondition.READY):
        return _status(session)
    look = _look(session, now)
    return _with(session, [look.condition(SessionCondition.PROGRESSING, trouble.kind, trouble.message, holds=True)])


def terminated(session: SpiceboxSession, reason: SessionReason, message: str, now: datetime) -> SpiceboxSessionStatus:
    """The session ends; why is told once, by whoever is first."""
    found = conditions.find(_status(session).conditions, SessionCondition.TERMINATED)
    told, words = (found.reason, found.message) if found and found.status == "True" else (reason, message)
    look = _look(session, now)
    new = [
        look.condition(SessionCondition.READY, told, words, holds=False),
        look.condition(SessionCondition.PROGRESSING, told, words, holds=False),
        look.condition(SessionCondition.TERMINATED, told, words, holds=True),
    ]
    return _with(session, new)


def used(session: SpiceboxSession, count: int, last_at: datetime | None) -> SpiceboxSessionStatus:
    """So many calls were started, and the last one began or ended then. No count and no time ever goes back."""
    status = _status(session)
    most = max(count, status.call_count or 0) or status.call_count
    latest = max(filter(None, (status.last_activity_at, last_at)), default=None)
    return status.model_copy(update={"call_count": most, "last_activity_at": latest})


def remarks(old: SpiceboxSessionStatus | None, new: SpiceboxSessionStatus) -> Mapping[str, str]:
    """The refusals and faults that `new` tells and `old` did not: the message of each reason."""
    known = {_told(each) for each in (old or NOTHING_YET).conditions}
    return {each.reason: each.message for each in new.conditions if _is_remarkable(each) and _told(each) not in known}


def _is_remarkable(condition: Condition) -> bool:
    match condition.type, condition.status:
        case SessionCondition.FAILED, "True":
            return True
        case SessionCondition.READY, "False":
            return condition.reason in {*_LOSSES, SessionReason.NETWORK_OPEN}
        case SessionCondition.PROGRESSING, "True":
            return condition.reason == Kind.REJECTED
        case _:
            return False


def _told(condition: Condition) -> tuple[str, ...]:
    return condition.type, condition.status, condition.reason, condition.message


def _unfinished(
    session: SpiceboxSession,
    reason: SessionReason,
    message: str,
    now: datetime,
    **update: Any,  # noqa: ANN401 (fields of a status)
) -> SpiceboxSessionStatus:
    """Not ready yet, and on the way."""
    look = _look(session, now)
    new = [
        look.condition(SessionCondition.READY, reason, message, holds=False),
        look.condition(SessionCondition.PROGRESSING, reason, message, holds=True),
    ]
    return _with(session, new, drop=[SessionCondition.FAILED], **update)


def _network(look: Look, network: str | None) -> Iterator[Condition]:
    if network == "Open":
        yield look.condition(SessionCondition.NETWORK_ENFORCED, SessionReason.NETWORK_OPEN, _UNENFORCED, holds=False)
    elif network:
        message = "its sandbox cannot reach the API server"
        yield look.condition(SessionCondition.NETWORK_ENFORCED, SessionReason.NETWORK_BLOCKED, message, holds=True)


def _sandbox(pod: PodView, greeting: Greeting) -> SessionSandbox:
    return SessionSandbox(
        kind="pod",
        ref=f"{pod.namespace}/{pod.name}",
        pod_uid=pod.uid,
        boot_id=greeting.boot_id,
        supervisor_version=errors.foreign(greeting.supervisor_version),
        landlock_abi=greeting.landlock_abi,
        isolation="Landlock" if greeting.isolation == "Landlock" else "Exclusive",
    )


def _status(session: SpiceboxSession) -> SpiceboxSessionStatus:
    return session.status or NOTHING_YET


def _look(session: SpiceboxSession, now: datetime) -> Look:
    return Look(session.metadata.generation, now)


def _with(
    session: SpiceboxSession,
    new: Collection[Condition],
    drop: Collection[SessionCondition] = (),
    **update: Any,  # noqa: ANN401 (fields of a status)
) -> SpiceboxSessionStatus:
    """The session's status with `new` conditions and fields, and without the conditions of which nothing is known."""
    status, generation = _status(session), session.metadata.generation
    kept = conditions.without(status.conditions, drop)
    for condition in new:
        kept = conditions.set_condition(kept, condition)
    restamped = tuple(each.model_copy(update={"observed_generation": generation}) for each in kept)
    return status.model_copy(update={**update, "conditions": restamped, "observed_generation": generation})
