"""Durations in Go's syntax, down to one millisecond."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.api import durations

LENGTHS = st.integers(min_value=0, max_value=durations.LONGEST // timedelta(milliseconds=1)).map(
    lambda milliseconds: timedelta(milliseconds=milliseconds)
)
PARTS = st.tuples(st.integers(0, 10**5), st.sampled_from(["ms", "s", "m", "h"]))


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    (
        ("60s", 60_000),
        ("1h30m", 5_400_000),
        ("1.5s", 1_500),
        ("0.001s", 1),
        ("90m90s", 5_490_000),
        ("0s", 0),
        ("250ms", 250),
        ("1.0ms1.500000s", 1_501),
        ("0.0001m0.00001h", 42),
        ("2562047h", 2_562_047 * 3_600_000),
    ),
)
def test_a_duration_is_the_sum_of_its_parts(text: str, milliseconds: int) -> None:
    assert durations.parse(text) == timedelta(milliseconds=milliseconds)


@pytest.mark.parametrize(
    "text",
    ("", "10", "10 minutes", "-1s", "+1s", "1d", "s", ".5s", "1.s", "1s ", "1s\n", "1µs", "1us", "1S", "१s", "1e3s"),
)
def test_another_grammar_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a duration: numbers with a unit"):
        durations.parse(text)


@pytest.mark.parametrize("text", ("1.0005s", "0.5ms", "0.5ms0.5ms", "0.00005m", "1h0.000001h"))
def test_a_part_finer_than_a_millisecond_is_refused_not_rounded(text: str) -> None:
    with pytest.raises(ValueError, match="no finer than 1ms"):
        durations.parse(text)


@pytest.mark.parametrize("text", ("9" * 60 + "h", "2562048h", "2562047h48m"))
def test_more_than_go_can_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="at most 2562047h"):
        durations.parse(text)


def test_a_text_without_end_is_refused_before_it_is_read() -> None:
    with pytest.raises(ValueError, match="at most 64 characters"):
        durations.parse("1" * 1_000_000 + "s")


@given(LENGTHS)
def test_what_is_rendered_reads_as_the_same_length(length: timedelta) -> None:
    assert durations.parse(durations.render(length)) == length


@given(st.lists(PARTS, min_size=1, max_size=4))
def test_any_order_and_repetition_of_units_adds_up(parts: list[tuple[int, str]]) -> None:
    text = "".join(f"{count}{unit}" for count, unit in parts)

    assert durations.parse(text) == sum((durations.parse(f"{count}{unit}") for count, unit in parts), timedelta())


@given(st.text(max_size=80))
def test_any_text_is_a_duration_or_an_explained_refusal(text: str) -> None:
    try:
        length = durations.parse(text)
    except ValueError as error:
        assert str(error).startswith("must be a duration")  # noqa: PT017 (both ways are right, each with a promise)
    else:
        assert timedelta() <= length <= durations.LONGEST


@pytest.mark.parametrize(
    ("milliseconds", "text"), ((0, "0s"), (60_000, "1m"), (90_000, "1m30s"), (1_500, "1s500ms"), (5_400_000, "1h30m"))
)
def test_the_shortest_parts_are_written(milliseconds: int, text: str) -> None:
    assert durations.render(timedelta(milliseconds=milliseconds)) == text


@pytest.mark.parametrize("length", (timedelta(microseconds=1), timedelta(seconds=-1), timedelta.max))
def test_what_no_manifest_can_say_is_not_rendered(length: timedelta) -> None:
    with pytest.raises(ValueError, match="whole number of milliseconds"):
        durations.render(length)
