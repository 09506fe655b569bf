"""The functions that make a value of one type out of one of another."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

from toolcall_operator.core.policy.cel import arithmetic, moments, values
from toolcall_operator.core.policy.cel.errors import EvaluationError
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.values import Duration, Timestamp, TypeName, Uint, Value

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE
)
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_LONGEST_NUMBER = 400
_BEYOND_INT = 2.0**63
_WRITTEN_OUT = range(-4, 6)
"""The decimal exponents of numbers that are written without one."""


def to_int(_: Frame, value: Value) -> int:
    """int(): of a moment its seconds since 1970, of a duration its nanoseconds."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return arithmetic.in_int(int(value))
    if isinstance(value, float) and math.isfinite(value):
        return arithmetic.in_int(int(value) if abs(value) < _BEYOND_INT else values.INT_MAX + 1)
    if isinstance(value, Timestamp):
        return value.ns // moments.SECOND
    if isinstance(value, Duration):
        return value.ns
    if isinstance(value, int) and not isinstance(value, bool):
        return arithmetic.in_int(int(value))
    raise _impossible(value, "int")


def to_uint(_: Frame, value: Value) -> Uint:
    """uint()."""
    if isinstance(value, str) and _INTEGER.fullmatch(value) and value[0].isdigit():
        return arithmetic.in_uint(int(value))
    if isinstance(value, float) and math.isfinite(value) and value >= 0:
        return arithmetic.in_uint(int(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return arithmetic.in_uint(int(value))
    raise _impossible(value, "uint")


def to_double(_: Frame, value: Value) -> float:
    """double()."""
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and _DOUBLE.fullmatch(value):
        return float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise _impossible(value, "double")


def to_bool(_: Frame, value: Value) -> bool:
    """bool()."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _TRUE | _FALSE:
        return value in _TRUE
    raise _impossible(value, "bool")


def to_bytes(frame: Frame, value: Value) -> bytes:
    """bytes(): of text, its UTF-8."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        frame.charge_text(len(value))
        return value.encode(errors="surrogatepass")
    raise _impossible(value, "bytes")


def to_string(frame: Frame, value: Value) -> str:
    """string()."""
    if isinstance(value, bytes):
        frame.charge_text(len(value))
        return _text_of(value)
    written = _WRITTEN.get(type(value))
    if written is None:
        raise _impossible(value, "string")
    return written(value)


def to_timestamp(_: Frame, value: Value) -> Timestamp:
    """timestamp(): of text by RFC 3339, or of seconds since 1970."""
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, str):
        return moments.timestamp_of_text(value)
    if type(value) is int:
        return moments.timestamp(value * moments.SECOND)
    raise _impossible(value, "timestamp")


def to_duration(_: Frame, value: Value) -> Duration:
    """duration()."""
    if isinstance(value, Duration):
        return value
    if isinstance(value, str):
        return moments.duration_of_text(value)
    raise _impossible(value, "duration")


def type_of(_: Frame, value: Value) -> TypeName:
    """type()."""
    return TypeName(values.type_name(value))


def _text_of(encoded: bytes) -> str:
    try:
        return encoded.decode()
    except UnicodeDecodeError:
        raise EvaluationError("string() takes bytes that are UTF-8") from None


def _double_text(value: float) -> str:
    """The shortest text that reads back as the same number, as Go's %g writes it."""
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    precision = len(Decimal(repr(abs(value))).normalize().as_tuple().digits) - 1
    scientific = f"{value:.{precision}e}"
    exponent = int(scientific.partition("e")[2])
    return f"{value:.{max(0, precision - exponent)}f}" if exponent in _WRITTEN_OUT else scientific


def _impossible(value: Value, wanted: str) -> EvaluationError:
    return EvaluationError(f"this {values.type_name(value)} cannot be made a {wanted}")


_WRITTEN: dict[type, Callable[..., str]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    int: str,
    Uint: lambda value: str(int(value)),
    float: _double_text,
    Timestamp: moments.timestamp_text,
    Duration: moments.duration_text,
}
