"""The values of the flags of one command line, by their names."""

from __future__ import annotations

from toolcall_operator.core.policy.commandline.flagwords import FlagRule
from toolcall_operator.core.policy.commandline.values import Misuse, ParseProblem, Value


class FlagValues:
    """The values that were given so far."""

    __slots__ = ("_lists", "_single")

    def __init__(self) -> None:
        self._single: dict[str, Value] = {}
        self._lists: dict[str, list[str]] = {}

    @property
    def values(self) -> dict[str, Value]:
        """The value of each flag that was given; true for one that was given without a value."""
        return {**self._single, **{name: tuple(values) for name, values in self._lists.items()}}

    def give(self, rule: FlagRule) -> Misuse | None:
        """A flag without a value; it may be given so any number of times."""
        if rule.name in self._lists or self._single.setdefault(rule.name, True) is not True:
            return _repeated(rule)
        return None

    def put(self, rule: FlagRule, text: str) -> Misuse | None:
        """A flag's value. Only lists take a second one: of two others, some programs take the first, some the last."""
        value = rule.reader.read(text)
        if value is None:
            problem = ParseProblem.ENUM_VALUE_INVALID if rule.reader.closed else ParseProblem.FLAG_TYPE_MISMATCH
            return Misuse(problem, f"the value of {rule.shown} must be {rule.reader.expected}")
        if rule.name in self._single or (rule.name in self._lists and not isinstance(value, tuple)):
            return _repeated(rule)
        if isinstance(value, tuple):
            self._lists.setdefault(rule.name, []).extend(value)
        else:
            self._single[rule.name] = value
        return None


def _repeated(rule: FlagRule) -> Misuse:
    return Misuse(ParseProblem.REPEATED_FLAG, f"{rule.shown} must not be given twice")
