"""What is done for a session besides, once its sandbox is ready."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from toolcall_operator.core.session import status as sessionstatus
from toolcall_operator.core.session.actions import Action, Discard, MakePolicy, Protect, Reclaim, Record, Rest
from toolcall_operator.core.session.view import SessionView

RECORD_PAUSE = timedelta(seconds=5)
"""The least time between two writes about what a session's calls did."""

POLICY_PAUSE = timedelta(seconds=60)
"""How long a session may lack its NetworkPolicy: nobody tells us when somebody takes it away."""


def nobody_is_forgotten(view: SessionView, _now: datetime) -> Iterator[Action]:
    """No call runs in the pod, or is kept there, that nobody will ever ask for."""
    if view.pod and view.pod.uid not in view.known.reclaimed:
        yield Reclaim(view.pod.uid)


def calls_are_recorded(view: SessionView, now: datetime) -> Iterator[Action]:
    """What its calls did is written down, but not at every call."""
    count = view.known.counted + view.activity.started
    status = sessionstatus.used(view.session, count, view.activity.last_at)
    if status != view.status:
        last = view.known.recorded_at
        yield Record(status) if last is None or now >= last + RECORD_PAUSE else Rest(last + RECORD_PAUSE)


def busy_pod_is_protected(view: SessionView, _now: datetime) -> Iterator[Action]:
    """Whoever empties nodes leaves a pod alone in which calls run, and only then."""
    if view.pod:
        busy, told = bool(view.activity.in_flight), view.known.protected.get(view.pod.uid)
        if told is None and not view.status.call_count:
            told = False  # nobody has ever had a reason to protect it
        if busy != told:
            yield Protect(view.pod.uid, busy)


def the_lost_are_cleared_away(view: SessionView, _now: datetime) -> Iterator[Action]:
    """The pods that were replaced are deleted: until another is there, they tell when one may be made."""
    yield from (Discard(pod.uid) for pod in view.earlier if not pod.deleting)


def policy_is_kept(view: SessionView, now: datetime) -> Iterator[Action]:
    """Its NetworkPolicy is made again from time to time, in case it was taken away; one that is there is fine."""
    policy = MakePolicy(view.pod_name)
    made = view.known.done.get(policy)
    yield Rest(made + POLICY_PAUSE) if made and now < made + POLICY_PAUSE else policy
