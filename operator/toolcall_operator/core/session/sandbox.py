"""How a session comes to have a sandbox, and another one when it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from toolcall_operator.core.pod import pods
from toolcall_operator.core.pod.pods import PodPhase
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.session import chores
from toolcall_operator.core.session import life as sessionlife
from toolcall_operator.core.session import status as sessionstatus
from toolcall_operator.core.session.actions import (
    Action,
    Discard,
    Greet,
    Leave,
    MakePod,
    MakePolicy,
    Replace,
    Rest,
    Show,
)
from toolcall_operator.core.session.status import SessionReason
from toolcall_operator.core.session.trouble import Kind
from toolcall_operator.core.session.view import SessionView

NETWORK_PAUSE = timedelta(seconds=30)
"""How often a supervisor that saw an open network is asked whether it still does."""

BROKEN_PATIENCE = timedelta(seconds=30)
"""How long a supervisor is heard that does not speak our protocol, or does not know our key."""


def pod_is_there(view: SessionView, now: datetime) -> Iterator[Action]:
    """Its pod is there, and its policy before it; one that was there and is not any more is replaced."""
    if view.pod:
        return
    if view.status.pod_name == view.pod_name:
        yield _replace(
            view,
            SessionReason.SANDBOX_LOST,
            f"pod {view.pod_name} was lost: {Reason.SANDBOX_GONE}: it is not there any more",
            now,
        )
        return
    yield from (Discard(pod.uid) for pod in view.earlier[1:] if not pod.deleting)  # the newest tells when it is due
    in_the_way = [pod for pod in view.earlier if not pod.deleting and pods.state(pod).phase is not PodPhase.LOST]
    due = sessionlife.due(view, sessionlife.streak(view))
    if in_the_way:
        yield from (Discard(pod.uid) for pod in in_the_way)
    elif due and now < due:
        yield Rest(due)
    else:
        named = view.pod_name
        yield MakePod(named) if MakePolicy(named) in view.known.done else MakePolicy(named)


def pod_lives(view: SessionView, now: datetime) -> Iterator[Action]:
    """Its pod is neither lost, nor about to be, nor beyond hope."""
    if (pod := view.pod) is None:
        return
    state = pods.state(pod)
    if state.phase is PodPhase.LOST or pod.deleting:
        cause = state.lost or Reason.SANDBOX_TERMINATING
        problem = state.problem or "it is being deleted"
        yield _replace(view, SessionReason.SANDBOX_LOST, f"pod {pod.name} was lost: {cause}: {problem}", now)
    elif state.stuck:
        yield _replace(view, SessionReason.POD_STUCK, f"pod {pod.name} can never run: {state.problem}", now)
    elif _is_broken(view, now):
        problem = view.known.troubles[Greet].message
        yield _replace(view, SessionReason.SANDBOX_LOST, f"pod {pod.name} cannot be used: {problem}", now)


def pod_runs(view: SessionView, now: datetime) -> Iterator[Action]:
    """Its sandbox runs; what holds it up is shown."""
    if view.pod and (state := pods.state(view.pod)).phase is PodPhase.PENDING:
        yield view.until_shown(sessionstatus.being_made(view.session, state, now))


def sandbox_is_ready(view: SessionView, now: datetime) -> Iterator[Action]:
    """Its supervisor said hello, and sees that the network is closed."""
    if (pod := view.pod) is None:
        return
    heard = view.known.greeted.get(pod.uid)
    if heard is None:
        yield Greet(pod.uid)
        return
    status = sessionstatus.greeted(view.session, pod, heard.greeting, now)
    if status != view.status:
        yield Show(status)
    elif heard.greeting.network == "Open":
        again = heard.at + NETWORK_PAUSE
        yield Leave(pod.uid) if now >= again else Rest(again)
        yield from chores.policy_is_kept(view, now)  # it may be open because the policy is gone


def _replace(view: SessionView, reason: SessionReason, message: str, now: datetime) -> Replace:
    status = sessionstatus.lost(view.session, reason, message, now)
    return Replace(status.model_copy(update={"restarts": view.restarts + 1}), sessionlife.streak_after(view, now))


def _is_broken(view: SessionView, now: datetime) -> bool:
    """Whether a supervisor has long not been one of ours, and no call waits for what it may still know."""
    trouble = view.known.troubles.get(Greet)
    lasts = trouble is not None and trouble.kind is Kind.UNREACHABLE and now >= trouble.since + BROKEN_PATIENCE
    return lasts and not view.activity.in_flight
