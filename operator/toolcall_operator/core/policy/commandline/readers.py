"""How the text of one argument becomes a value of its type."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from toolcall_operator.api.commandline import Argument
from toolcall_operator.core.policy.commandline import quoting
from toolcall_operator.core.policy.commandline.values import Value

# No leading zero, no plus, no -0: programs read 010 as ten or as eight, and `head -n -0` is not `head -n 0`.
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LEAST, _MOST = -(2**63), 2**63 - 1

# Programs cut white space off, encode it, or end the request line with it: what they connect to is not what is judged.
_NO_URL = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")

_ENUM_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads a text; None is the answer to one that is no such value. `expected` says in words what is one."""

    read: Callable[[str], Value | None]
    expected: str
    closed: bool = False
    """Whether every value there is was listed."""


def of(argument: Argument) -> Reader:
    """The reader of what a toolkit describes: values that are listed are all there are, whatever their type."""
    reader = _typed(argument)
    if argument.split_on is not None and argument.type != "stringList":
        reader = _single(reader, argument.split_on)
    if argument.type == "enum" or (argument.values and argument.type != "bool"):
        reader = _listed(reader, argument.values)
    return reader


def _typed(argument: Argument) -> Reader:
    match argument.type:
        case "bool":
            return Reader({"true": True, "false": False}.get, "true or false")
        case "int":
            return _whole(argument.minimum, argument.maximum)
        case "stringList":
            return _list(argument.split_on)
        case "url":
            return Reader(_url, "a URL, without white space and control characters")
        case "string" | "path" | "enum":
            return Reader(_itself, "a text")


def _itself(text: str) -> str:
    return text


def _url(text: str) -> str | None:
    return None if text in {"", "-"} or _NO_URL.search(text) else text


def _whole(minimum: int | None, maximum: int | None) -> Reader:
    least = _LEAST if minimum is None else max(minimum, _LEAST)
    most = _MOST if maximum is None else min(maximum, _MOST)

    def read(text: str) -> int | None:
        number = int(text) if _WHOLE.fullmatch(text) else None
        return number if number is not None and least <= number <= most else None

    return Reader(read, "a whole number" + _bounds(minimum, maximum))


def _bounds(minimum: int | None, maximum: int | None) -> str:
    least = "" if minimum is None else f" of at least {minimum}"
    most = "" if maximum is None else f" of at most {maximum}"
    return " and".join(filter(None, (least, most)))


def _one_of(values: tuple[str, ...]) -> str:
    more = len(values) - _ENUM_SHOWN
    shown = ", ".join(map(quoting.quoted, values[:_ENUM_SHOWN]))
    return f"one of {shown} and {more} more" if more > 0 else f"one of {shown}"


def _listed(reader: Reader, values: tuple[str, ...]) -> Reader:
    """Reads only these texts; of a list each value is one of them."""
    listed = frozenset(values)

    def read(text: str) -> Value | None:
        value = reader.read(text)
        return value if listed.issuperset(value if isinstance(value, tuple) else (text,)) else None

    return Reader(read, _one_of(values), closed=True)


def _single(reader: Reader, separator: str) -> Reader:
    """Reads what is one value also to a program that splits it: nobody judges the others that it would find."""
    parts = _list(separator)

    def read(text: str) -> Value | None:
        return reader.read(text) if parts.read(text) == (text,) else None

    return Reader(read, f"{reader.expected}, not a list of several")


def _list(separator: str | None) -> Reader:
    if separator is None:
        return Reader(lambda text: (text,), "a text")
    # Programs that read such lists as CSV take quotes and line breaks for syntax, and some know escapes.
    special = frozenset('"\\\r\n').difference(separator)

    def read(text: str) -> tuple[str, ...] | None:
        return tuple(text.split(separator)) if special.isdisjoint(text) else None

    return Reader(read, "a list without quotes, backslashes and line breaks")
