"""Moments in the life of a call at which a test stops what an operator and the API server say to each other."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from enum import Enum, auto

REACHED_SECONDS = 30.0


class Point(Enum):
    """What is about to pass, or has just passed."""

    CLAIM_ASKED = auto()
    CLAIM_KEPT = auto()
    START_ASKED = auto()
    START_SENT = auto()
    HALF_TOLD = auto()
    END_ASKED = auto()
    END_KEPT = auto()


class Then(Enum):
    """What becomes of it: it waits, and what comes behind it on the same stream; or that stream breaks."""

    WAIT = auto()
    BREAK = auto()


class Dropped(Exception):
    """What was to pass is not to pass any more."""


@dataclass(frozen=True, slots=True)
class Place:
    """A point in the life of one call; of any call if the name is empty (frames name none)."""

    point: Point
    call: str = ""

    def covers(self, other: Place) -> bool:
        """Whether something at `other` is meant."""
        return self.point is other.point and (not self.call or not other.call or self.call == other.call)


class Moment:
    """The first time that a place is reached; made and ended by a test, endured in the loop of a proxy."""

    def __init__(self, place: Place, then: Then, loop: asyncio.AbstractEventLoop) -> None:
        self.place = place
        self.then = then
        self._loop = loop
        self._reached = threading.Event()
        self._over: asyncio.Future[bool] = loop.create_future()

    @property
    def has_come(self) -> bool:
        """Whether the place was reached, and may have been left again."""
        return self._reached.is_set()

    def wait(self) -> None:
        """Return when the place is reached."""
        assert self._reached.wait(REACHED_SECONDS), f"{self.place} was never reached"

    def pass_on(self) -> None:
        """Let what waits go where it was going."""
        self._loop.call_soon_threadsafe(self._end, True)

    def drop(self) -> None:
        """Let what waits go nowhere; what comes after it passes."""
        self._loop.call_soon_threadsafe(self._end, False)

    def begin(self) -> None:
        """The place is reached."""
        self._reached.set()
        if self.then is Then.BREAK:
            self._end(passes=False)

    async def over(self) -> None:
        """Return when what waits may pass.

        Raises:
            Dropped: it may not.
        """
        if not await asyncio.shield(self._over):
            raise Dropped

    def _end(self, passes: bool) -> None:  # noqa: FBT001 - the argument of a callback
        if not self._over.done():
            self._over.set_result(passes)
