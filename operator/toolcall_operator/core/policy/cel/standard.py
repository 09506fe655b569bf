"""What every operator, function and method does when it is evaluated."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType

from toolcall_operator.core.policy.cel import (
    arithmetic,
    comparing,
    conversions,
    frame,
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


def _of_texts(
    name: str,
    function: Callable[..., Value],
    *,
    framed: bool = False,
    cost: int = 0,
    characters: int = frame.CHARACTERS,
) -> Function:
    """A function of texts: anything else is an error; it costs so many steps, and one for so many characters."""

    def run(frame: Frame, *args: Value) -> Value:
        steps = cost
        for each in args:
            if not isinstance(each, str):
                raise EvaluationError(f"{name} takes texts, not {values.type_name(each)}")
            steps += len(each) // characters
        frame.charge(steps)
        return function(frame, *args) if framed else function(*args)

    return run


def _costing(cost: int, function: Function) -> Function:
    """A function that takes longer than most."""

    def run(frame: Frame, *args: Value) -> Value:
        frame.charge(cost)
        return function(frame, *args)

    return run


def _part(name: str) -> Function:
    """A method that asks for a part of a moment."""

    def run(frame: Frame, value: Value, zone: Value = "") -> Value:
        frame.charge(20)
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
        "double": _costing(10, conversions.to_double),
        "duration": _costing(60, conversions.to_duration),
        "int": _costing(10, conversions.to_int),
        "string": _costing(40, conversions.to_string),
        "timestamp": _costing(120, conversions.to_timestamp),
        "uint": _costing(10, conversions.to_uint),
        "now": functions.now,
        "path.isUnder": _of_texts("path.isUnder()", functions.is_under, cost=20, characters=2),
        "host.of": _of_texts("host.of()", hosts.of, cost=30, characters=4),
        "host.matches": _of_texts("host.matches()", hosts.matches),
        "glob.match": _of_texts("glob.match()", functions.glob_match, framed=True),
        "semver.satisfies": _of_texts("semver.satisfies()", versions.satisfies, cost=50, characters=1),
    }
)
"""By name; what takes longer than a few steps says how long, as measured.

Those of `call` are made by `closures`, which knows where the call is.
"""

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
