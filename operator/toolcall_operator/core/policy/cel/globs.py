"""Patterns of file names, as Go's filepath.Match reads them, made into regular expressions."""

from __future__ import annotations

import functools
import re

_WORD = re.compile(r"(?P<star>\*+)|(?P<one>\?)|(?P<group>\[)|\\(?P<escaped>[\s\S])|(?P<plain>[^*?\[\\])")
_MEMBER = re.compile(r"(?:\\([\s\S])|([^\\\]-]))(?:-(?:\\([\s\S])|([^\\\]-])))?")


@functools.lru_cache(maxsize=1024)  # of patterns that only a call knows, too: to read one takes longer than to use it
def regular(pattern: str) -> str | None:
    r"""The regular expression of a pattern; None for one that is bad.

    `*` is any text and `?` any character without `/`, `[a-z]` and `[^a-z]` are groups, `\` takes the meaning from what
    follows. As there, a group may be `/`.
    """
    parts, at = [r"\A"], 0
    while at < len(pattern):
        found = _WORD.match(pattern, at)
        if found is None:
            return None
        at = found.end()
        if found["group"]:
            grouped = _group(pattern, at)
            if grouped is None:
                return None
            part, at = grouped
        else:
            part = _part(found)
        parts.append(part)
    return "".join([*parts, r"\z"])


def _part(found: re.Match[str]) -> str:
    if found["star"]:
        return "[^/]*"
    return "[^/]" if found["one"] else _hex(found["escaped"] or found["plain"])


def _group(pattern: str, at: int) -> tuple[str, int] | None:
    """The group that begins behind its bracket, and where it ends; None for one that is empty, upside down or open."""
    inverted = pattern[at : at + 1] == "^"
    at += inverted
    members: list[str] = []
    while pattern[at : at + 1] != "]" or not members:
        found = _MEMBER.match(pattern, at)
        if found is None:
            return None
        first = found[1] or found[2]
        last = found[3] or found[4] or first
        if first <= last:
            members.append(f"{_hex(first)}-{_hex(last)}")
        at = found.end()
    return f"[{'^' if inverted else ''}{''.join(members)}]", at + 1


def _hex(char: str) -> str:
    return f"\\x{{{ord(char):x}}}"
