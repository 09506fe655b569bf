"""The arguments of a subcommand that are no flags, put one after the other into the places there are for them."""

from __future__ import annotations

from toolcall_operator.core.policy.commandline.grammar import Command, Slot
from toolcall_operator.core.policy.commandline.values import Misuse, ParseProblem, Value


class Places:
    """The places of one command line, as far as they are filled."""

    __slots__ = ("_at", "_behind", "_end", "_lists", "_single", "_slots")

    def __init__(self, command: Command) -> None:
        self._slots = command.slots
        self._behind = command.behind
        self._at = 0
        self._end = len(command.slots) if command.behind is None else command.behind
        self._single: dict[str, Value] = {}
        self._lists: dict[str, list[str]] = {}

    @property
    def empty(self) -> bool:
        """Whether nothing was put anywhere yet."""
        return not self._single and not self._lists

    @property
    def values(self) -> dict[str, Value]:
        """The value of each place that was filled."""
        return {**self._single, **{name: tuple(values) for name, values in self._lists.items()}}

    @property
    def missing(self) -> str | None:
        """The first place that must be filled and is not."""
        return next((slot.name for slot in self._slots if slot.required and not self._filled(slot)), None)

    def go_behind_double_dash(self) -> None:
        """Go on at the place that is for what stands behind a double dash; where there is none, just go on."""
        if self._behind is not None:
            self._at, self._end = self._behind, len(self._slots)

    def put(self, text: str) -> str | Misuse:
        """The name of the place that the next argument went to."""
        if self._at >= self._end:
            return self._too_many()
        slot = self._slots[self._at]
        value = slot.reader.read(text)
        if value is None:
            return _mismatch(slot)
        if isinstance(value, tuple):
            self._lists.setdefault(slot.name, []).extend(value)
        else:
            self._single[slot.name] = value
        self._at += not slot.variadic
        return slot.name

    def _filled(self, slot: Slot) -> bool:
        return slot.name in self._single or slot.name in self._lists

    def _too_many(self) -> Misuse:
        where = " before a double dash" if self._end == self._behind else ""
        return Misuse(
            ParseProblem.ARG_COUNT_MISMATCH, f"one argument too many: at most {self._end} are described{where}"
        )


def _mismatch(slot: Slot) -> Misuse:
    problem = ParseProblem.ENUM_VALUE_INVALID if slot.reader.closed else ParseProblem.ARGUMENT_TYPE_MISMATCH
    return Misuse(problem, f"{slot.name} must be {slot.reader.expected}")
