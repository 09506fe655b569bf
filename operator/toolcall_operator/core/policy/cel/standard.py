"""What every operator, function and method does when it is evaluated."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType

from toolcall_operator.core.policy.cel import (
    arithmetic,
    comparing,
    conversions,
    functions,
    hosts,
    moments,
    values,
    versions,
)
from toolcall_operator.core.policy.cel.errors import EvaluationError
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.values import Duration, Timestamp, Value

Function = Callable[..., Value]
"""Takes the frame and the values of the arguments."""


def _not(_: Frame, value: Value) -> bool:
    if isinstance(value, bool):
        return not value
    raise EvaluationError(f"! has no meaning for {values.type_name(value)}")


def _size(_: Frame, value: Value) -> int:
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise EvaluationError(f"size() has no meaning for {values.type_name(value)}")


def _of_texts(name: str, function: Callable[..., Value], *, framed: bool = False) -> Function:
    """A function of texts: what else it is given is an error, and what it reads is counted."""

    def run(frame: Frame, *args: Value) -> Value:
        for each in args:
            if not isinstance(each, str):
                raise EvaluationError(f"{name} takes texts, not {values.type_name(each)}")
            frame.charge_text(len(each))
        return function(frame, *args) if framed else function(*args)

    return run


def _part(name: str) -> Function:
    """A method that asks for a part of a moment."""

    def run(_: Frame, value: Value, zone: Value = "") -> Value:
        found = None
        if isinstance(value, (Timestamp, Duration)) and isinstance(zone, str):
            found = moments.part(name, value, zone)
        if found is None:
            raise EvaluationError(f"{name}() has no meaning for {values.type_name(value)}")
        return found

    return run


def _other(frame: Frame, one: Value, other: Value) -> bool:
    return not comparing.equal(frame, one, other)


_SIZED: Mapping[str, Function] = {
    "size": _size,
    "matches": _of_texts("matches()", functions.matches, framed=True),
}

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        **_SIZED,
        "!_": _not,
        "-_": arithmetic.negative,
        **{f"_{symbol}_": arithmetic.binary(symbol) for symbol in "+-*/%"},
        "_==_": comparing.equal,
        "_!=_": _other,
        "_<_": comparing.ordered("<", operator.lt),
        "_<=_": comparing.ordered("<=", operator.le),
        "_>_": comparing.ordered(">", operator.gt),
        "_>=_": comparing.ordered(">=", operator.ge),
        "_in_": comparing.among,
        "type": conversions.type_of,
        "dyn": lambda _, value: value,
        "bool": conversions.to_bool,
        "bytes": conversions.to_bytes,
        "double": conversions.to_double,
        "duration": conversions.to_duration,
        "int": conversions.to_int,
        "string": conversions.to_string,
        "timestamp": conversions.to_timestamp,
        "uint": conversions.to_uint,
        "now": functions.now,
        "path.isUnder": _of_texts("path.isUnder()", functions.is_under),
        "host.of": _of_texts("host.of()", hosts.of),
        "host.matches": _of_texts("host.matches()", hosts.matches),
        "glob.match": _of_texts("glob.match()", functions.glob_match, framed=True),
        "semver.satisfies": _of_texts("semver.satisfies()", versions.satisfies),
    }
)
"""By name; those of `call` are made by `closures`, which knows where the call is."""

METHODS: Mapping[str, Function] = MappingProxyType(
    {
        **_SIZED,
        "startsWith": _of_texts("startsWith()", str.startswith),
        "endsWith": _of_texts("endsWith()", str.endswith),
        "contains": _of_texts("contains()", operator.contains),
        **{
            name: _part(name)
            for name in (
                "getFullYear",
                "getMonth",
                "getDate",
                "getDayOfMonth",
                "getDayOfWeek",
                "getDayOfYear",
                "getHours",
                "getMinutes",
                "getSeconds",
                "getMilliseconds",
            )
        },
    }
)
