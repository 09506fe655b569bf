"""The sandbox suite on `supervisor serve --stdio`, the embedded run."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.harness import MEMORY, Harness
from tests.contract.programs import Programs
from tests.contract.sandbox import SandboxSuite
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.local import LocalSandbox, LocalSupervisor


def furnish(workspace: Path, programs: Programs) -> str:
    """Put the files of the suite into a workspace, and say where the tool is."""
    shutil.copy(programs.tool, workspace / "tool")
    (workspace / "plain").write_text("no program, and not executable")
    (workspace / "text").write_text("no program")
    (workspace / "text").chmod(0o755)
    return str(workspace / "tool")


class TestEmbeddedSandbox(SandboxSuite):
    @pytest.fixture
    async def box(self, programs: Programs, tmp_path: Path) -> AsyncIterator[Harness]:
        wanted = LocalSandbox(programs.supervisor, tmp_path / "sandbox", {}, (), MEMORY)
        supervisor = await LocalSupervisor.start(wanted, Patience())
        tool = furnish(wanted.root / "workspace", programs)
        yield Harness(supervisor.sandbox, tool, str(wanted.root / "workspace"), wanted.root, supervisor.pid)
        await supervisor.close()
