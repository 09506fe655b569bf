"""What the programs of one decision are evaluated against."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from toolcall_operator.core.policy.cel import moments

STEPS = 1_000_000
"""The work that all evaluations of one decision may do together, in the steps of `frame`: 0.2 s at worst."""


class Scope:
    """The variables by name, as plain data, and the moment that now() tells; made once and used by many programs.

    `Scope(call={…}, config={…}, now=moment)`, or `Scope(args={…})`. The data is not copied and not walked through:
    whoever makes a scope leaves the data alone until the decision is made. What an expression cannot see (a list of
    more than 256 elements, a number beyond 64 bits) is an error of the program that asks for it, not of the others.
    """

    __slots__ = ("left", "now", "variables")

    def __init__(self, *, now: datetime | None = None, **variables: Mapping[str, object]) -> None:
        self.now = None if now is None else moments.of_datetime(now)
        self.left = STEPS
        self.variables: dict[str, object] = {name: dict(value) for name, value in variables.items()}
