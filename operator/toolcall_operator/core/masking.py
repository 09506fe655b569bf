"""Shows of a secret enough to tell two apart, and not enough to use one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from toolcall_operator.api.toolcallstatus import Injected
from toolcall_operator.core.credentials.values import Hidden

HIDDEN = "****"

_SHORTEST = 12
_SHOWN = 4
_HIDDEN_BEHIND_PREFIX = 8

# A vendor's prefix ends with the last delimiter among the first twelve characters: ghp_, github_pat_, sk_live_, xoxb-.
_PREFIX = re.compile(r"[a-z0-9_-]{0,11}[_-]", re.ASCII)


def mask(text: str) -> str:
    """A prefix that tells what it is, if it has one, four stars, and its last four characters.

    Nothing but stars for what is shorter than twelve characters, or not printable ASCII.
    """
    text = text.replace("\r", "").replace("\n", "")
    if len(text) < _SHORTEST or not (text.isascii() and text.isprintable()):
        return HIDDEN
    return f"{_prefix(text)}{HIDDEN}{text[-_SHOWN:]}"


def injected(env: Mapping[str, Hidden]) -> tuple[Injected, ...]:
    """What was injected under which name, masked, by name."""
    return tuple(Injected(key=name, masked=mask(value.reveal())) for name, value in sorted(env.items()))


def _prefix(text: str) -> str:
    found = _PREFIX.match(text)
    prefix = found[0] if found else ""
    head = text[:_SHORTEST]
    whole = len(prefix) == max(head.rfind("_"), head.rfind("-")) + 1
    return prefix if whole and len(text) - len(prefix) >= _HIDDEN_BEHIND_PREFIX else ""
