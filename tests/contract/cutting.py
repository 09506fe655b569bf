"""A way to the API server that can be cut: a relay on this machine, whose connections all break at a word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.config import Credentials, Source


class Relay:
    """Carries bytes both ways, as they come."""

    def __init__(self, host: str, port: int) -> None:
        self.port = 0
        self._there = (host, port)
        self._ends: set[asyncio.WriteTransport] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """While the context is open, it takes connections."""
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            self.cut()
            await asyncio.sleep(0.05)  # an aborted connection ends a little later

    def cut(self) -> None:
        """Break every connection, without a word to either side."""
        for end in self._ends:
            end.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection(*self._there)
            ends = {writer.transport, far_writer.transport}
            self._ends |= ends
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
            self._ends -= ends


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(256 << 10):
            writer.write(chunk)
            await writer.drain()
    writer.close()


@dataclass(frozen=True, slots=True)
class Relayed:
    """A `config.Source` whose API server is reached over a relay."""

    source: Source
    relay: Relay
    name: str

    async def load(self, before: Credentials | None = None) -> Credentials:
        """The credentials, with the relay in the place of the server."""
        found = await self.source.load(before)
        return replace(found, server=f"https://127.0.0.1:{self.relay.port}", server_name=found.server_name or self.name)


@asynccontextmanager
async def relayed(source: Source) -> AsyncIterator[tuple[Client, Relay]]:
    """A client over a relay."""
    server = urlsplit((await source.load()).server)
    assert server.hostname
    relay = Relay(server.hostname, server.port or 443)
    async with relay.listening():
        client = await Client.open(Relayed(source, relay, server.hostname))
        yield client, relay
        await client.aclose()
