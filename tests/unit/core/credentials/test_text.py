"""Which bytes of a Secret are a text that a process or a header can be given."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core.credentials import text
from toolcall_operator.core.credentials.values import Hidden

CONTROL = "has control characters: it must be one line"


def refused(raw: bytes) -> str:
    """Why it is no text, in words that do not tell it."""
    found = text.text(raw)
    assert isinstance(found, str), found
    assert "hunter2" not in found
    return found


@pytest.mark.parametrize(
    ("raw", "value"),
    (
        pytest.param(b"hunter2", "hunter2", id="a line is taken as it is"),
        pytest.param(b"hunter2\n", "hunter2", id="a line feed at the end is dropped"),
        pytest.param(b"hunter2\r\n", "hunter2", id="a carriage return and line feed at the end are dropped"),
        pytest.param(b"  hunter2 ", "  hunter2 ", id="blanks at both ends are part of it"),
        pytest.param(b" ", " ", id="a blank is a value"),
        pytest.param("hünter2-✓\n".encode(), "hünter2-✓", id="letters beyond ASCII are taken"),
        pytest.param("a\u00a0b".encode(), "a\u00a0b", id="what follows the C1 controls is taken"),
        pytest.param(b"a/b+c=%41", "a/b+c=%41", id="nothing is decoded"),
    ),
)
def test_a_line_of_text_is_a_value(raw: bytes, value: str) -> None:
    assert text.text(raw) == Hidden(value)


@pytest.mark.parametrize(
    ("raw", "words"),
    (
        pytest.param(b"", "is empty", id="nothing"),
        pytest.param(b"\n", "is empty", id="a line feed alone"),
        pytest.param(b"\r\n", "is empty", id="a carriage return and line feed alone"),
        pytest.param(b"hunter2\n\n", CONTROL, id="two line feeds at the end"),
        pytest.param(b"hunter2\r\n\r\n", CONTROL, id="two ends of a line at the end"),
        pytest.param(b"hunter2\r", CONTROL, id="a carriage return at the end"),
        pytest.param(b"hunter2\r\r\n", CONTROL, id="one carriage return too many"),
        pytest.param(b"hunter2\nhunter2", CONTROL, id="two lines"),
        pytest.param(b"\nhunter2", CONTROL, id="a line feed at the beginning"),
        pytest.param(b"hunter2\0", CONTROL, id="NUL"),
        pytest.param(b"hunter2\thunter2", CONTROL, id="a tabulator"),
        pytest.param(b"\x1bhunter2", CONTROL, id="escape"),
        pytest.param(b"hunter2\x7f", CONTROL, id="DEL"),
        pytest.param("hunter2\u0080".encode(), CONTROL, id="the first of the C1 controls"),
        pytest.param("hunter2\u0085".encode(), CONTROL, id="the next line of C1"),
        pytest.param("hunter2\u009f".encode(), CONTROL, id="the last of the C1 controls"),
        pytest.param(b"hunter2\xff", "is not UTF-8 text", id="a byte that no text has"),
        pytest.param("hunter2-ü".encode("latin-1"), "is not UTF-8 text", id="Latin-1"),
        pytest.param("hunter2".encode("utf-16"), "is not UTF-8 text", id="UTF-16"),
        pytest.param(b"hunter2\xed\xa0\x80", "is not UTF-8 text", id="half a surrogate pair"),
        pytest.param(b"hunter2\xc0\x80", "is not UTF-8 text", id="NUL in two bytes"),
    ),
)
def test_what_is_no_line_of_text_is_refused(raw: bytes, words: str) -> None:
    assert refused(raw) == words


@pytest.mark.parametrize("end", (b"", b"\n", b"\r\n"), ids=("no end of line", "a line feed", "both"))
def test_65536_bytes_are_a_value_and_one_more_is_too_long(end: bytes) -> None:
    assert text.text(b"x" * 65_536 + end) == Hidden("x" * 65_536)
    assert refused(b"x" * 65_537 + end) == "has 65537 bytes, and may have 65536"


def test_bytes_are_counted_and_not_letters() -> None:
    assert text.text(("ü" * 32_768).encode()) == Hidden("ü" * 32_768)
    assert refused(("ü" * 32_768 + "x").encode()) == "has 65537 bytes, and may have 65536"


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1), st.sampled_from(("", "\n", "\r\n")))
def test_every_line_without_control_characters_is_a_value_without_its_end(line: str, end: str) -> None:
    assert text.text((line + end).encode()) == Hidden(line)


@given(st.binary(max_size=40))
def test_whatever_comes_it_is_a_line_or_refused_in_words_that_are_ours(raw: bytes) -> None:
    found = text.text(raw)

    if isinstance(found, Hidden):
        assert found.reveal().encode() in {raw, raw.removesuffix(b"\n"), raw.removesuffix(b"\r\n")}
        assert not any(unicodedata.category(char) == "Cc" for char in found.reveal())
    else:
        assert re.fullmatch("is empty|is not UTF-8 text|has control characters: it must be one line", found)
