"""Arguments as they are shown to people: in quotes, on one line, with nothing in them that could deceive."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 64
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def quoted(text: str, longest: int = LONGEST) -> str:
    """The text in double quotes; what cannot be seen is written as an escape, what is beyond `longest` is cut."""
    whole = len(text) <= longest
    return '"' + "".join(_visible(text[:longest])) + ('"' if whole else '…"')


def _visible(text: str) -> Iterator[str]:
    for char in text:
        if char in _ESCAPED:
            yield _ESCAPED[char]
        elif char.isprintable():
            yield char
        else:
            yield f"\\u{{{ord(char):x}}}"
