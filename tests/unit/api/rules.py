"""What a rule of our CRDs says of a value: the little of the API server's expression language that they use."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Any, Self

from toolcall_operator.api import durations, quantities

_TRANSLATIONS = (
    (r"\[([^\]]*)\]\.filter\(each, each\)\.size\(\)", r"sum([\1])"),
    (r"has\(self\.(\w+)\)", r"('\1' in self)"),
    (r"self\.(\w+)", r"self['\1']"),
    (r"&&", " and "),
    (r"\|\|", " or "),
    (r"!(?!=)", " not "),
)


class Quantity:
    """An amount, which can be compared and made approximate."""

    def __init__(self, value: str | Fraction) -> None:
        self.amount = quantities.exact(value) if isinstance(value, str) else value

    def compareTo(self, other: Quantity) -> int:  # noqa: N802 (the name is the language's)
        return (self.amount > other.amount) - (self.amount < other.amount)

    def asApproximateFloat(self) -> float:  # noqa: N802 (the same)
        return float(self.amount)

    def sub(self, number: int) -> Quantity:
        return Quantity(self.amount - number)


class Octets(bytes):
    """The bytes of a text, which can be counted."""

    def __new__(cls, text: str) -> Self:
        return super().__new__(cls, text.encode())

    def size(self) -> int:
        return len(self)


def duration(text: str) -> timedelta:
    return durations.parse(text)


def holds(rule: str, value: Any) -> bool:  # noqa: ANN401 (any value of JSON)
    """Whether the rule holds; one that cannot be evaluated does not."""
    expression = rule.strip()
    for pattern, replacement in _TRANSLATIONS:
        expression = re.sub(pattern, replacement, expression)
    names = {"self": value, "duration": duration, "quantity": Quantity, "bytes": Octets, "type": type, "int": int}
    try:
        return bool(eval(expression.strip(), {"__builtins__": {"sum": sum}}, names))  # noqa: S307 (rules are our own)
    except ValueError:
        return False
