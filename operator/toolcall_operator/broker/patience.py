"""Asks a server that is in trouble again, for a while."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import stamina

from toolcall_operator import errors
from toolcall_operator.core.exchange import Answer, Request
from toolcall_operator.ports import Egress

PATIENCE_SECONDS = 10.0
"""So long a server that is in trouble is asked again."""

_LEAST_SECONDS = 1.0
_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500


class _Busy(errors.Unavailable):
    """The server answered that it may answer otherwise later."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"status {answer.status}")
        self.answer = answer


async def answer(egress: Egress, request: Request) -> Answer:
    """The answer, the last one if all say that there is trouble.

    Raises:
        Denied: it must not be sent.
        Unavailable: there was none.
    """
    time = asyncio.get_running_loop().time
    until = time() + PATIENCE_SECONDS

    async def once() -> Answer:
        left = timedelta(seconds=max(until - time(), _LEAST_SECONDS))
        found = await egress.send(replace(request, timeout=left))
        if found.status == _TOO_MANY_REQUESTS or found.status >= _SERVER_ERROR:
            raise _Busy(found)
        return found

    again = stamina.retry(
        on=errors.Unavailable, attempts=5, timeout=PATIENCE_SECONDS, wait_initial=0.2, wait_max=3.0, wait_jitter=0.2
    )
    try:
        return await again(once)()
    except _Busy as busy:
        return busy.answer
