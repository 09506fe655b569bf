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


@pytest.mark.parametrize("type_", ("string", "path", "url", "enum"))
def test_values_are_all_there_are_whatever_the_type_of_the_text(type_: str) -> None:
    reader = readers.of(Argument.model_validate({"type": type_, "values": ["open", "closed"]}))

    assert [reader.read(text) for text in ("open", "closed", "ope", "Open", "open ", "")] == [
        "open",
        "closed",
        *[None] * 4,
    ]
    assert (reader.expected, reader.closed) == ('one of "open", "closed"', True)


def test_of_a_list_each_value_is_one_of_the_values() -> None:
    parted = readers.of(Argument(type="stringList", split_on=",", values=("a", "b")))
    whole = readers.of(Argument(type="stringList", values=("a", "b")))

    assert [parted.read(text) for text in ("a", "b,a", "a,c", "a,", "")] == [("a",), ("b", "a"), None, None, None]
    assert [whole.read(text) for text in ("a", "a,b")] == [("a",), None]


def test_values_take_no_check_of_the_type_away() -> None:
    assert readers.of(Argument(type="url", values=("-", "a"))).read("-") is None
    number = readers.of(Argument(type="int", values=("1", "01", "7"), maximum=5))
    assert [number.read(text) for text in ("1", "01", "2", "7")] == [1, None, None, None]


@pytest.mark.parametrize("type_", ("string", "path", "url"))
def test_a_single_value_is_not_one_that_its_program_would_split(type_: str) -> None:
    reader = readers.of(Argument.model_validate({"type": type_, "splitOn": ","}))

    assert [reader.read(text) for text in ("/a", "/a,/b", ",", "/a,", '"/a"', "/a\\,b")] == ["/a", *[None] * 5]
    assert reader.expected.endswith(", not a list of several")


def test_a_single_value_that_its_program_would_not_split_is_read_by_its_type() -> None:
    assert readers.of(Argument(type="int", split_on=",")).read("5") == 5
    assert readers.of(Argument(type="bool", split_on=",")).read("true") is True
    assert readers.of(Argument(type="enum", split_on=",", values=("a", "b,c"))).read("a") == "a"
    assert readers.of(Argument(type="enum", split_on=",", values=("a", "b,c"))).read("b,c") is None
    assert readers.of(Argument(type="string", split_on=",")).read("") == ""


@pytest.mark.parametrize(
    "text",
    (
        *("https://example.com/x?a=1#b", "example.com/x", "example.com:8080", "git@example.com:team/x.git"),
        *(
            "ssh://git@example.com:22/x",
            "file:///workspace/x",
            "../x.git",
            "origin",
            "http://[::1]/",
            "https://bücher.example/",
        ),
    ),
)
def test_what_a_program_can_take_for_a_url_is_one(text: str) -> None:
    assert readers.of(Argument(type="url")).read(text) == text


@pytest.mark.parametrize(
    "text",
    (
        *("", "-", " ", "a b", " https://a/", "https://a/ ", "https://a/\n", "https://a/\tb", "https://a/\r\nHost: b"),
        *("https://a/\x7f", "https://a/\x1b[0m", "https://a/\x85", "https://a/\u00a0", "https://a/\u2028b", "\x01"),
    ),
)
def test_what_is_empty_or_holds_white_space_or_control_characters_is_no_url(text: str) -> None:
    assert readers.of(Argument(type="url")).read(text) is None


@pytest.mark.parametrize(("type_", "text", "value"), (("string", "-", "-"), ("path", "-", "-"), ("url", "-", None)))
def test_a_lone_dash_is_a_text_and_a_path_but_no_url(type_: str, text: str, value: str | None) -> None:
    assert readers.of(Argument.model_validate({"type": type_})).read(text) == value
