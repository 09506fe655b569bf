"""Equality and order of values, across types as the language has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolcall_operator.core.policy.cel import values
from toolcall_operator.core.policy.cel.errors import EvaluationError
from toolcall_operator.core.policy.cel.frame import CHARACTERS, Frame
from toolcall_operator.core.policy.cel.values import Value

_DEPTH = 100
_INSIDE, _EACH = 6, 4  # steps to look into a list or map, and for each of its elements
_NUMBERS = frozenset({int, values.Uint, float})
_ORDERED = frozenset({bool, str, bytes, values.Timestamp, values.Duration})


def equal(frame: Frame, one: Value, other: Value, depth: int = 0) -> bool:
    """Whether two values are the same; values of different types are not, but numbers are compared as numbers."""
    kind, second = type(one), type(other)
    if kind is second and kind not in {list, dict}:
        if kind is str or kind is bytes:
            frame.charge_text(min(_length(one), _length(other)))
        return one == other
    if kind in _NUMBERS and second in _NUMBERS:
        return one == other
    return _equal_inside(frame, values.seen(one, ""), values.seen(other, ""), depth)


def _equal_inside(frame: Frame, one: Value, other: Value, depth: int) -> bool:
    if depth > _DEPTH:
        raise EvaluationError(f"values more than {_DEPTH} levels deep cannot be compared")
    if isinstance(one, list) and isinstance(other, list):
        frame.charge(_INSIDE + _EACH * len(one))
        pairs = zip(one, other, strict=True)
        return len(one) == len(other) and all(equal(frame, a, b, depth + 1) for a, b in pairs)
    if isinstance(one, dict) and isinstance(other, dict):
        frame.charge(_INSIDE + _EACH * len(one))
        if len(one) != len(other):
            return False
        return all(name in other and equal(frame, one[name], other[name], depth + 1) for name in one)
    return type(one) is type(other) and one == other


def among(frame: Frame, value: Value, group: Value) -> bool:
    """Whether a value is an element of a list or a key of a map.

    Raises:
        EvaluationError: the group is neither, or the value can be no key.
    """
    if isinstance(group, list):
        if isinstance(value, str):
            frame.charge(len(group) * (1 + len(value) // CHARACTERS))
            return value in group
        frame.charge(_EACH * len(group))
        return any(equal(frame, value, each) for each in group)
    if isinstance(group, dict):
        if isinstance(value, str):
            frame.charge_text(len(value))
        return values.key(value) in group
    raise EvaluationError(f"in looks into a list or a map, not into {values.type_name(group)}")


def ordered(symbol: str, compare: Callable[[Any, Any], bool]) -> Callable[[Frame, Value, Value], bool]:
    """The function of an operator that asks for the order of two values."""

    def run(frame: Frame, one: Value, other: Value) -> bool:
        kind, second = type(one), type(other)
        if kind in _NUMBERS and second in _NUMBERS:
            return compare(one, other)
        if kind is not second or kind not in _ORDERED:
            names = f"{values.type_name(one)} and {values.type_name(other)}"
            raise EvaluationError(f"{symbol} has no meaning for {names}")
        if kind is str or kind is bytes:
            frame.charge_text(min(_length(one), _length(other)))
        return compare(one, other)

    return run


def _length(text: Value) -> int:
    return len(text) if isinstance(text, (str, bytes)) else 0
