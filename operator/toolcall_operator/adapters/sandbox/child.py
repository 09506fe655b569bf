"""A child process that speaks frames on its standard input and output, and whose last words are kept."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolcall_operator import errors
from toolcall_operator.adapters.sandbox.link import Link
from toolcall_operator.core.reasons import Reason

_END_SECONDS = 5.0
_WORDS_SECONDS = 0.2
_LAST_WORDS = 2048
_BUFFER = 256 << 10


class Child:
    """A `link.Connector` that connects once, to the process it started: when that link ends, so has the process."""

    def __init__(
        self, process: subprocess.Popen[bytes], streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], tail: _Tail
    ) -> None:
        self._process = process
        self._reader, self._writer = streams
        self._tail = tail
        self._connected = False

    @classmethod
    async def start(cls, command: Sequence[str], env: Mapping[str, str], folder: Path) -> Child:
        """Start `command` in `folder`, with exactly the environment `env`.

        It gets a session of its own: a Ctrl-C on the terminal is ours to handle.

        Raises:
            Unavailable: it could not be started.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = _popen(command, env, folder, theirs)
        except OSError as error:
            ours.close()
            raise errors.Unavailable(f"{Path(command[0]).name} could not be started: {error.strerror}") from error
        _, tail = await asyncio.get_running_loop().connect_read_pipe(_Tail, process.stderr)
        return cls(process, await asyncio.open_unix_connection(sock=ours, limit=_BUFFER), tail)

    async def connect(self) -> Link:
        """The one link there is; SandboxLost when it was used before."""
        if self._connected:
            raise errors.SandboxLost(Reason.SANDBOX_GONE, f"the local supervisor has ended{self.last_words()}")
        self._connected = True
        return Link(self._reader, self._writer, self._hang_up)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def last_words(self) -> str:
        """The last line it wrote to its standard error, as the end of a sentence; empty when it wrote none."""
        lines = self._tail.text.decode(errors="replace").split("\n")
        words = [line for line in lines if line.strip()]
        return f" (it said: {errors.foreign(words[-1])})" if words else ""

    async def close(self) -> None:
        """Let it end by itself, which the end of its input asks for; kill it after five seconds."""
        await self._hang_up()
        try:
            await asyncio.to_thread(self._process.wait, _END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)
        # Its own children may hold the pipe a moment longer than it lived.
        await asyncio.wait({self._tail.ended}, timeout=_WORDS_SECONDS)
        self._tail.close()
        self._writer.close()

    async def _hang_up(self) -> None:
        """Close our half only: a child that still writes must not die of SIGPIPE while it ends its calls."""
        if not self._writer.transport.is_closing():
            self._writer.write_eof()


class _Tail(asyncio.Protocol):
    """Keeps the end of what is written to it, and lets the rest go."""

    def __init__(self) -> None:
        self.text = bytearray()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.text += data
        del self.text[:-_LAST_WORDS]

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _popen(
    command: Sequence[str], env: Mapping[str, str], folder: Path, stdio: socket.socket
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own binary, and no shell
        command,
        stdin=stdio.fileno(),
        stdout=stdio.fileno(),
        stderr=subprocess.PIPE,
        env=dict(env),
        cwd=folder,
        start_new_session=True,
    )
