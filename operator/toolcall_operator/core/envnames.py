"""Which names an environment variable may have, and which of them suggest that a secret is inside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}", re.ASCII)

# SHOUTED runs, Capitalised words and plain words; digits and punctuation only separate them.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", re.ASCII)

_TELLING = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "credential",
    "apikey",
    "privatekey",
    "accesskey",
    "authkey",
    "clientsecret",
    "oauth",
    "bearer",
)
_TELLING_WORDS = frozenset({"token", "pin", "pwd", "jwt", "cookie"})
_TELLING_LAST_WORDS = frozenset({"pass", "auth"})
_SETTINGS = {
    "token": frozenset({"limit", "count", "budget", "type", "url", "uri", "endpoint", "ttl", "name"}),
    "cookie": frozenset({"domain", "path", "name", "policy"}),
}
_TELLING_ENDS = ("token", "pass", "pwd")
_HARMLESS_ENDS = ("compass", "bypass")


def is_env_name(name: str) -> bool:
    """Whether a process can be given a variable of this name: letters, digits and `_`, no digit first, 256 at most."""
    return _NAME.fullmatch(name) is not None


def secret_like(name: str) -> bool:
    """Whether a variable of this name probably holds a secret, which must come from `credentials` instead.

    A rule of thumb against accidents: it reads whole words, so MAX_TOKENS and SHIPPING_ZONE pass; a class lists its
    exceptions.
    """
    letters = name.lower().replace("_", "").replace("-", "")
    if any(telling in letters for telling in _TELLING):
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    return any(_telling_words(words)) or _ends_telling(words)


def _telling_words(words: list[str]) -> Iterator[bool]:
    """For each word, whether it names a secret where it stands (`token`, but not the `token` of `token limit`)."""
    for word, following in pairwise([*words, ""]):
        yield word in _TELLING_WORDS and following not in _SETTINGS.get(word, ())


def _ends_telling(words: list[str]) -> bool:
    """Whether the last word is, or ends in, one that names a secret: DB_PASS, GITHUBTOKEN, but not COMPASS."""
    last = words[-1] if words else ""
    return last in _TELLING_LAST_WORDS or (last.endswith(_TELLING_ENDS) and not last.endswith(_HARMLESS_ENDS))
