"""Conditions: one of a type, with the time of the last change."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.core.examples import NOW
from toolcall_operator.core import conditions
from toolcall_operator.core.conditions import ConditionType, Look

EARLIER = Look(1, NOW - timedelta(minutes=5))
LATER = Look(2, NOW)


def test_a_new_type_is_put_last() -> None:
    first = EARLIER.condition(ConditionType.VALIDATED, "Valid", "fine", holds=True)
    second = EARLIER.condition(ConditionType.RUNNING, "Started", "runs", holds=True)

    assert conditions.set_condition((first,), second) == (first, second)


def test_a_known_type_is_replaced_where_it_stands() -> None:
    old = EARLIER.condition(ConditionType.RUNNING, "Started", "runs", holds=True)
    other = EARLIER.condition(ConditionType.VALIDATED, "Valid", "fine", holds=True)
    new = LATER.condition(ConditionType.RUNNING, "ProcessExited", "ended", holds=False)

    assert conditions.set_condition((old, other), new) == (new, other)


def test_the_transition_time_stays_while_the_status_does() -> None:
    old = EARLIER.condition(ConditionType.RECONCILE_RETRYING, "ReconcileError", "one", holds=True)
    new = LATER.condition(ConditionType.RECONCILE_RETRYING, "ReconcileError", "two", holds=True)

    (found,) = conditions.set_condition((old,), new)

    assert found.last_transition_time == EARLIER.at
    assert (found.message, found.observed_generation) == ("two", 2)


def test_a_condition_is_found_by_its_type() -> None:
    held = EARLIER.condition(ConditionType.VALIDATED, "Valid", "fine", holds=True)
    not_held = EARLIER.condition(ConditionType.RUNNING, "Queued", "waits", holds=False)

    assert conditions.find((held, not_held), ConditionType.RUNNING) is not_held
    assert conditions.find((held,), ConditionType.RUNNING) is None
    assert conditions.is_true((held, not_held), ConditionType.VALIDATED)
    assert not conditions.is_true((held, not_held), ConditionType.RUNNING)
    assert not conditions.is_true((), ConditionType.RUNNING)
    assert conditions.without((held, not_held), [ConditionType.VALIDATED]) == (not_held,)


def test_a_message_is_made_fit_to_be_shown() -> None:
    condition = LATER.condition(ConditionType.RUNNING, "Started", "a\nb" + "x" * 5000, holds=True)

    assert condition.message.startswith("a bx")
    assert len(condition.message) == 1024
