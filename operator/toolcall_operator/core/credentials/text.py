"""What a Secret holds, as text that a process or a header can be given."""

from __future__ import annotations

import unicodedata

from toolcall_operator.core.credentials.values import Hidden

LONGEST = 65_536
"""Bytes; a process takes 128 KiB in one variable, and servers far less in one header."""


def text(raw: bytes) -> Hidden | str:
    """The value, or why it cannot be used, in words that do not tell it.

    One line feed at its end is dropped: editors, `echo` and `kubectl create secret --from-file` leave it there.
    """
    line = raw.removesuffix(b"\n").removesuffix(b"\r") if raw.endswith(b"\n") else raw
    if not line:
        return "is empty"
    if len(line) > LONGEST:
        return f"has {len(line)} bytes, and may have {LONGEST}"
    try:
        value = line.decode()
    except UnicodeDecodeError:
        return "is not UTF-8 text"
    if any(unicodedata.category(char) == "Cc" for char in value):
        return "has control characters: it must be one line"
    return Hidden(value)
