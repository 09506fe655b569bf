"""How long a session lives, and how soon a lost sandbox is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from toolcall_operator.api import durations
from toolcall_operator.api.spiceboxclass import SessionDefaults
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core import conditions
from toolcall_operator.core.session import trouble
from toolcall_operator.core.session.status import SessionCondition, SessionReason
from toolcall_operator.core.session.view import SessionView

SETTLING = timedelta(minutes=1)
"""Before this, a process does not know of every call that it took over: it finds no session idle."""

LONG_LIFE = timedelta(minutes=10)
"""A sandbox that lived so long did not fail because of how it was made."""

_PAUSES = timedelta(seconds=1), timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Expiry:
    """When the time of a session is over, and why."""

    at: datetime
    reason: SessionReason
    message: str


def expiry(view: SessionView) -> Expiry | None:
    """When the time of a session will be over as things stand; None for one that may go on for ever.

    A session that an AgentSession controls is ended by nobody else. Calls that run or wait keep a session from being
    idle, not from growing too old. A session that has no class yet has only the limits it states itself; which those
    are, one that cannot be read does not tell.
    """
    if view.unread or is_of_agent_session(view.session):
        return None
    return min(_limits(view), key=lambda limit: limit.at, default=None)


def is_of_agent_session(session: SpiceboxSession) -> bool:
    """Whether an AgentSession controls the session."""
    return any(owner.controller and owner.is_agent_session for owner in session.metadata.owner_references)


def due(view: SessionView, streak: int) -> datetime | None:
    """When the next pod may be made, after `streak` short-lived ones in a row; None: at once.

    It counts from when the pod before was made, so that a sandbox that lived for a while is replaced at once.
    """
    before = view.earlier[0].created_at if view.earlier else view.known.made_at
    return before + trouble.pause(streak, _PAUSES) if before and streak else None


def streak(view: SessionView) -> int:
    """How many short-lived sandboxes came one after another; a process that has not seen them suspects all."""
    return (view.status.restarts or 0) if view.known.streak is None else view.known.streak


def streak_after(view: SessionView, now: datetime) -> int:
    """The same, once the sandbox of today is lost."""
    made = view.pod.created_at if view.pod else view.known.made_at
    return 1 if made and now - made >= LONG_LIFE else streak(view) + 1


def _limits(view: SessionView) -> Iterator[Expiry]:
    spec, status = view.session.spec, view.status
    defaults = status.resolved_class.session_defaults if status.resolved_class else _NO_LIMITS
    born = view.session.metadata.creation_timestamp or view.known.since
    if longest := defaults.max_duration if spec.max_duration is None else spec.max_duration:
        yield Expiry(
            born + longest, SessionReason.MAX_DURATION, f"it has lived for {durations.render(longest)}, its maxDuration"
        )
    is_used = view.activity.in_flight or view.activity.waiting
    if (idle := defaults.idle_ttl if spec.idle_ttl is None else spec.idle_ttl) and not is_used:
        at = max(_last_used(view, born) + idle, view.known.since + SETTLING)
        message = f"it has had no calls for {durations.render(idle)}, its idleTTL"
        yield Expiry(at, SessionReason.IDLE_TTL, message)


def _last_used(view: SessionView, born: datetime) -> datetime:
    """When a session was last used; nobody could before it was ready."""
    ready = conditions.find(view.status.conditions, SessionCondition.READY)
    since = ready.last_transition_time if ready and ready.status == "True" else None
    return max(filter(None, (born, since, view.status.last_activity_at, view.activity.last_at)))


_NO_LIMITS = SessionDefaults(idle_ttl=timedelta(), max_duration=timedelta())
