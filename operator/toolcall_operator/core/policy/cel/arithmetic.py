"""The operators + - * / % and the sign, within the ranges of their types."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from toolcall_operator.core.policy.cel import moments, values
from toolcall_operator.core.policy.cel.errors import EvaluationError
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.values import Duration, Timestamp, Uint, Value


def binary(symbol: str) -> Callable[[Frame, Value, Value], Value]:
    """The function of an operator with two operands."""

    def run(frame: Frame, one: Value, other: Value) -> Value:
        kind = type(one)
        if kind is type(other):
            if kind is int and isinstance(one, int) and isinstance(other, int):
                return in_int(_OPERATIONS[symbol](one, other))
            if isinstance(one, Uint) and isinstance(other, Uint):
                return in_uint(_OPERATIONS[symbol](int(one), int(other)))
            if isinstance(one, float) and isinstance(other, float) and symbol in _OF_DOUBLES:
                return _OF_DOUBLES[symbol](one, other)
        found = _joined(frame, one, other) if symbol == "+" else None
        if found is None and symbol in {"+", "-"}:
            found = _moved(symbol, one, other)
        if found is None:
            names = f"{values.type_name(one)} and {values.type_name(other)}"
            raise EvaluationError(f"{symbol} has no meaning for {names}")
        return found

    return run


def negative(_: Frame, value: Value) -> Value:
    """The value with the other sign."""
    if type(value) is int:
        return in_int(-value)
    if isinstance(value, float):
        return -value
    raise EvaluationError(f"- has no meaning for {values.type_name(value)}")


def in_int(number: int) -> int:
    """The number, if an int can be it."""
    if values.INT_MIN <= number <= values.INT_MAX:
        return number
    raise EvaluationError("a result beyond the range of int")


def in_uint(number: int) -> Uint:
    """The number, if a uint can be it."""
    if 0 <= number <= values.UINT_MAX:
        return Uint(number)
    raise EvaluationError("a result beyond the range of uint")


def _quotient(one: int, other: int) -> int:
    """Divided towards zero."""
    if other == 0:
        raise EvaluationError("a division by zero")
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _ratio(one: float, other: float) -> float:
    if other != 0:
        return one / other
    if one == 0 or math.isnan(one):
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1, other)


def _joined(frame: Frame, one: Value, other: Value) -> Value:
    """Two texts or lists behind each other; None when they are not."""
    if isinstance(one, str) and isinstance(other, str):
        frame.charge_text(len(one) + len(other))
        return one + other
    if isinstance(one, bytes) and isinstance(other, bytes):
        frame.charge_text(len(one) + len(other))
        return one + other
    if isinstance(one, list) and isinstance(other, list):
        frame.charge(len(one) + len(other))
        return values.seen([*one, *other], "a list put together with +")
    return None


def _moved(symbol: str, one: Value, other: Value) -> Value:
    """A moment or a length of time, moved by another; None when they are not."""
    sign = 1 if symbol == "+" else -1
    match one, other:
        case Timestamp(), Duration():
            return moments.timestamp(one.ns + sign * other.ns)
        case Duration(), Timestamp() if sign == 1:
            return moments.timestamp(one.ns + other.ns)
        case Timestamp(), Timestamp() if sign == -1:
            return moments.duration(one.ns - other.ns)
        case Duration(), Duration():
            return moments.duration(one.ns + sign * other.ns)
        case _:
            return None


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": lambda one, other: one - other * _quotient(one, other),
}
_OF_DOUBLES: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _ratio,
}
