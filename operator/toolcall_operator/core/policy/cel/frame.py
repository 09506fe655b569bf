"""What one evaluation holds: the values it can name, and how much work it may still do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcall_operator.core.policy.cel.errors import Exhausted
from toolcall_operator.core.policy.cel.values import Timestamp, Value

if TYPE_CHECKING:
    from toolcall_operator.core.policy.cel.patterns import Pattern

STEPS = 200_000
"""The work an evaluation may do: a step is one part of an expression in one turn of a loop, about 0.1 µs."""

CHARACTERS = 64
"""How many characters an operation may touch for a step."""


class Frame:
    """The state of one evaluation: `values` are the variables and, behind them, the elements of the loops it is in."""

    __slots__ = ("left", "now", "patterns", "values")

    def __init__(self, values: list[Value], now: Timestamp | None, left: int = STEPS) -> None:
        self.values = values
        self.now = now
        self.left = min(left, STEPS)
        self.patterns: dict[object, Pattern] = {}

    def charge(self, steps: int) -> None:
        """Count work, before it is done.

        Raises:
            Exhausted: it is more than this evaluation may do.
        """
        self.left -= steps
        if self.left < 0:
            raise Exhausted("the expression takes too much work for values of this size, and was stopped")

    def charge_text(self, characters: int) -> None:
        """Count work on so many characters, or bytes."""
        if characters >= CHARACTERS:
            self.charge(characters // CHARACTERS)
