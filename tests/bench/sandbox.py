"""A sandbox of this machine to measure in, and calls to run in it."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tests.bench.measured import ROOT
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.local import LocalSandbox, LocalSupervisor
from toolcall_operator.core.outcomes import ExecRequest, ExecResult
from toolcall_operator.ports import Sandbox

BASELINE = ROOT / "build" / "baseline"
SUPERVISOR = ROOT / "build" / "supervisor"
TRUE = "/bin/true"
_NUMBERS = itertools.count(1)


def build() -> None:
    """Build what is measured, and what it is measured against."""
    subprocess.run([ROOT / "hack" / "build", "supervisor", "baseline"], check=True)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where measurements may write."""

    folder: Path

    def sandbox(self, name: str) -> LocalSandbox:
        """What a sandbox of this name is made of: confined as every sandbox is."""
        return LocalSandbox(
            supervisor=SUPERVISOR, root=self.folder / name, env={}, hide=(Path("/root"), Path("/home")), memory=1 << 30
        )

    @asynccontextmanager
    async def supervisor(self, name: str) -> AsyncIterator[LocalSupervisor]:
        """A running supervisor."""
        running = await LocalSupervisor.start(self.sandbox(name), Patience())
        try:
            yield running
        finally:
            await running.close()


def a_call(*argv: str, output_bytes: int = 1 << 20) -> ExecRequest:
    """A call of its own."""
    return ExecRequest(
        uid=f"bench-{next(_NUMBERS)}",
        argv=argv,
        env={},
        stdin=b"",
        timeout=timedelta(seconds=60),
        grace=timedelta(seconds=1),
        output_bytes=output_bytes,
        pids=64,
    )


async def ran(sandbox: Sandbox, request: ExecRequest) -> ExecResult:
    """How the call ended; its output was read and let go."""
    async with sandbox.start(request) as execution:
        for stream in (execution.stdout, execution.stderr):
            async for _ in stream:
                pass
        result = await execution.result()
    await sandbox.acknowledge(request.uid)
    if result.code != 0:
        raise RuntimeError(f"{request.argv} did not succeed: {result}")
    return result
