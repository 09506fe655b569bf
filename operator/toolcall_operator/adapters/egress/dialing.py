"""A connection to an origin, at an address that was judged."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpcore

from toolcall_operator.adapters.egress import troubles
from toolcall_operator.adapters.egress.lookup import Resolver
from toolcall_operator.adapters.egress.policy import Policy
from toolcall_operator.core.exchange import Origin

Stream = httpcore.AsyncNetworkStream

# An address that swallows packets is given up for the next one; only the deadline of the request ends the last.
_ADDRESS_SECONDS = 4.0
_MOST_ADDRESSES = 8


@dataclass(frozen=True, slots=True)
class Dialer:
    """Connects to whom the policy allows; nobody else here looks up a name or connects.

    The addresses that were judged are the ones that are dialled: no second lookup could say something else. A
    certificate is verified for the host's name all the same.
    """

    policy: Policy
    resolve: Resolver
    trust: ssl.SSLContext
    network: httpcore.AsyncNetworkBackend = field(default_factory=httpcore.AnyIOBackend)

    async def dial(self, origin: Origin) -> Stream:
        """A connection over which the first request can be sent.

        Raises:
            Denied: the policy has an objection; nothing was sent.
            httpcore.ConnectError, httpcore.ConnectTimeout, OSError: it did not come to be.
        """
        if objection := self.policy.objection(origin):
            raise troubles.denied(origin, objection)
        found = await self.resolve(origin.host, origin.port)
        if not found:
            raise socket.gaierror("no address")
        if objection := self.policy.objection_to(found, origin):
            raise troubles.denied(origin, objection)
        stream = await self._first(found[:_MOST_ADDRESSES], origin.port)
        return await self._secured(stream, origin) if origin.scheme == "https" else stream

    async def _first(self, found: Sequence[str], port: int) -> Stream:
        """A connection to the first address that takes one."""
        for address in found[:-1]:
            try:
                return await self.network.connect_tcp(address, port, timeout=_ADDRESS_SECONDS)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self.network.connect_tcp(found[-1], port)

    async def _secured(self, stream: Stream, origin: Origin) -> Stream:
        try:
            return await stream.start_tls(self.trust, server_hostname=origin.host)
        except BaseException:  # cancelled, too: a stream that nobody has is a socket that stays
            await stream.aclose()
            raise
