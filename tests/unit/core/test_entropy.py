"""Texts that look like keys."""

from __future__ import annotations

import base64
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core import entropy

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8xC0fL"
SENTENCE = (
    "When the committee met on Thursday, 14 March 2024, Ms. Quigley (of Foxborough) said: 'We judged 37 jobs, kept 19; "
    "Zoe & Max will verify the rest by week 22.' Nobody objected! "
) * 20
PROGRAM = """
def compute_average_temperature_of_station(measurements):
    values = [measurement["value"] for measurement in measurements if measurement.get("isValid")]
    return sum(values) / len(values) if values else None
"""


def test_a_token_of_mixed_letters_and_digits_looks_like_a_key() -> None:
    assert entropy.high_entropy(TOKEN)
    assert entropy.holds_high_entropy(TOKEN)


@pytest.mark.parametrize(
    "harmless",
    ("", "short", SENTENCE, "/usr/local/lib/python3.11/site-packages", "0123456789abcdefABCDEF" * 8, "a" * 5000),
)
def test_ordinary_values_do_not(harmless: str) -> None:
    assert not entropy.high_entropy(harmless)
    assert not entropy.holds_high_entropy(harmless)


def test_a_key_that_was_wrapped_is_still_one_word() -> None:
    wrapped = "\r\n".join(TOKEN[at : at + 6] for at in range(0, len(TOKEN), 6))

    assert entropy.high_entropy(wrapped)


def test_a_key_is_found_among_words() -> None:
    assert entropy.high_entropy(f"Bearer {TOKEN}")
    assert entropy.holds_high_entropy(f'curl -H "Authorization: Bearer {TOKEN}" https://example.com\n')


def test_code_and_json_do_not_look_like_keys() -> None:
    minified = json.dumps({name: len(name) for name in SENTENCE.split()}, separators=(",", ":"))

    assert not entropy.holds_high_entropy(PROGRAM * 50)
    assert not entropy.holds_high_entropy(minified)


def test_a_key_file_on_standard_input_looks_like_one() -> None:
    key = base64.encodebytes(bytes(n * n * 31 % 251 for n in range(1200))).decode()

    assert entropy.holds_high_entropy(f"-----BEGIN PRIVATE KEY-----\n{key}-----END PRIVATE KEY-----\n")


def test_what_lies_beyond_the_bound_is_not_judged() -> None:
    assert entropy.holds_high_entropy("a " * 30_000 + TOKEN)
    assert not entropy.holds_high_entropy("a " * 33_000 + TOKEN)
    assert not entropy.high_entropy("a " * 2_048 + TOKEN)


@given(st.text(alphabet=string.hexdigits, max_size=400))
def test_hexadecimal_text_never_looks_like_a_key(text: str) -> None:
    assert not entropy.high_entropy(text)


@given(st.text(alphabet=st.characters(exclude_categories=["Z", "C"]), max_size=200))
def test_one_word_is_judged_by_its_length_and_its_entropy_alone(word: str) -> None:
    assert entropy.high_entropy(word) == (len(word) >= 16 and entropy.bits(word) >= 4.5)
