"""Values that must not be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core.policy.commandline import quoting
from toolcall_operator.core.policy.deciding import redaction
from toolcall_operator.core.policy.deciding.redaction import LONGEST, Redactor


def knowing(*values: object) -> Redactor:
    """A redactor that knows these values."""
    redactor = Redactor()
    for value in values:
        redactor.register(value)
    return redactor


@pytest.mark.parametrize(
    ("values", "text", "shown"),
    (
        pytest.param(("hunter2",), "with hunter2 in it", 'with <redacted id="1"/> in it', id="one"),
        pytest.param(("aaaa", "bbbb"), "bbbb aaaa", '<redacted id="2"/> <redacted id="1"/>', id="each by its number"),
        pytest.param(("pass", "password"), "password", '<redacted id="2"/>', id="the longer one"),
        pytest.param(("abcd", "cdef"), "xabcdefx", 'x<redacted id="1"/>x', id="two that overlap"),
        pytest.param(("abab",), "ababab", '<redacted id="1"/>ab', id="one that overlaps itself"),
        pytest.param((("aaaa", "bbbb"),), "aaaabbbb", '<redacted id="1"/><redacted id="2"/>', id="list"),
        pytest.param((12345,), "12345", '<redacted id="1"/>', id="number"),
        pytest.param(("1", "redacted"), "1", '<redacted id="1"/>', id="nothing is replaced twice"),
        pytest.param(("", True, None, ()), "True", "True", id="nothing to hide"),
        pytest.param((), "text", "text", id="knowing nothing"),
    ),
)
def test_a_value_is_replaced_wherever_it_stands(values: tuple[object, ...], text: str, shown: str) -> None:
    assert knowing(*values).shown(text) == shown


def test_a_value_is_known_as_it_stands_in_quotes() -> None:
    long, special = "x" * 100, 'a"b\nc'

    assert knowing(long).shown(quoting.quoted(long)) == '"<redacted id="1"/>"'
    assert knowing(special).shown(quoting.quoted(special)) == '"<redacted id="1"/>"'


def test_a_value_is_hidden_before_a_quotation_is_cut() -> None:
    text = "p" * 60 + "hunter2"

    assert redaction.quoted(text, knowing("hunter2").shown).startswith("p" * 60 + "<re")
    assert redaction.quoted("plain", knowing("hunter2").shown) == '"plain"'


def test_a_fit_text_is_one_printable_line_of_bounded_length() -> None:
    assert knowing("b\nb").fit("a\x1b[31m\n\u202eb\nb") == 'a [31m  <redacted id="1"/>'
    assert len(knowing().fit("x" * 1000)) == LONGEST


@given(st.lists(st.text(min_size=4), max_size=4), st.lists(st.text(), max_size=6))
def test_no_value_is_left_in_a_text(values: list[str], around: list[str]) -> None:
    told = [value for value in values if value not in '<redacted id="0123456789"/>']
    text = "".join(each for pair in zip(told * 3, around, strict=False) for each in pair)

    parts = knowing(*told).shown(text).split("<redacted")

    assert not [value for value in told for part in parts if value in part]
