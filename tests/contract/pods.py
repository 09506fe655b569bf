"""What the suites do with a pod of any kind: reach its supervisor by `connect`, cut that connection, be another."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from tests.contract.harness import Harness
from toolcall_operator import errors
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.link import Connector, Identity, Link, Writer
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox

SUPERVISOR = "/opt/toolcall/supervisor"
WORKSPACE, WORK, TMP, SPOOL = "/workspace", "/work", "/tmp", "/run/toolcall"  # noqa: S108 - in the pod
PRIVATE = f"{WORK}/private"
KEY = bytes(range(32))
OURS = Identity(KEY, epoch=5, client="suite")


class Pod(Protocol):
    """A running pod."""

    def enter(self, stdio: int, *words: str) -> subprocess.Popen[bytes]:
        """Start a program in it, as an exec does; killing what is returned ends the exec."""
        ...

    def restart(self) -> None:
        """Another life of the same pod: its processes are gone."""
        ...

    def terminate(self) -> None:
        """Tell it to end, as a kubelet does."""
        ...


class PodConnector:
    """A `link.Connector` that execs `connect` in a pod; `cut` kills it, `wrote` sees everything that is sent."""

    def __init__(self, pod: Pod) -> None:
        self.wrote: Callable[[bytes], None] = lambda _: None
        self.connections = 0
        self._pod = pod
        self._process: subprocess.Popen[bytes] | None = None

    def cut(self) -> None:
        """Kill the `connect` of now."""
        if self._process is not None:
            self._process.kill()

    async def connect(self) -> Link:
        """A new `connect`."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = self._process = self._pod.enter(theirs.fileno(), SUPERVISOR, "connect")
        self.connections += 1
        reader, writer = await asyncio.open_unix_connection(sock=ours)

        async def close() -> None:
            writer.close()  # first: whoever closes may be canceled while it waits
            process.kill()
            await asyncio.to_thread(process.wait)
            with contextlib.suppress(OSError):
                await writer.wait_closed()

        return watched(Link(reader, writer, close), self)


def watched(link: Link, connector: PodConnector) -> Link:
    """The same link, whose connector sees what is written."""
    return replace(link, writer=_Watched(link.writer, connector))


class _Watched:
    """A writer whose connector sees what it writes."""

    def __init__(self, writer: Writer, connector: PodConnector) -> None:
        self._writer = writer
        self._connector = connector

    def write(self, data: bytes) -> None:
        self._writer.write(data)
        self._connector.wrote(data)

    async def drain(self) -> None:
        await self._writer.drain()


@dataclass
class PodHarness(Harness):
    """A harness whose connection can be cut and made again."""

    pod: Pod = field(kw_only=True)
    connector: PodConnector = field(kw_only=True)

    @asynccontextmanager
    async def other(self, identity: Identity) -> AsyncIterator[SupervisedSandbox]:
        """A second connection to the pod, as somebody else."""
        sandbox = await opened(PodConnector(self.pod), identity)
        yield sandbox
        await sandbox.close()

    def terminate(self) -> None:
        """Tell the pod to end, as a kubelet does."""
        self.pod.terminate()


async def opened(connector: Connector, identity: Identity) -> SupervisedSandbox:
    """The sandbox of a pod, whose serve may not listen yet."""
    while True:
        try:
            return await SupervisedSandbox.open(connector, identity, Patience())
        except errors.Unavailable:
            await asyncio.sleep(0.05)
