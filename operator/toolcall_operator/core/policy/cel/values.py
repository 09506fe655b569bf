"""The values an expression works with: Python's own where one fits, and the few that Python lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolcall_operator.api import paths
from toolcall_operator.core.policy.cel.errors import EvaluationError

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
UINT_MAX = 2**64 - 1

ELEMENTS = 256
"""The most elements of a list, or keys of a map, that an expression sees."""


class Uint(int):
    """An unsigned integer of 64 bits."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970-01-01T00:00:00Z."""

    ns: int


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in nanoseconds."""

    ns: int


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as a value: what type() gives."""

    name: str


@dataclass(frozen=True, slots=True)
class Key:
    """A bool as the key of a map: for Python alone, True and 1 are one key."""

    value: bool


Value = object
"""bool, int, Uint, float, str, bytes, None, list, dict, Timestamp, Duration or TypeName."""

_NAMES: Mapping[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Timestamp: "timestamp",
    Duration: "duration",
    TypeName: "type",
}
_UNCHANGED = frozenset(_NAMES) - {int, list, dict}


def type_name(value: Value) -> str:
    """The name of a value's type, as signatures call it."""
    return _NAMES.get(type(value), "something else")


def seen(value: object, path: str) -> Value:
    """A value out of given data, as an expression sees it; `path` is how a message calls it.

    Raises:
        EvaluationError: it is too large to be seen, or nothing that the language knows.
    """
    kind = type(value)
    if kind in _UNCHANGED:
        return value
    if isinstance(value, int):
        return _within(int(value), path)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (list, tuple, Mapping)):
        return _small(value, path)
    raise EvaluationError(f"{_called(path)} is nothing that an expression can use")


def unseen(data: Mapping[str, object], name: str) -> str:
    """Why some value in JSON data could not be seen by any expression, its place first; empty if there is none.

    A list that is too long is left to the expressions that ask for it: they can see that it is there.
    """
    groups: list[tuple[str, Any]] = [(name, data)]
    for path, group in groups:  # those inside are added behind it
        for place, value in group.items() if isinstance(group, Mapping) else enumerate(group):
            if type(value) in _UNCHANGED or (type(value) is int and INT_MIN <= value <= INT_MAX):
                continue
            if isinstance(value, (list, tuple, Mapping)):
                groups.append((path + paths.step(place), value))
                continue
            try:
                seen(value, path + paths.step(place))
            except EvaluationError as trouble:
                return str(trouble)
    return ""


def _within(number: int, path: str) -> int:
    if INT_MIN <= number <= INT_MAX:
        return number
    raise EvaluationError(f"{_called(path)} is a number beyond 64 bits")


def _small(value: list[object] | tuple[object, ...] | Mapping[object, object], path: str) -> Value:
    if len(value) > ELEMENTS:
        kind = "keys" if isinstance(value, Mapping) else "elements"
        raise EvaluationError(f"{_called(path)} has {len(value)} {kind}; an expression sees at most {ELEMENTS}")
    if isinstance(value, (list, dict)):
        return value
    return dict(value) if isinstance(value, Mapping) else list(value)


def _called(path: str) -> str:
    return path or "a value"


def key(value: Value) -> object:
    """A value as the key of a map.

    Raises:
        EvaluationError: it is of a type that no key is of.
    """
    if type(value) is bool:
        return Key(value)
    if isinstance(value, (str, int, float)):
        return value
    raise EvaluationError(f"a key of a map is a bool, a number or a string, not {type_name(value)}")


def from_key(found: object) -> Value:
    """The value that a key of a map stands for."""
    return found.value if isinstance(found, Key) else found
