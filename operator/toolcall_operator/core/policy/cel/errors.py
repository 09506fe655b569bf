"""What can be wrong with an expression: when it is compiled, and when it is evaluated."""

from __future__ import annotations


class CelError(ValueError):
    """An expression that cannot be used; the message begins with line:column."""


class EvaluationError(ValueError):
    """An evaluation without a result. The message names keys, functions and types, never a value of the call."""


class Exhausted(EvaluationError):
    """An evaluation that was stopped by its bound: nothing absorbs it, unlike other errors."""


class Fault(Exception):
    """What is wrong in a source, `at` so many characters from its beginning."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def located(fault: Fault, source: str) -> CelError:
    """The fault as people look for it: line and column, both from 1."""
    before = source[: fault.at]
    line = before.count("\n") + 1
    column = fault.at - (before.rfind("\n") + 1) + 1
    return CelError(f"{line}:{column}: {fault}")
