"""Expressions compiled when a policy loads, and evaluated when a call is judged: the face of this package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from toolcall_operator.core.policy.cel import checker, closures, errors, parser, results, signatures, values
from toolcall_operator.core.policy.cel.checker import Surroundings
from toolcall_operator.core.policy.cel.closures import Places
from toolcall_operator.core.policy.cel.errors import CelError, EvaluationError, Fault
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.scopes import Scope
from toolcall_operator.core.policy.cel.values import Value

__all__ = ["CelError", "EvaluationError", "Kind", "Program", "Scope", "compiled"]

CHARACTERS = 4_096
"""The longest expression."""


class Kind(StrEnum):
    """What an expression must give."""

    BOOL = "bool"
    STRING = "string"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Program:
    """An expression that was found good; it can be evaluated any number of times, and remembers nothing."""

    source: str
    wanted: Kind
    variables: tuple[str, ...]
    _run: Callable[[Frame], Value] = field(repr=False, compare=False)

    def evaluate(self, scope: Scope) -> object:
        """The value for a scope: a bool, a text, or for `Kind.ANY` plain data.

        Raises:
            EvaluationError: there is none: a key is missing, a type does not fit, the work is beyond its bound.
            LookupError: the scope lacks a variable of the program.
        """
        frame = Frame([*(scope.variables[name] for name in self.variables), *_ELEMENTS], scope.now, scope.left)
        before = frame.left
        try:
            value = self._run(frame)
        finally:
            scope.left -= before - frame.left
        if self.wanted is Kind.ANY:
            return results.plain(frame, value)
        if values.type_name(value) != self.wanted:
            raise EvaluationError(f"the expression gives {values.type_name(value)}, not {self.wanted}")
        return value


_ELEMENTS = (None,) * checker.NESTING
"""The places of the elements of loops, until there are any."""


def compiled(source: str, wanted: Kind, variables: tuple[str, ...] = ("call", "config")) -> Program:
    """The program of an expression.

    Raises:
        CelError: it can never be evaluated: its syntax, a name that is not there, types that do not fit, a bad pattern,
            a bound that it breaks. The message begins with line:column.
        LookupError: there is no such variable in this language.
    """
    if len(source) > CHARACTERS:
        raise CelError(f"1:1: the expression has {len(source)} characters; it may have {CHARACTERS}")
    try:
        return Program(source, wanted, variables, _built(source, wanted, variables))
    except Fault as fault:
        raise errors.located(fault, source) from None


def _built(source: str, wanted: Kind, variables: tuple[str, ...]) -> Callable[[Frame], Value]:
    node = parser.parsed(source)
    given = checker.checked(node, Surroundings({name: signatures.VARIABLES[name] for name in variables}))
    if wanted is not Kind.ANY and given.name not in {wanted, "dyn"}:
        raise Fault(0, f"the expression gives {given}, not {wanted}")
    return closures.built(node, Places({name: place for place, name in enumerate(variables)}, len(variables)))
