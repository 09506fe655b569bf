"""What an expression gave, as plain data."""

from __future__ import annotations

from collections.abc import Callable

from toolcall_operator.core.policy.cel import moments, values
from toolcall_operator.core.policy.cel.errors import EvaluationError
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.values import Duration, Timestamp, TypeName, Uint, Value

_DEPTH = 32
_COST = 10  # steps for each value


def plain(frame: Frame, value: Value, depth: int = 0) -> object:
    """A value as Python has it: moments, durations and types become texts, keys of maps the values they stand for.

    Raises:
        EvaluationError: it is too deep; or, counted together with the evaluation, too large.
    """
    frame.charge(_COST)
    if depth > _DEPTH:
        raise EvaluationError(f"a result more than {_DEPTH} levels deep")
    found = values.seen(value, "the result")
    if isinstance(found, list):
        return [plain(frame, each, depth + 1) for each in found]
    if isinstance(found, dict):
        return {values.from_key(key): plain(frame, each, depth + 1) for key, each in found.items()}
    written = _WRITTEN.get(type(found))
    return written(found) if written else found


_WRITTEN: dict[type, Callable[..., object]] = {
    Uint: int,
    Timestamp: moments.timestamp_text,
    Duration: moments.duration_text,
    TypeName: lambda named: named.name,
}
