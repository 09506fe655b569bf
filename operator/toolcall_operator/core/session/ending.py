"""How a session ends: when its time is over it is deleted, and when it is deleted its calls go first, then its pods."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from toolcall_operator.api.spiceboxsession import FINALIZER
from toolcall_operator.core import conditions
from toolcall_operator.core.session import life as sessionlife
from toolcall_operator.core.session import status as sessionstatus
from toolcall_operator.core.session.actions import Action, Delete, Discard, Release, Rest, Show, StopCalls
from toolcall_operator.core.session.status import SessionCondition, SessionReason
from toolcall_operator.core.session.trouble import Kind
from toolcall_operator.core.session.view import SessionView

CALLS_PATIENCE = timedelta(seconds=30)
"""How long calls have to end, besides the grace their class gives them: until then what they did is written down."""

PODS_PATIENCE = timedelta(seconds=30)
"""How long pods have to go after that: the pod of a node that is gone never does, and hinders nobody."""


def is_wanted(view: SessionView, now: datetime) -> Iterator[Action]:
    """Nobody has deleted the session."""
    deleted_at = view.session.metadata.deletion_timestamp
    if deleted_at is None:
        return
    if FINALIZER not in view.session.metadata.finalizers:
        yield Rest()
    elif not _is_shown(view):
        message = "the session is being deleted"
        yield Show(sessionstatus.terminated(view.session, SessionReason.DELETED, message, now))
    else:
        yield from _cleared_away(view, now)


def is_not_over(view: SessionView, now: datetime) -> Iterator[Action]:
    """Its time is not over; if it is, that is shown first."""
    if conditions.is_true(view.status.conditions, SessionCondition.TERMINATED):
        yield Delete()
    elif (expiry := sessionlife.expiry(view)) and expiry.at <= now:
        yield Show(sessionstatus.terminated(view.session, expiry.reason, expiry.message, now))


def _cleared_away(view: SessionView, now: datetime) -> Iterator[Action]:
    """What is left to do, one after the other."""
    calls_until = _since(view) + _grace(view) + CALLS_PATIENCE
    pods_until = calls_until + PODS_PATIENCE
    standing = [pod for pod in view.pods if not pod.deleting and Discard(pod.uid) not in view.known.done]
    if StopCalls() not in view.known.done and now < calls_until:
        yield StopCalls()
        yield Rest(calls_until)
    elif standing:
        yield from (Discard(pod.uid) for pod in standing)
    elif view.pods and now < pods_until:
        yield Rest(pods_until)
    else:
        yield Release()


def _is_shown(view: SessionView) -> bool:
    """Whether people see that it ends, or never will: it ends all the same."""
    trouble = view.known.troubles.get(Show)
    never = trouble is not None and trouble.kind is Kind.REJECTED
    return never or conditions.is_true(view.status.conditions, SessionCondition.TERMINATED)


def _since(view: SessionView) -> datetime:
    """When this process first could end it: what another one left undone gets its time again."""
    deleted_at = view.session.metadata.deletion_timestamp or view.known.since
    shown = conditions.find(view.status.conditions, SessionCondition.TERMINATED)
    return max(deleted_at, view.known.since, shown.last_transition_time if shown else deleted_at)


def _grace(view: SessionView) -> timedelta:
    spec = view.status.resolved_class
    return spec.termination_grace_period if spec else timedelta()
