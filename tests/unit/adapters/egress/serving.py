"""A server on loopback that says, byte for byte, what it was told to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus

Play = bytes | Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""What it says to one request: these bytes, or whatever a function does with the connection."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived; `connection` counts from 1."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int


@dataclass
class Server:
    """Plays one part after the other, the last one again and again.

    `arrived` is set when a request has come, `left` when a client has hung up.
    """

    plays: list[Play]
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    scheme: str = "http"
    host: str = "127.0.0.1"
    port: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    _listening: asyncio.Server | None = None
    _talks: dict[asyncio.Task[None], asyncio.StreamWriter] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        """Its origin, as an opening names it."""
        return self.named(f"[{self.host}]" if ":" in self.host else self.host)

    def named(self, host: str) -> str:
        """Its origin under another name."""
        return f"{self.scheme}://{host}:{self.port}"

    def hang_up(self) -> None:
        """Break every connection."""
        for writer in self._talks.values():
            writer.transport.abort()

    async def start(self, tls: ssl.SSLContext | None) -> None:
        """Take connections, at a free port."""
        self._listening = await asyncio.start_server(self._accept, self.host, 0, ssl=tls)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Take no connections any more, and end those that are there."""
        assert self._listening is not None
        self._listening.close()
        self.hang_up()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._talks[asyncio.ensure_future(self._talk(reader, writer, self.connections))] = writer

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                self.asked.append(await _read(reader, number))
                self.arrived.set()
                await self._play(reader, writer)
        self.left.set()
        writer.close()

    async def _play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        play = self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]
        if isinstance(play, bytes):
            writer.write(play)
        else:
            await play(reader, writer)
        await writer.drain()


def said(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    """A whole answer; underscores of header names are hyphens."""
    lines = {"Content-Length": str(len(body))} | {name.replace("_", "-"): value for name, value in headers.items()}
    return head(status, **lines) + body


def head(status: int = 200, **headers: str) -> bytes:
    """The head of an answer."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{lines}\r\n".encode("latin-1")


async def never(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Say nothing, until the client hangs up."""
    await reader.read()


def ends_after(text: bytes) -> Play:
    """A server that says this and hangs up."""

    async def play(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        await writer.drain()
        writer.close()

    return play


@asynccontextmanager
async def serving(*plays: Play, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server, for as long as the context is open."""
    server = Server(list(plays or (said(),)), scheme="https" if tls else "http", host=host)
    await server.start(tls)
    try:
        yield server
    finally:
        await server.stop()


async def _read(reader: asyncio.StreamReader, connection: int) -> Asked:
    request, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
    method, target, _ = request.split(" ")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, target, headers, body, connection)
