"""A program that runs in a container of a pod, as two byte streams over one websocket, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import aiohttp
import pydantic_core

from toolcall_operator import errors

SUBPROTOCOL = "v5.channel.k8s.io"
"""Binary messages, each of one channel, which its first byte names."""

_STDIN, _STDOUT, _STDERR, _STATUS, _CLOSED = 0, 1, 2, 3, 255
_MESSAGE = 64 << 10
_LAST_WORDS = 2048
_STATUS_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Ending:
    """What the API server says of the end: the exit code, or why there is none."""

    code: int | None
    message: str = ""

    @classmethod
    def parse(cls, status: bytes) -> Ending:
        """Read the Status object that comes last; whatever is not one tells of no exit code."""
        try:
            said: Any = pydantic_core.from_json(status)
        except ValueError:
            said = None
        if not isinstance(said, Mapping):
            return cls(None, "the API server told its end in an unknown way")
        if said.get("status") == "Success":
            return cls(0)
        return cls(_exit_code(said), errors.foreign(str(said.get("message") or "")))


def _exit_code(status: Mapping[str, Any]) -> int | None:
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, Mapping) else None
    for cause in causes if isinstance(causes, list) else []:
        if isinstance(cause, Mapping) and cause.get("reason") == "ExitCode":
            text = str(cause.get("message"))
            return int(text) if text.isdecimal() else None
    return None


class ExecStream:
    """The program's standard input is written, its output is read; of its standard error the end is kept.

    A `link.Reader` and `link.Writer` in one. What is written goes out in one task, in order, as fast as the API server
    takes it. `ending` is None unless the API server told of an end: then the stream was interrupted, or still flows.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.ending: Ending | None = None
        self._socket = socket
        self._outgoing = bytearray()
        self._incoming = b""
        self._stderr = bytearray()
        self._broken = False
        self._written = asyncio.Event()
        self._sent = asyncio.Event()
        self._sent.set()
        self._sending = asyncio.create_task(self._send())

    def write(self, data: bytes) -> None:
        """Queue `data`; never blocks, and is nothing once the stream has ended."""
        if not self._broken:
            self._outgoing += data
            self._sent.clear()
            self._written.set()

    async def drain(self) -> None:
        """Wait until what was written is on its way.

        Raises:
            ConnectionResetError: the stream has ended.
        """
        await self._sent.wait()
        if self._broken:
            raise ConnectionResetError("the exec stream has ended")

    async def read(self, n: int) -> bytes:
        """Between 1 and `n` bytes of standard output, or none at the end.

        Raises:
            ConnectionResetError: the stream broke.
        """
        while not self._incoming:
            message = await self._socket.receive()
            match message.type:
                case aiohttp.WSMsgType.BINARY:
                    self._take(message.data)
                case aiohttp.WSMsgType.CLOSE | aiohttp.WSMsgType.CLOSING | aiohttp.WSMsgType.CLOSED:
                    return b""
                case _:
                    raise ConnectionResetError("the exec stream broke")
        taken, self._incoming = self._incoming[:n], self._incoming[n:]
        return taken

    @property
    def last_words(self) -> str:
        """Why the program ended, as far as it or the API server said so; empty when neither did."""
        lines = [line for line in self._stderr.decode(errors="replace").splitlines() if line.strip()]
        if lines:
            return errors.foreign(lines[-1])
        return self.ending.message if self.ending is not None else ""

    async def close(self) -> None:
        """End the stream, with which the program's standard input ends; nothing is raised, and twice is once."""
        self._sending.cancel()
        self._give_up()
        with suppress(OSError, aiohttp.ClientError, TimeoutError):  # It is closed all the same.
            await self._socket.close()

    def _take(self, message: bytes) -> None:
        channel = message[0] if message else _CLOSED
        if channel == _STDOUT:
            self._incoming = message[1:]
        elif channel == _STDERR:
            self._stderr += message[1:]
            del self._stderr[:-_LAST_WORDS]
        elif channel == _STATUS and len(message) > 1:
            self.ending = Ending.parse(message[1:_STATUS_BYTES])

    async def _send(self) -> None:
        """Send what is queued, several small writes in one message."""
        try:
            while await self._written.wait():
                message = bytes((_STDIN,)) + self._outgoing[:_MESSAGE]
                del self._outgoing[:_MESSAGE]
                await self._socket.send_bytes(message)
                if not self._outgoing:
                    self._written.clear()
                    self._sent.set()
        except (OSError, aiohttp.ClientError):
            self._give_up()

    def _give_up(self) -> None:
        self._broken = True
        self._outgoing.clear()
        self._sent.set()
