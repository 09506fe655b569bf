"""Arguments in quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core.policy.commandline.quoting import quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    (
        pytest.param("", '""', id="nothing"),
        pytest.param("naïve ☃", '"naïve ☃"', id="what can be seen"),
        pytest.param('a"b\\', '"a\\"b\\\\"', id="quotes and backslashes"),
        pytest.param("a\tb\nc", '"a\\tb\\nc"', id="tabs and line breaks"),
        pytest.param("\x1b\u202e\u2028\udcff\0", '"\\u{1b}\\u{202e}\\u{2028}\\u{dcff}\\u{0}"', id="what deceives"),
        pytest.param("x" * 64, f'"{"x" * 64}"', id="as long as it may be"),
        pytest.param("x" * 65, f'"{"x" * 64}…"', id="longer"),
    ),
)
def test_an_argument_is_shown_so_that_it_cannot_deceive(text: str, shown: str) -> None:
    assert quoted(text) == shown


@given(st.text(st.characters(), max_size=100))
def test_what_is_shown_is_one_printable_line_of_bounded_length(text: str) -> None:
    shown = quoted(text, 50)

    assert shown.isprintable()
    assert len(shown) <= 50 * len("\\u{10ffff}") + len('""…')


@given(st.text(max_size=30), st.text(max_size=30))
def test_two_arguments_never_look_alike(one: str, other: str) -> None:
    assert (quoted(one) == quoted(other)) == (one == other)
