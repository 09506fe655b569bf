"""Requests to servers outside, as the port wants them."""

from __future__ import annotations

import asyncio
import logging

from toolcall_operator import errors
from toolcall_operator.adapters.egress import asking, troubles, trust
from toolcall_operator.adapters.egress.asking import Target
from toolcall_operator.adapters.egress.connections import Connections
from toolcall_operator.adapters.egress.dialing import Dialer
from toolcall_operator.adapters.egress.lookup import Resolver, SystemResolver
from toolcall_operator.adapters.egress.policy import Policy
from toolcall_operator.core import exchange
from toolcall_operator.core.exchange import Answer, Request

# At DEBUG and INFO the libraries write of URLs, and of all headers of an answer.
_TALKATIVE = ("httpx", "httpcore", "httpcore.connection", "httpcore.http11")


class HttpEgress:
    """Implements `ports.Egress` over HTTP/1.1; `aclose` ends its connections.

    There are no redirects, cookies, proxies or passwords here that could be on by accident: what is sent is the
    request, once.
    """

    def __init__(self, policy: Policy, resolver: Resolver | None = None) -> None:
        """Make it ready; nothing is connected yet.

        Raises:
            Unavailable: the policy's file of CAs cannot be used.
        """
        for name in _TALKATIVE:
            logging.getLogger(name).setLevel(logging.WARNING)
        dialer = Dialer(policy, resolver or SystemResolver(), trust.context(policy.ca))
        self._connections = Connections(dialer.dial)

    async def send(self, request: Request) -> Answer:
        """The answer, whatever its status.

        Raises:
            Denied: it must not be sent, for where it goes or what it holds; nothing was sent.
            Unavailable: there was no whole answer in time, or it is too large. The text names the host, and no more.
        """
        if objection := exchange.objection(request):
            raise errors.Denied(f"a request is not sent: {objection}")
        outcome = await self._outcome(asking.target(request), request)
        if isinstance(outcome, errors.OperatorError):
            raise outcome  # here, outside of every `except`: no text of a library hangs on the chain of it
        return outcome

    async def aclose(self) -> None:
        """Close every connection: requests that are under way fail, and no other begins."""
        await self._connections.aclose()

    async def _outcome(self, to: Target, request: Request) -> Answer | errors.OperatorError:
        try:
            async with asyncio.timeout(request.timeout.total_seconds()), self._connections.to(to.origin) as connection:
                return await asking.answer(connection, to, request)
        except errors.OperatorError as error:
            return error
        except troubles.EXPECTED as error:
            return troubles.unavailable(to.origin, troubles.told(error))
