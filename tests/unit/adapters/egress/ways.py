"""Ways out for a test, and what it sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from tests.unit.adapters.egress.names import Names
from toolcall_operator.adapters.egress.egress import HttpEgress
from toolcall_operator.adapters.egress.policy import Policy
from toolcall_operator.core.exchange import Answer, Request

SECRET = "s3cr3t-0123456789"
SHORT = timedelta(milliseconds=200)


@asynccontextmanager
async def opened(*openings: str, ca: Path | None = None, names: Names | None = None) -> AsyncIterator[HttpEgress]:
    """A way out with these openings, for as long as the context is open."""
    egress = HttpEgress(Policy.parse(openings, ca), names)
    try:
        yield egress
    finally:
        await egress.aclose()


def get(url: str, timeout: timedelta = timedelta(seconds=20)) -> Request:
    """A plain question."""
    return Request("GET", url, timeout=timeout)


async def cancelled(sending: Iterable[asyncio.Task[Answer]]) -> None:
    """Cancel requests, and wait for their end."""
    for task in sending:
        task.cancel()
    await asyncio.gather(*sending, return_exceptions=True)
