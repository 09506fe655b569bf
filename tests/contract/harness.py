"""What the contract suite needs around a sandbox: requests, a way to run them to their end, and where files lie."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from toolcall_operator import ports
from toolcall_operator.core.outcomes import Cause, Confinement, ExecRequest, ExecResult

PERIOD = 251  # of the bytes that `tool write` writes
MEMORY = 256 << 20
NEARLY_ALL = MEMORY // 32 * 29
"""Above the nine tenths at which a supervisor kills, and far enough below MEMORY for a supervisor beside it: a kernel
whose own limit is met may take the whole container first."""
_NUMBERS = itertools.count(1)


def pattern(size: int) -> bytes:
    """What `tool write` writes."""
    return bytes(range(PERIOD)) * (size // PERIOD) + bytes(range(size % PERIOD))


def marker() -> str:
    """A word that stands in the command line of no other process."""
    return f"marker-{uuid.uuid4()}"


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a call."""

    timeout: float = 60.0
    grace: float = 2.0
    output: int = 16 << 20
    pids: int = 64


DEFAULT = Limits()
UNCONFINED = Confinement()


@dataclass(frozen=True, slots=True)
class Ran:
    """A call that ended."""

    stdout: bytes
    stderr: bytes
    result: ExecResult


def request(
    *argv: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT,
    confinement: Confinement = UNCONFINED,
) -> ExecRequest:
    """A call of its own."""
    return ExecRequest(
        uid=f"call-{os.getpid()}-{next(_NUMBERS)}",
        argv=argv,
        env=env or {},
        stdin=stdin,
        timeout=timedelta(seconds=limits.timeout),
        grace=timedelta(seconds=limits.grace),
        output_bytes=limits.output,
        pids=limits.pids,
        confinement=confinement,
    )


async def gathered(stream: AsyncIterator[bytes]) -> bytes:
    """All that is left of a stream."""
    return b"".join([chunk async for chunk in stream])


async def ended(execution: ports.Execution) -> Ran:
    """Both streams and the result of a call that was started."""
    stdout, stderr = await asyncio.gather(gathered(execution.stdout), gathered(execution.stderr))
    return Ran(stdout, stderr, await execution.result())


async def run(sandbox: ports.Sandbox, wanted: ExecRequest) -> Ran:
    """Start a call and see it to its end."""
    async with sandbox.start(wanted) as execution:
        return await ended(execution)


def resident(pid: int) -> int:
    """The resident memory of a process, in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@dataclass
class Harness:
    """A running sandbox: `tool`, `workspace`, `work` and `spool` are paths inside.

    Outside, `files` holds all it keeps, and `pid` is its supervisor. What a sandbox has not is None; its subclass of
    the suite says which tests that leaves out.
    """

    sandbox: ports.Sandbox
    tool: str
    workspace: str
    work: str = ""
    spool: str = ""
    files: Path | None = None
    pid: int | None = None

    def call(
        self,
        *argv: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits = DEFAULT,
        confinement: Confinement = UNCONFINED,
    ) -> ExecRequest:
        """A call of the test tool."""
        return request(self.tool, *argv, stdin=stdin, env=env, limits=limits, confinement=confinement)

    async def run(
        self,
        *argv: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits = DEFAULT,
        confinement: Confinement = UNCONFINED,
    ) -> Ran:
        """Run the test tool to its end."""
        call = self.call(*argv, stdin=stdin, env=env, limits=limits, confinement=confinement)
        return await run(self.sandbox, call)

    def resident(self) -> int:
        """The resident memory of the supervisor, in bytes."""
        assert self.pid is not None
        return resident(self.pid)

    def files_with(self, text: str) -> list[str]:
        """The files of the sandbox that hold `text`."""
        assert self.files is not None
        found = (file for file in self.files.rglob("*") if file.is_file())
        return [str(file) for file in found if text.encode() in file.read_bytes()]

    def limit_files(self, most: int) -> int:
        """Let the supervisor have only so many open files, and say how many it might have before."""
        assert self.pid is not None
        before, hard = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (most, hard))
        return before

    def parent_of(self, pid: str) -> str:
        """The parent of a process of the sandbox, both as the sandbox counts."""
        return status_of(pid)["PPid"]

    def give_input(self, uid: str, text: str) -> None:
        """Put a file `input` where only the call of this UID may read it."""
        assert self.files is not None
        folder = self.files / "work" / "in" / uid
        folder.mkdir()
        (folder / "input").write_text(text)

    async def until_exited(self, uid: str) -> None:
        """Wait until the sandbox knows the end of a call."""
        for _ in range(1000):
            if (await self.sandbox.calls())[uid] is ports.CallState.EXITED:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the call does not end")

    async def pids(self, word: str) -> list[int]:
        """The processes in the sandbox that have `word` among their arguments, as a call in it sees them."""
        found = await self.run("find-pids", word)
        assert found.result.cause is Cause.EXITED
        assert found.result.code == 0
        return [int(line) for line in found.stdout.split()]


def status_of(pid: str) -> Mapping[str, str]:
    """What /proc says of a process, as this machine counts."""
    lines = (line.partition(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {name: text.strip() for name, _, text in lines}


FURNITURE = (("plain", "no program, and not executable", 0o644), ("text", "no program", 0o755))
"""What the suite expects in a workspace, besides the tool: name, text, mode."""


def furnish(workspace: Path) -> None:
    """Put what the suite expects into a workspace."""
    for name, text, mode in FURNITURE:
        (workspace / name).write_text(text)
        (workspace / name).chmod(mode)


async def ready(execution: ports.Execution) -> None:
    """Wait until the tool said that it is up."""
    assert await anext(execution.stdout) == b"ready\n"
