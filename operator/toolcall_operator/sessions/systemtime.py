"""The time of day, and waiting for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

_LONGEST_SECONDS = 300.0
"""A machine that slept, or whose clock was set, is noticed after this."""


class SystemTime:
    """Implements `sessions.ports.Time`."""

    def now(self) -> datetime:
        """Now, in UTC."""
        return datetime.now(UTC)

    async def wait(self, event: asyncio.Event, until: datetime | None) -> None:
        """Return when `event` is set, or it is `until`; or sooner, if that is far away."""
        seconds = None if until is None else min(max((until - self.now()).total_seconds(), 0.0), _LONGEST_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
