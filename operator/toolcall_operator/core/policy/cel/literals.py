"""The values of literals: numbers within their range, strings with their escapes resolved."""

from __future__ import annotations

import math
import re

from toolcall_operator.core.policy.cel.errors import Fault
from toolcall_operator.core.policy.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_ESCAPE = re.compile(
    r"\\(?:(?P<plain>[abfnrtv\\?'\"`])|[xX](?P<hex>[0-9a-fA-F]{2})|(?P<octal>[0-3][0-7]{2})"
    r"|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})|(?P<wrong>[\s\S]?))"
)
_PLAIN = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SURROGATES = range(0xD800, 0xE000)
_POINTS = 0x110000


def number(kind: str, text: str, at: int, *, negative: bool = False) -> int | Uint | float:
    """The number that is written so.

    Raises:
        Fault: it does not fit 64 bits.
    """
    sign = -1 if negative else 1
    if kind == "double":
        return _finite(sign * float(text), at)
    digits = text.rstrip("uU")
    value = sign * int(digits, 16 if digits.startswith("0x") else 10)
    if kind == "uint" and 0 <= value <= UINT_MAX:
        return Uint(value)
    if kind == "int" and INT_MIN <= value <= INT_MAX:
        return value
    raise Fault(at, f"a number beyond the range of {kind}")


def _finite(value: float, at: int) -> float:
    if math.isinf(value):
        raise Fault(at, "a number beyond the range of double")
    return value


def text(written: str, at: int) -> str | bytes:
    """The string, or the bytes, that a literal with its prefix and quotes stands for.

    Raises:
        Fault: an escape that does not exist, or a code point that no text can hold.
    """
    body = written.lstrip("bBrR")
    prefix = written[: len(written) - len(body)].lower()
    quote = 3 if body[:3] in {'"""', "'''"} else 1
    start, inner = at + len(prefix) + quote, body[quote:-quote]
    if "b" in prefix:
        return inner.encode() if "r" in prefix else _bytes(inner, start)
    return inner if "r" in prefix else _ESCAPE.sub(lambda found: _character(found, start), inner)


def _character(found: re.Match[str], start: int) -> str:
    if plain := found["plain"]:
        return _PLAIN.get(plain, plain)
    code = _code(found, start)
    if code in _SURROGATES or code >= _POINTS:
        raise Fault(start + found.start(), "a code point that no text can hold")
    return chr(code)


def _bytes(inner: str, start: int) -> bytes:
    parts, at = [], 0
    for found in _ESCAPE.finditer(inner):
        parts.append(inner[at : found.start()].encode())
        if plain := found["plain"]:
            parts.append(_PLAIN.get(plain, plain).encode())
        elif found["short"] or found["long"]:
            raise Fault(start + found.start(), "bytes have no code points; \\x gives one byte")
        else:
            parts.append(bytes([_code(found, start)]))
        at = found.end()
    return b"".join(parts) + inner[at:].encode()


def _code(found: re.Match[str], start: int) -> int:
    if octal := found["octal"]:
        return int(octal, 8)
    digits = found["hex"] or found["short"] or found["long"]
    if digits is None:
        raise Fault(start + found.start(), "an escape that does not exist; a backslash itself is written \\\\")
    return int(digits, 16)
