"""Servers outside that are a script."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from toolcall_operator import errors
from toolcall_operator.core import exchange
from toolcall_operator.core.exchange import Answer, Request

Part = Answer | errors.OperatorError | Callable[[Request], Answer | Awaitable[Answer]]
"""What comes back: an answer, a fault, or what a function makes of the request (it may wait)."""


@dataclass
class FakeEgress:
    """Implements `ports.Egress`: what `script` says for a URL, its last part again and again.

    `sent` holds every request that left, in order. A malformed request is refused and does not leave; one to a URL
    without a script finds nobody. A body that is larger than asked for and a part that takes too long fail as they do
    outside.
    """

    scripts: dict[str, list[Part]] = field(default_factory=dict)
    sent: list[Request] = field(default_factory=list)

    def script(self, url: str, *parts: Part) -> None:
        """From now on this is what `url` answers, one part after the other."""
        self.scripts[url] = list(parts)

    def sent_to(self, url: str) -> list[Request]:
        """The requests that left for `url`."""
        return [request for request in self.sent if request.url == url]

    async def send(self, request: Request) -> Answer:
        """The next part of the script."""
        if trouble := exchange.objection(request):
            raise errors.Denied(f"a request is not sent: {trouble}")
        answer = await self._answer(request)
        if len(answer.body) > request.answer_bytes:
            raise errors.Unavailable(f"the answer has more than {request.answer_bytes} bytes")
        return answer

    async def _answer(self, request: Request) -> Answer:
        parts = self.scripts.get(request.url) or [errors.Unavailable("nobody is there")]
        part = parts.pop(0) if len(parts) > 1 else parts[0]
        if not isinstance(part, errors.Denied):
            self.sent.append(request)
        if isinstance(part, errors.OperatorError):
            raise part
        return part if isinstance(part, Answer) else await _in_time(part, request)


async def _in_time(part: Callable[[Request], Answer | Awaitable[Answer]], request: Request) -> Answer:
    try:
        async with asyncio.timeout(request.timeout.total_seconds()):
            made = part(request)
            return await made if inspect.isawaitable(made) else made
    except TimeoutError:
        raise errors.Unavailable("no whole answer came in time") from None
