"""When what did not work is tried again, and when it is told."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.core.examples import NOW
from toolcall_operator.core.session import trouble as sessiontrouble
from toolcall_operator.core.session.trouble import Kind, Trouble


def repeated(kind: Kind, times: int) -> Trouble:
    """The same trouble so often, each time as soon as it may be tried again."""
    trouble = sessiontrouble.again(None, kind, "x", NOW)
    for _ in range(times - 1):
        trouble = sessiontrouble.again(trouble, kind, "x", trouble.retry_at)
    return trouble


@pytest.mark.parametrize(
    ("kind", "pauses"),
    (
        (Kind.LACKING, [3, 3, 3]),
        (Kind.RETRYING, [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30]),
        (Kind.REJECTED, [5, 10, 20, 40, 60, 60]),
        (Kind.UNREACHABLE, [1, 2, 4, 8, 16, 30, 30]),
    ),
)
def test_pauses_double_up_to_a_longest(kind: Kind, pauses: list[float]) -> None:
    found = [repeated(kind, times) for times in range(1, len(pauses) + 1)]

    assert [(each.retry_at - each.last).total_seconds() for each in found] == pauses


def test_a_trouble_that_goes_on_for_ever_has_a_next_attempt() -> None:
    trouble = Trouble(Kind.RETRYING, "x", NOW, NOW, count=10**6)

    assert trouble.retry_at == NOW + timedelta(seconds=30)


def test_what_people_have_to_mend_is_told_at_once_and_the_rest_when_it_lasts() -> None:
    lacking, rejected, away = (
        sessiontrouble.again(None, kind, "x", NOW) for kind in (Kind.LACKING, Kind.REJECTED, Kind.RETRYING)
    )

    assert lacking.is_worth_telling(NOW)
    assert rejected.is_worth_telling(NOW)
    assert not away.is_worth_telling(NOW + timedelta(seconds=9))
    assert away.is_worth_telling(NOW + timedelta(seconds=10))


def test_trouble_of_another_kind_or_long_after_is_a_new_one() -> None:
    old = repeated(Kind.RETRYING, 5)

    assert sessiontrouble.again(old, Kind.REJECTED, "y", NOW).count == 1
    assert sessiontrouble.again(old, Kind.RETRYING, "y", old.last + timedelta(minutes=6)).count == 1
    assert sessiontrouble.again(old, Kind.RETRYING, "y", old.last + timedelta(minutes=4)).count == 6
