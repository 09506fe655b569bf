"""The embedded sandbox as the suites run it: `supervisor serve --stdio` in a folder of the test's own."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.contract import harness
from tests.contract.harness import MEMORY, Harness
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.local import LocalSandbox, LocalSupervisor


@asynccontextmanager
async def running(
    supervisor: Path, tool: Path, root: Path, *, env: Mapping[str, str] | None = None, hide: tuple[Path, ...] = ()
) -> AsyncIterator[Harness]:
    """A sandbox below `root`, with the test tool among its outputs; it is gone afterwards."""
    started = await LocalSupervisor.start(LocalSandbox(supervisor, root, env or {}, hide, MEMORY), Patience())
    workspace = root / "workspace"
    harness.furnish(workspace)
    inside = root / "work" / "out" / "tool"  # Not the workspace: there are calls that have none.
    shutil.copy(tool, inside)
    try:
        yield Harness(
            sandbox=started.sandbox,
            tool=str(inside),
            workspace=str(workspace),
            work=str(root / "work"),
            spool=str(root / "spool"),
            files=root,
            pid=started.pid,
        )
    finally:
        await started.close()
