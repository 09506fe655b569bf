"""Secrets from the environment are named by their variables, never written as words of the command line."""

from __future__ import annotations

import pytest

from toolcall_operator.cli.given import given
from toolcall_operator.cli.refusal import Refusal

VALUE = "ghp_ThisIsNoToken1234567890"


def test_a_word_names_secret_key_and_variable() -> None:
    found = given(["github/token=GH", "my.other-one/a_b.c=GH"], {"GH": VALUE})

    assert found == {("github", "token"): VALUE, ("my.other-one", "a_b.c"): VALUE}


@pytest.mark.parametrize("word", ("github", "github/token", f"github/token={VALUE}-", "=GH", "GITHUB/token=GH", "a/b="))
def test_a_word_of_another_form_is_refused_and_not_shown(word: str) -> None:
    with pytest.raises(Refusal) as refused:
        given(["github/token=GH", word], {"GH": VALUE})

    assert str(refused.value).startswith("--secret, number 2")
    assert VALUE not in str(refused.value)


@pytest.mark.parametrize("environ", ({}, {"GH": ""}), ids=("absent", "empty"))
def test_a_variable_that_is_not_set_is_refused_and_not_named(environ: dict[str, str]) -> None:
    """Its name may be the secret itself, in the wrong place."""
    with pytest.raises(Refusal, match="github/token=…: what is named there is no variable that is set") as refused:
        given(["github/token=GH"], environ)

    assert "=GH" not in str(refused.value)


def test_one_key_is_given_once() -> None:
    with pytest.raises(Refusal, match="github/token: is given twice"):
        given(["github/token=GH", "github/token=OTHER"], {"GH": VALUE, "OTHER": VALUE})
