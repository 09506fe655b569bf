"""Waiting for the time of day."""

from __future__ import annotations

import asyncio
from datetime import UTC, timedelta

from toolcall_operator.sessions import SystemTime


async def test_a_wait_ends_when_the_event_is_set() -> None:
    event, time = asyncio.Event(), SystemTime()
    asyncio.get_running_loop().call_later(0.01, event.set)

    async with asyncio.timeout(5):
        await time.wait(event, time.now() + timedelta(hours=1))
        await time.wait(event, None)


async def test_a_wait_ends_at_its_time_and_at_once_when_that_has_passed() -> None:
    event, time = asyncio.Event(), SystemTime()
    until = time.now() + timedelta(milliseconds=20)

    async with asyncio.timeout(5):
        await time.wait(event, until)
        assert time.now() >= until - timedelta(milliseconds=1)
        await time.wait(event, until - timedelta(hours=1))

    assert not event.is_set()
    assert time.now().tzinfo is UTC
