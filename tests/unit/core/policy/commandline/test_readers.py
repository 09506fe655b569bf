"""Texts and the values they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.api.commandline import Argument
from toolcall_operator.core.policy.commandline import readers

INT = readers.of(Argument(type="int"))


@pytest.mark.parametrize("text", ("0", "5", "-5", "10", str(2**63 - 1), str(-(2**63))))
def test_a_whole_number_is_read(text: str) -> None:
    assert INT.read(text) == int(text)


@pytest.mark.parametrize(
    "text",
    (
        pytest.param("", id="nothing"),
        pytest.param("+5", id="a plus"),
        pytest.param("010", id="ten or eight"),
        pytest.param("-0", id="zero with a sign"),
        pytest.param("--5", id="two signs"),
        pytest.param("0x10", id="hexadecimal"),
        pytest.param("1_000", id="digits in groups"),
        pytest.param("1e3", id="an exponent"),
        pytest.param("5.0", id="a fraction"),
        pytest.param(" 5", id="a blank"),
        pytest.param("5\n", id="a line break"),
        pytest.param("\u0665", id="digits of another script"),
        pytest.param(str(2**63), id="one more than 64 bits hold"),
        pytest.param(str(-(2**63) - 1), id="one less than 64 bits hold"),
        pytest.param("9" * 100_000, id="very many digits"),
    ),
)
def test_what_programs_read_differently_is_no_whole_number(text: str) -> None:
    assert INT.read(text) is None


@given(st.integers(-(2**64), 2**64), st.none() | st.integers(-9, 9), st.none() | st.integers(-9, 9))
def test_a_number_is_read_exactly_within_its_bounds(number: int, least: int | None, most: int | None) -> None:
    reader = readers.of(Argument(type="int", minimum=least, maximum=most))

    within = max(-(2**63), -(2**63) if least is None else least) <= number <= (2**63 - 1 if most is None else most)

    assert reader.read(str(number)) == (number if within else None)


def test_the_bounds_are_told() -> None:
    assert INT.expected == "a whole number"
    assert readers.of(Argument(type="int", minimum=1)).expected == "a whole number of at least 1"
    assert readers.of(Argument(type="int", maximum=9)).expected == "a whole number of at most 9"


@given(st.lists(st.text(st.characters(exclude_characters='"\\\r\n,')), min_size=1))
def test_a_list_is_what_its_separator_separates(values: list[str]) -> None:
    assert readers.of(Argument(type="stringList", split_on=",")).read(",".join(values)) == tuple(values)


@pytest.mark.parametrize("text", ('"a,b"', 'a"', "a\\,b", "a\nb", "a\rb"))
def test_a_list_with_quotes_or_escapes_is_none(text: str) -> None:
    assert readers.of(Argument(type="stringList", split_on=",")).read(text) is None
    assert readers.of(Argument(type="stringList")).read(text) == (text,)


@pytest.mark.parametrize("separator", ("\n", '"', "\\", '"\\\r\n'))
def test_a_separator_may_be_what_else_is_special(separator: str) -> None:
    assert readers.of(Argument(type="stringList", split_on=separator)).read(f"a{separator}b") == ("a", "b")


def test_at_most_eight_of_many_values_are_told() -> None:
    reader = readers.of(Argument(type="enum", values=tuple("abcdefghij")))

    assert reader.expected == 'one of "a", "b", "c", "d", "e", "f", "g", "h" and 2 more'
    assert reader.read("j") == "j"
    assert reader.read("k") is None


@pytest.mark.parametrize(("type_", "text", "value"), (("string", "-", "-"), ("path", "-", "-"), ("url", "-", None)))
def test_a_lone_dash_is_a_text_and_a_path_but_no_url(type_: str, text: str, value: str | None) -> None:
    assert readers.of(Argument.model_validate({"type": type_})).read(text) == value
