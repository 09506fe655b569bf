"""Compares how calls ended with what their authors expected of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from toolcall_operator.core.reasons import Reason
from toolcall_operator.local.entries import Entry

ANNOTATION = "toolcall.agentprimitives.authzed.com/expect"
"""Names the reason for which a call is expected to end; without it, a call is expected to succeed."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One call: the reason it was expected to end for, and the one it ended for (empty: it did not end)."""

    name: str
    expected: str
    actual: str

    @property
    def holds(self) -> bool:
        """Whether the expectation was met."""
        return self.expected == self.actual


def judged(entries: Iterable[Entry]) -> tuple[Judgement, ...]:
    """A judgement on each call that was to run, or had ended before."""
    return tuple(
        Judgement(
            name=entry.name,
            expected=entry.annotation(ANNOTATION) or Reason.PROCESS_EXITED,
            actual=entry.end.reason if entry.end else "",
        )
        for entry in entries
        if not entry.leaving
    )
