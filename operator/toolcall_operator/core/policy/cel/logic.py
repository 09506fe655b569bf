"""&&, || and ?: as the language has them: an error does not count where the other side decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolcall_operator.core.policy.cel import values
from toolcall_operator.core.policy.cel.errors import EvaluationError, Exhausted
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.values import Value

Step = Callable[[Frame], Value]

FAILING = 10
"""What it costs to go on after an error, in steps."""


def joined(operator: str, parts: Sequence[Step]) -> Step:
    """All of the parts for `&&`, any of them for `||`; the first error only when no part decides."""
    deciding = operator == "||"

    def run(frame: Frame) -> bool:
        trouble: EvaluationError | None = None
        for part in parts:
            try:
                value = part(frame)
            except Exhausted:
                raise
            except EvaluationError as error:
                frame.charge(FAILING)
                trouble = trouble or error
                continue
            if value is deciding:
                return deciding
            if value is not (not deciding):
                trouble = trouble or no_bool(f"a part of {operator}", value)
        if trouble is not None:
            raise trouble
        return not deciding

    return run


def chosen(test: Step, yes: Step, no: Step) -> Step:
    """One of two, by a test."""

    def run(frame: Frame) -> Value:
        verdict = test(frame)
        if verdict is True:
            return yes(frame)
        if verdict is False:
            return no(frame)
        raise no_bool("the condition before ?", verdict)

    return run


def no_bool(what: str, value: Value) -> EvaluationError:
    """That something had to be a bool."""
    return EvaluationError(f"{what} must be a bool, not {values.type_name(value)}")
