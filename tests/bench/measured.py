"""One measured number, and what was promised of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Measured:
    """A row of the table; without a bound it is for information only."""

    row: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def target(self) -> str:
        """The promise, in writing."""
        if self.at_most is not None:
            return f"<= {self.at_most:g}"
        return f">= {self.at_least:g}" if self.at_least is not None else ""

    @property
    def holds(self) -> bool | None:
        """Whether it is kept; None if there is none."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least

    def to_json(self) -> dict[str, object]:
        """The row for programs."""
        return {
            "row": self.row,
            "value": round(self.value, 3),
            "unit": self.unit,
            "target": self.target,
            "holds": self.holds,
        }
