"""What the contract suite needs around a sandbox: requests, a way to run them to their end, and where files lie."""

from __future__ import annotations

import asyncio
import itertools
import os
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from toolcall_operator import ports
from toolcall_operator.core.outcomes import Cause, ExecRequest, ExecResult

PERIOD = 251  # of the bytes that `tool write` writes
MEMORY = 256 << 20
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


@dataclass(frozen=True, slots=True)
class Ran:
    """A call that ended."""

    stdout: bytes
    stderr: bytes
    result: ExecResult


def request(
    *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, limits: Limits = DEFAULT
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
    """A running sandbox: `tool` and `workspace` are paths inside, `files` is where all it keeps lies outside.

    `pid` is its supervisor. What a sandbox has not is None; its subclass of the suite says which tests that leaves out.
    """

    sandbox: ports.Sandbox
    tool: str
    workspace: str
    files: Path | None = None
    pid: int | None = None
    break_connection: Callable[[], None] = field(default=lambda: None)

    def call(
        self,
        *argv: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits = DEFAULT,
    ) -> ExecRequest:
        """A call of the test tool."""
        return request(self.tool, *argv, stdin=stdin, env=env, limits=limits)

    async def run(
        self,
        *argv: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits = DEFAULT,
    ) -> Ran:
        """Run the test tool to its end."""
        return await run(self.sandbox, self.call(*argv, stdin=stdin, env=env, limits=limits))

    async def pids(self, word: str) -> list[int]:
        """The processes in the sandbox that have `word` among their arguments, as a call in it sees them."""
        found = await self.run("find-pids", word)
        assert found.result.cause is Cause.EXITED
        assert found.result.code == 0
        return [int(line) for line in found.stdout.split()]


async def ready(execution: ports.Execution) -> None:
    """Wait until the tool said that it is up."""
    assert await anext(execution.stdout) == b"ready\n"
