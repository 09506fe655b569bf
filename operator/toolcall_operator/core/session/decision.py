"""What to do next for a session: a list of steps, in the order in which a sandbox comes to be, and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from toolcall_operator.core.session import binding, chores, ending, life, sandbox, status
from toolcall_operator.core.session.actions import Action, Deed, Errand, Rest, Show
from toolcall_operator.core.session.view import SessionView

CACHE_LAG = timedelta(seconds=5)
"""So long may the caches take to show what was done; only then is it done again."""


def decide(view: SessionView, now: datetime) -> Action:
    """The most urgent thing that can be done now; if there is none, a rest until there may be one."""
    alarms = []
    for wish in wishes(view, now):
        at = wish.until if isinstance(wish, Rest) else _not_before(wish, view, now)
        if at is not None and at > now:
            alarms.append(at)
        elif at is not None and not isinstance(wish, Rest):
            return wish
    return Rest(min(alarms, default=None))


def wishes(view: SessionView, now: datetime) -> Iterator[Action]:
    """What there is to do, whether or not it was tried already: the most urgent first, then only what can be besides.

    The first step that wants anything has the last word; only a session that wants nothing has its chores done.
    """
    for step in STEPS:
        if found := tuple(step(view, now)):
            yield from _told(found, view, now)
            break
    else:
        for chore in CHORES:
            yield from chore(view, now)
    if view.session.metadata.deletion_timestamp is None and (expiry := life.expiry(view)):
        yield Rest(expiry.at)


def _not_before(wish: Action, view: SessionView, now: datetime) -> datetime | None:
    """When a wish may be carried out; None while it is being carried out."""
    if isinstance(wish, Errand) and wish == view.errand:
        return None
    times = [now]
    if isinstance(wish, Deed) and (done := view.known.done.get(wish)):
        times.append(done + CACHE_LAG)
    if trouble := view.known.troubles.get(type(wish)):
        times.append(trouble.retry_at)
    return max(times)


def _told(found: tuple[Action, ...], view: SessionView, now: datetime) -> Iterator[Action]:
    """The wishes, and before them the trouble there is with the first of them, if it is not shown yet."""
    trouble = view.known.troubles.get(type(found[0]))
    if trouble and trouble.is_worth_telling(now) and not isinstance(found[0], Show):
        shown = status.troubled(view.session, trouble, now)
        if shown != view.status:
            yield Show(shown)
    yield from found


STEPS: tuple[Callable[[SessionView, datetime], Iterator[Action]], ...] = (
    ending.is_wanted,  # or everything made for it is cleared away, and nothing else done
    ending.is_not_over,  # or it is deleted
    binding.is_read,  # or nobody knows what it asks for
    binding.is_held,  # before anything is made that would have to be cleared away
    binding.is_carried_out,
    binding.class_is_there,
    binding.agent_is_there,
    binding.class_is_valid,
    binding.toolspecs_are_of_its_class,
    binding.namespace_is_allowed,
    binding.mounts_have_a_place,
    binding.class_is_frozen,  # from here on the class itself does not matter any more
    sandbox.pod_is_there,
    sandbox.pod_lives,
    sandbox.pod_runs,
    sandbox.sandbox_is_ready,
)
"""Each yields what has to be done before the next one is looked at."""

CHORES: tuple[Callable[[SessionView, datetime], Iterator[Action]], ...] = (
    chores.calls_are_recorded,
    chores.busy_pod_is_protected,
    chores.nobody_is_forgotten,
    chores.the_lost_are_cleared_away,
    chores.policy_is_kept,
)
"""Each yields what it wants; none waits for another."""
