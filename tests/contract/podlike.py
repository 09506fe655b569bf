"""A pod without Kubernetes as the suites run it: `serve` is process 1 of its own namespaces, reached by `connect`."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.contract import harness, pods
from tests.contract.harness import MEMORY
from tests.contract.pods import PodConnector, PodHarness
from tests.contract.programs import CHECKOUT

_PODLIKE = str(CHECKOUT / "tests" / "podlike" / "podlike")
_TOOL = "/opt/toolcall/tool"
_USER = 1000
_FOLDERS = {
    "workspace": pods.WORKSPACE,
    "work": pods.WORK,
    "private": pods.PRIVATE,
    "tmp": pods.TMP,
    "spool": pods.SPOOL,
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a pod is made of; its folders lie below `root`."""

    supervisor: Path
    tool: Path
    root: Path
    env: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    """Of serve, besides those that every pod has."""

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
        serve = ["--key-sha256", hashlib.sha256(pods.KEY).hexdigest(), "--memory", str(MEMORY), *self.flags]
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

    def terminate(self) -> None:
        """Tell it to end, as a kubelet does."""
        os.kill(self.pid, signal.SIGTERM)

    def stop(self) -> None:
        """End it, as a kubelet in a hurry does."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@dataclass
class PodlikeHarness(PodHarness):
    """A harness that does from outside what the kernel lets the machine do."""

    @property
    def _serve(self) -> str:
        return str(self.pid)

    def give_input(self, uid: str, text: str) -> None:
        """As the supervisor would, for the user of the pod."""
        super().give_input(uid, text)
        assert self.files is not None
        folder = self.files / "work" / "in" / uid
        _hand_over(folder)
        _hand_over(folder / "input")

    def parent_of(self, pid: str) -> str:
        """The grandchild of serve with this number inside names its parent outside, which has a number inside too."""
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                status = harness.status_of(folder.name)
                parent = harness.status_of(status["PPid"])
                if parent["PPid"] == self._serve and status["NSpid"].split()[-1] == pid:
                    return parent["NSpid"].split()[-1]
        raise AssertionError(f"no process {pid} below a shim of the pod")

    def limit_files(self, most: int) -> int:
        """As its own user: root outside may lack the capability for it."""
        enter = [_PODLIKE, "enter", self._serve, "--"]
        said = subprocess.check_output(
            [*enter, "prlimit", "--pid", "1", "--nofile", "--noheadings", "--output", "SOFT"]
        )
        subprocess.run([*enter, "prlimit", "--pid", "1", f"--nofile={most}:"], check=True)
        return int(said)


@asynccontextmanager
async def running(recipe: Recipe) -> AsyncIterator[PodlikeHarness]:
    """A pod with the suite's files, and a connection to it; it is gone afterwards."""
    recipe.furnish()
    pod = Pod(recipe)
    try:
        connector = PodConnector(pod)
        sandbox = await pods.opened(connector, pods.OURS)
        yield PodlikeHarness(
            sandbox=sandbox,
            tool=_TOOL,
            workspace=pods.WORKSPACE,
            work=pods.WORK,
            spool=pods.SPOOL,
            files=recipe.root,
            pid=pod.pid,
            pod=pod,
            connector=connector,
        )
        await sandbox.close()
    finally:
        pod.stop()
