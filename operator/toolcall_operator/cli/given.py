"""Secrets that whoever starts a run gives it: values of environment variables, never words of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from toolcall_operator.cli.refusal import Refusal
from toolcall_operator.local.secrets import Given

_FORM = re.compile(r"(?P<name>[a-z0-9][-.a-z0-9]*)/(?P<key>[-._a-zA-Z0-9]+)=(?P<variable>[A-Za-z_][A-Za-z0-9_]*)")


def given(words: Iterable[str], environ: Mapping[str, str]) -> Given:
    """The values that words such as `github/token=GITHUB_TOKEN` stand for.

    Raises:
        Refusal: a word is of another form, which is not shown since it may be a secret, or its variable is not set.
    """
    found: dict[tuple[str, str], str] = {}
    for index, word in enumerate(words, start=1):
        match = _FORM.fullmatch(word)
        if match is None:
            raise Refusal(f"--secret, number {index}: must be NAME/KEY=VARIABLE, such as github/token=GITHUB_TOKEN")
        variable = match["variable"]
        if (match["name"], match["key"]) in found:
            raise Refusal(f"--secret {match['name']}/{match['key']}: is given twice")
        if not environ.get(variable):
            # Its name may be the secret itself, in the wrong place.
            raise Refusal(f"--secret {match['name']}/{match['key']}=…: what is named there is no variable that is set")
        found[match["name"], match["key"]] = environ[variable]
    return found
