"""A pod without Kubernetes as the suites run it: `serve` is process 1 of its own namespaces, reached by `connect`."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.contract import harness
from tests.contract.harness import MEMORY, Harness
from tests.contract.programs import CHECKOUT
from toolcall_operator import errors
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.link import Identity, Link
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox

_PODLIKE = str(CHECKOUT / "tests" / "podlike" / "podlike")
_SUPERVISOR, _TOOL = "/opt/toolcall/supervisor", "/opt/toolcall/tool"
_USER = 1000
KEY = bytes(range(32))
_FOLDERS = {"workspace": "/workspace", "work": "/work", "tmp": "/tmp", "spool": "/run/toolcall"}  # noqa: S108 - in the pod


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a pod is made of; its folders lie below `root`."""

    supervisor: Path
    tool: Path
    root: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def furnish(self) -> None:
        """Make the folders, for the user of the pod."""
        for name in (*_FOLDERS, "work/in"):
            folder = self.root / name
            folder.mkdir(parents=True, exist_ok=True)
            _hand_over(folder)
        harness.furnish(self.root / "workspace")

    def command(self) -> list[str]:
        """The command line that starts it."""
        binds = [word for name, inside in _FOLDERS.items() for word in ("--bind", f"{self.root / name}:{inside}")]
        programs = ["--supervisor", str(self.supervisor), "--tool", str(self.tool)]
        serve = ["--key-sha256", hashlib.sha256(KEY).hexdigest(), "--memory", str(MEMORY)]
        return [_PODLIKE, "start", *programs, *binds, "--", *serve]


def _hand_over(path: Path) -> None:
    """Make `path` the pod's user's."""
    if os.getuid() == 0:
        os.chown(path, _USER, _USER)


class Pod:
    """A running pod; `pid` is its serve, as this machine counts."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        env = {"PATH": os.environ["PATH"], **self.recipe.env}
        process = subprocess.Popen(self.recipe.command(), stdout=subprocess.PIPE, env=env, start_new_session=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the pod did not start"
        self.pid = int(line)
        return process

    def enter(self, stdio: int, *words: str) -> subprocess.Popen[bytes]:
        """Start a program in it, as an exec does."""
        command = [_PODLIKE, "enter", str(self.pid), "--", *words]
        return subprocess.Popen(command, stdin=stdio, stdout=stdio, stderr=subprocess.DEVNULL, start_new_session=True)

    def restart(self) -> None:
        """Another life of the same pod: its processes are gone."""
        self.stop()
        self._process = self._start()

    def stop(self) -> None:
        """End it, as a kubelet in a hurry does."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


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
            process = self._process = self._pod.enter(theirs.fileno(), _SUPERVISOR, "connect")
        self.connections += 1
        reader, writer = await asyncio.open_unix_connection(sock=ours)

        async def close() -> None:
            process.kill()
            await asyncio.to_thread(process.wait)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

        return Link(reader, _Watched(writer, self), close)


class _Watched:
    """A writer whose connector sees what it writes."""

    def __init__(self, writer: asyncio.StreamWriter, connector: PodConnector) -> None:
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

    def give_input(self, uid: str, text: str) -> Path:
        """As the supervisor would, for the user of the pod."""
        folder = super().give_input(uid, text)
        _hand_over(folder)
        _hand_over(folder / "input")
        return folder

    def parent_of(self, pid: str) -> str:
        """The grandchild of serve with this number inside names its parent outside, which has a number inside too."""
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                status = harness.status_of(folder.name)
                parent = harness.status_of(status["PPid"])
                if parent["PPid"] == str(self.pod.pid) and status["NSpid"].split()[-1] == pid:
                    return parent["NSpid"].split()[-1]
        raise AssertionError(f"no process {pid} below a shim of the pod")

    def limit_files(self, most: int) -> int:
        """As its own user: root outside may lack the capability for it."""
        enter = [_PODLIKE, "enter", str(self.pod.pid), "--"]
        said = subprocess.check_output(
            [*enter, "prlimit", "--pid", "1", "--nofile", "--noheadings", "--output", "SOFT"]
        )
        subprocess.run([*enter, "prlimit", "--pid", "1", f"--nofile={most}:"], check=True)
        return int(said)

    def terminate(self) -> None:
        """Tell the pod to end, as a kubelet does."""
        os.kill(self.pod.pid, signal.SIGTERM)


async def opened(connector: PodConnector, identity: Identity) -> SupervisedSandbox:
    """The sandbox of a pod, whose serve may not listen yet."""
    while True:
        try:
            return await SupervisedSandbox.open(connector, identity, Patience())
        except errors.Unavailable:
            await asyncio.sleep(0.05)


@asynccontextmanager
async def running(recipe: Recipe) -> AsyncIterator[PodHarness]:
    """A pod with the suite's files, and a connection to it; it is gone afterwards."""
    recipe.furnish()
    pod = Pod(recipe)
    try:
        connector = PodConnector(pod)
        sandbox = await opened(connector, Identity(KEY, epoch=5, client="suite"))
        yield PodHarness(
            sandbox=sandbox,
            tool=_TOOL,
            workspace="/workspace",
            work="/work",
            spool="/run/toolcall",
            files=recipe.root,
            pid=pod.pid,
            pod=pod,
            connector=connector,
        )
        await sandbox.close()
    finally:
        pod.stop()
