"""What becomes of a fault of ours: tried again, shown on the call, and in the end the end of it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

import stamina

from toolcall_operator.core import status
from toolcall_operator.core.outcomes import Lost, Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.errors import Rejected, Unavailable
from toolcall_operator.ports import Ports
from toolcall_operator.reconcile.record import Record

T = TypeVar("T")

FIRST_PAUSE = 0.1
"""Seconds between the first attempt and the second; those that follow come at growing intervals."""


def fault(record: Record, message: str) -> Refused | Lost:
    """The end of a call that a lasting fault of ours kept from running."""
    end = Lost if status.is_claimed(record.call) else Refused
    return end(Reason.RECONCILE_FAILED, message)


def budget(record: Record, ports: Ports, grace: timedelta) -> timedelta:
    """How long faults are put up with from now on.

    A claimed call may be running: it is reached for as long as its supervisor would still know how it ended.
    """
    started_at = record.call.status.started_at if record.call.status else None
    if not status.is_claimed(record.call) or started_at is None:
        return ports.fault_budget
    passed = ports.now() - started_at
    return max(record.call.spec.timeout + grace + ports.retention - passed, ports.fault_budget)


async def retried(
    attempt: Callable[[], Awaitable[T]], record: Record, ports: Ports, grace: timedelta = timedelta()
) -> T:
    """What `attempt` returns, tried again while our side is unavailable and the budget lasts; that shows on the call.

    The budget counts from the first fault: an attempt itself may last as long as a call.

    Raises:
        Unavailable: the budget is spent.
    """
    time = asyncio.get_running_loop().time
    until = math.inf

    async def shown() -> T:
        nonlocal until
        try:
            return await attempt()
        except Unavailable as trouble:
            until = min(until, time() + budget(record, ports, grace).total_seconds())
            with suppress(Unavailable, Rejected):  # the same fault may keep us from showing it
                await record.write(status.retrying(record.call, str(trouble), ports.now()))
            raise

    def bearable(error: Exception) -> bool:
        return isinstance(error, Unavailable) and time() < until

    return await _repeated(shown, bearable, 10.0)


async def as_often_as_it_takes(attempt: Callable[[], Awaitable[T]]) -> T:
    """What `attempt` returns, tried again while our side is unavailable."""
    return await _repeated(attempt, lambda error: isinstance(error, Unavailable), 30.0)


async def _repeated(
    attempt: Callable[[], Awaitable[T]], bearable: Callable[[Exception], bool], longest_pause: float
) -> T:
    """What `attempt` returns, tried twice, and then again as long as its errors are `bearable`."""
    with suppress(Unavailable):  # nearly every attempt is the only one, and to prepare for more costs more than it
        return await attempt()
    await asyncio.sleep(FIRST_PAUSE)
    return await stamina.retry(on=bearable, attempts=None, timeout=None, wait_max=longest_pause)(attempt)()
