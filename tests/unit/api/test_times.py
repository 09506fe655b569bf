"""Points in time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.api import times

NOON = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
MOMENTS = st.integers(0, 220_000_000_000_000_000).map(
    lambda microseconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
)


@pytest.mark.parametrize(
    ("text", "moment"),
    (
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31t12:00:00z", NOON),
        ("2026-01-31T13:00:00+01:00", NOON),
        ("2026-01-31T12:00:00.25Z", NOON + timedelta(milliseconds=250)),
        ("2026-01-31T12:00:00.123456789Z", NOON + timedelta(microseconds=123456)),
    ),
)
def test_rfc_3339_is_read_as_utc(text: str, moment: datetime) -> None:
    assert times.parse(text) == moment
    assert times.parse(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text", ("2026-01-31", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z", "noon", "20260131T120000Z")
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the standard library words some of the refusals)
        times.parse(text)


def test_a_time_is_written_in_whole_seconds_and_a_micro_time_in_microseconds() -> None:
    moment = NOON.astimezone(timezone(timedelta(hours=2))) + timedelta(microseconds=999_999)

    assert times.render(moment) == "2026-01-31T12:00:00Z"
    assert times.render_micro(moment) == "2026-01-31T12:00:00.999999Z"


@given(MOMENTS, MOMENTS)
def test_cutting_to_seconds_keeps_the_order(one: datetime, other: datetime) -> None:
    assert (times.render(min(one, other)) <= times.render(max(one, other))) is True


@given(MOMENTS)
def test_a_micro_time_reads_as_the_same_moment(moment: datetime) -> None:
    assert times.parse(times.render_micro(moment)) == moment
