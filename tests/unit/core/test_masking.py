"""What is shown of a secret: enough to tell two apart, and not enough to use one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core import masking
from toolcall_operator.core.credentials.values import Hidden


@pytest.mark.parametrize(
    ("secret", "masked"),
    (
        # The secrets of vendors begin with what they are.
        ("ghp_AbCdEfGhIjKlMnOp", "ghp_****MnOp"),
        ("github_pat_11ABCDEF0123456789abcdef", "github_pat_****cdef"),
        ("sk_live_abc123def456", "sk_live_****f456"),
        ("xoxb-1234567890-abcdefghij", "xoxb-****ghij"),
        # Others do not.
        ("AKIAIOSFODNN7EXAMPLE", "****MPLE"),
        ("0123456789abcdef0123456789abcdef", "****cdef"),
        # Short ones show nothing, or no prefix.
        ("short_x", "****"),
        ("", "****"),
        ("abcdefghijk", "****"),
        ("abcdefghijkl", "****ijkl"),
        ("sk_live_abcd", "****abcd"),
        ("ghp_", "****"),
    ),
)
def test_a_secret_shows_what_it_is_and_how_it_ends(secret: str, masked: str) -> None:
    assert masking.mask(secret) == masked


@pytest.mark.parametrize(
    ("secret", "masked"),
    (
        pytest.param("abcde_xxx1234", "****1234", id="seven characters are too few to stand behind a prefix"),
        pytest.param("abcde_xxxx1234", "abcde_****1234", id="eight characters can stand behind a prefix"),
        pytest.param("Abcd_xxxx12345678", "****5678", id="a capital is in no prefix"),
        pytest.param("ab.d_xxxx12345678", "****5678", id="a full stop is in no prefix"),
        pytest.param("a_B_xxxx12345678", "****5678", id="a prefix is not cut to what fits"),
        pytest.param("abcdefghijk_12345678", "abcdefghijk_****5678", id="a prefix may have twelve characters"),
        pytest.param("abcdefghijkl_12345678", "****5678", id="a prefix may not have thirteen"),
        pytest.param("abcd_efghijk_12345678", "abcd_****5678", id="a delimiter behind them does not count"),
        pytest.param("sk-proj_a-xxxxxxxxxx", "sk-proj_a-****xxxx", id="the last delimiter of either kind ends it"),
        pytest.param("------------12345678", "------------****5678", id="delimiters alone are a prefix"),
    ),
)
def test_a_prefix_is_what_ends_with_a_delimiter_among_the_first_twelve_characters(secret: str, masked: str) -> None:
    assert masking.mask(secret) == masked


@pytest.mark.parametrize(
    ("secret", "masked"),
    (
        pytest.param("ghp_AbCdEfGhIjKlMnOp\n", "ghp_****MnOp", id="a line feed at the end counts for nothing"),
        pytest.param("ghp_AbCd\r\nEfGhIjKlMnOp", "ghp_****MnOp", id="nor does one within"),
        pytest.param("abcdefghijk\n\n\n", "****", id="nor does it make one long enough"),
        pytest.param("pass phrase of four words", "****ords", id="a blank is printable"),
        pytest.param("ghp_AbCdEfGhIjKl\tMnOp", "****", id="a tabulator is not"),
        pytest.param("ghp_AbCdEfGhIjKl\0MnOp", "****", id="nor is NUL"),
        pytest.param("ghp_AbCdEfGhIjKl\x7fMnOp", "****", id="nor is DEL"),
        pytest.param("ghp_AbCdEfGhIjKlMnÖp", "****", id="a letter beyond ASCII shows nothing of all"),
        pytest.param("ghp_AbCdEfGhIjKlMn①②", "****", id="nor does a digit"),
    ),
)
def test_only_printable_ascii_is_shown(secret: str, masked: str) -> None:
    assert masking.mask(secret) == masked


def by_the_rule(secret: str) -> str:
    """The rule as it is written for people, one sentence after the other."""
    secret = "".join(char for char in secret if char not in "\r\n")
    if len(secret) < 12 or any(not " " <= char <= "~" for char in secret):
        return "****"
    end = max((place for place in range(12) if secret[place] in "_-"), default=-1) + 1
    fits = all(char in "abcdefghijklmnopqrstuvwxyz0123456789_-" for char in secret[:end])
    prefix = secret[:end] if fits and len(secret) - end >= 8 else ""
    return prefix + "****" + secret[-4:]


@given(st.text("ab_-A.1\n", max_size=30) | st.text(max_size=30))
def test_every_secret_is_shown_by_the_rule(secret: str) -> None:
    assert masking.mask(secret) == by_the_rule(secret)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=12, max_size=60))
def test_at_least_four_characters_behind_the_prefix_stay_hidden(secret: str) -> None:
    shown = masking.mask(secret).replace("****", "", 1)

    assert len(secret) - len(shown) >= 4
    assert len(shown) <= 12 + 4


def test_what_was_injected_is_told_by_name_and_masked() -> None:
    env = {
        "SLACK_TOKEN": Hidden("xoxb-1234567890-abcdefghij"),
        "GH_TOKEN": Hidden("ghp_AbCdEfGhIjKlMnOp"),
        "PIN": Hidden("hunter2"),
    }

    found = masking.injected(env)

    assert [(each.key, each.masked) for each in found] == [
        ("GH_TOKEN", "ghp_****MnOp"),
        ("PIN", "****"),
        ("SLACK_TOKEN", "xoxb-****ghij"),
    ]
    assert "hunter2" not in repr(found)
    assert "AbCdEfGh" not in repr(found)


def test_nothing_injected_is_told_as_nothing() -> None:
    assert masking.injected({}) == ()
