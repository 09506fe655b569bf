"""Foreign text made fit to be shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core import plaintext


def test_a_message_is_one_printable_line() -> None:
    assert plaintext.message(" a\nb\x1b[31m\u202ec\x85 ") == "a b [31m c"


@given(st.text(max_size=3000))
def test_a_message_has_at_most_1024_characters(text: str) -> None:
    message = plaintext.message(text)

    assert len(message) <= 1024
    assert message.isprintable()


def test_a_message_that_was_cut_says_so() -> None:
    assert plaintext.message("x" * 1024) == "x" * 1024
    assert plaintext.message("x" * 1025) == "x" * 1023 + "…"


@pytest.mark.parametrize(
    ("output", "text"),
    (
        pytest.param(b"hello\tworld\n", "hello\tworld\n", id="tabs and newlines stay"),
        pytest.param(b"\x1b[2Jx\r\x00\x7f", "[2Jx", id="C0 and DEL go"),
        pytest.param("a\u0085\u009bb".encode(), "ab", id="C1 goes"),
        pytest.param("a\u202e\u2066\u200f\u061cb".encode(), "ab", id="bidi controls go"),
        pytest.param("naïve ☃ 𝄞".encode(), "naïve ☃ 𝄞", id="other characters stay"),
        pytest.param(b"a\xff\xfeb", "a\ufffd\ufffdb", id="invalid bytes are replaced"),
        pytest.param(b"a\xe2\x98", "a\ufffd", id="an output that ends inside a character shows it"),
    ),
)
def test_an_output_is_shown_without_what_could_deceive(output: bytes, text: str) -> None:
    assert plaintext.head(output, len(output)) == (text, False)


def test_a_character_that_a_cut_went_through_is_left_out() -> None:
    assert plaintext.head(b"a\xe2\x98", 10) == ("a", True)
    assert plaintext.head(("x" * 32_767 + "é").encode(), 32_769) == ("x" * 32_767, True)


def test_what_fits_exactly_is_not_cut() -> None:
    assert plaintext.head(b"x" * 32_768, 32_768) == ("x" * 32_768, False)
    assert plaintext.head(b"x" * 32_768, 32_769) == ("x" * 32_768, True)


@given(st.binary(max_size=200), st.integers(0, 3), st.sampled_from([1, 300]))
def test_any_output_becomes_valid_text_of_at_most_32_kib(output: bytes, more: int, times: int) -> None:
    whole = output * times

    text, cut = plaintext.head(whole, len(whole) + more)

    assert len(text.encode()) <= 32 * 1024
    assert cut or more == 0
    assert all(unicodedata.category(char) != "Cc" or char in "\n\t" for char in text)


def test_replaced_bytes_do_not_make_the_text_longer_than_it_may_be() -> None:
    text, cut = plaintext.head(b"\xff" * 32_768, 32_768)

    assert cut
    assert text == "\ufffd" * (32_768 // 3)
