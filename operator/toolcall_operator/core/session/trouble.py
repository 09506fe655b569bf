"""When to try again what did not work, and when to tell people of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

SILENT = timedelta(seconds=10)
"""Trouble that passes sooner is not worth a write."""

FORGOTTEN = timedelta(minutes=5)
"""What goes wrong later than this after the last time is a new trouble."""


class Kind(StrEnum):
    """Whose trouble it is, as the reason of a condition."""

    LACKING = "Creating"
    RETRYING = "Retrying"
    REJECTED = "Rejected"
    UNREACHABLE = "SandboxUnreachable"


# The first pause, and the longest: the pauses in between double.
_PAUSES = {
    Kind.LACKING: (timedelta(seconds=3), timedelta(seconds=3)),  # what people make next to the session
    Kind.RETRYING: (timedelta(milliseconds=250), timedelta(seconds=30)),
    Kind.REJECTED: (timedelta(seconds=5), timedelta(seconds=60)),  # quota, or a rule of the cluster: people act slowly
    Kind.UNREACHABLE: (timedelta(seconds=1), timedelta(seconds=30)),
}
_MOST_DOUBLINGS = 16


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong `count` times, the first time at `since` and the last time at `last`."""

    kind: Kind
    message: str
    since: datetime
    last: datetime
    count: int = 1

    @property
    def retry_at(self) -> datetime:
        """When to try again."""
        return self.last + pause(self.count, _PAUSES[self.kind])

    def is_worth_telling(self, now: datetime) -> bool:
        """Whether people should hear of it: what they have to mend at once, the rest when it lasts."""
        return self.kind in {Kind.LACKING, Kind.REJECTED} or now >= self.since + SILENT


def pause(count: int, pauses: tuple[timedelta, timedelta]) -> timedelta:
    """The pause after something went wrong `count` times in a row: the first of `pauses`, doubled up to the second."""
    first, longest = pauses
    doublings: int = min(count - 1, _MOST_DOUBLINGS)
    return min(first * (1 << doublings), longest)


def again(old: Trouble | None, kind: Kind, message: str, now: datetime) -> Trouble:
    """The trouble after it went wrong once more; `old` is how it stood before."""
    if old is None or old.kind is not kind or now > old.last + FORGOTTEN:
        return Trouble(kind, message, now, now)
    return Trouble(kind, message, old.since, now, old.count + 1)
