"""Foreign text made fit to be shown: valid, without control characters, of a bounded length."""

from __future__ import annotations

import codecs

MESSAGE_CHARACTERS = 1_024
TEXT_BYTES = 32 * 1_024

# What makes a terminal or a page show something other than the text: C0 but tab and newline, DEL, C1, and the marks
# that turn the direction of writing.
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = dict.fromkeys((*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), *_BIDI))


def message(text: str) -> str:
    """One line for a condition: what cannot be printed becomes a space, what is beyond 1,024 characters is cut."""
    cut = text[: MESSAGE_CHARACTERS + 1]
    line = "".join(char if char.isprintable() else " " for char in cut).strip()
    return line if len(line) <= MESSAGE_CHARACTERS else line[: MESSAGE_CHARACTERS - 1] + "…"


def head(output: bytes, whole: int) -> tuple[str, bool]:
    """The first 32 KiB of an output of `whole` bytes as text, and whether that is less than all of it.

    Invalid bytes become U+FFFD; a character that a cut went through, here or before, is left out; controls are removed.
    """
    first = output[:TEXT_BYTES]
    cut = whole > len(first)
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(first, final=not cut).translate(_CONTROLS)
    fitting = text.encode()[:TEXT_BYTES].decode(errors="ignore")  # a replaced byte takes three
    return fitting, cut or len(fitting) < len(text)
