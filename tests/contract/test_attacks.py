"""Every measure, seen from the attack it is for: without it the attack succeeds, with it the attack is refused."""

from __future__ import annotations

import ctypes
import os
import platform
import pty
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.contract import attacks, harness
from tests.contract.attacks import ATTACKS, EMBEDDED, REFUSED, Attack, Scene
from tests.contract.harness import MEMORY, Harness, Limits
from tests.contract.programs import Programs
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.local import LocalSandbox, LocalSupervisor
from toolcall_operator.core.outcomes import Cause

_SCOPES_SINCE = 6
_LANDLOCK_CREATE_RULESET = 444  # the same on every architecture
_VERSION = 1

Scenes = Callable[[tuple[str, ...] | None], AbstractAsyncContextManager[Scene]]


def kernels_landlock() -> int:
    """The Landlock ABI that this kernel offers; 0 without Landlock."""
    answer = ctypes.CDLL(None, use_errno=True).syscall(_LANDLOCK_CREATE_RULESET, None, 0, _VERSION)
    return max(int(answer), 0)


@pytest.fixture
def scenes(programs: Programs, tmp_path: Path) -> Scenes:
    """Makes an embedded sandbox with a victim: of the ordinary supervisor (None), or without the measures named."""

    @asynccontextmanager
    async def embedded(without: tuple[str, ...] | None) -> AsyncIterator[Scene]:
        with _surroundings(tmp_path) as places:
            env = {} if without is None else {"TOOLCALL_WITHOUT": ",".join(without)}
            binary = programs.supervisor if without is None else programs.weakened
            wanted = LocalSandbox(binary, tmp_path / "sandbox", env, (tmp_path / "home",), MEMORY)
            supervisor = await LocalSupervisor.start(wanted, Patience())
            workspace = wanted.root / "workspace"
            shutil.copy(programs.tool, workspace / "tool")
            box = Harness(supervisor.sandbox, str(workspace / "tool"), str(workspace), wanted.root, supervisor.pid)
            try:
                async with attacks.scene(box, {**places, "serve": str(supervisor.pid)}) as made:
                    yield made
            finally:
                await supervisor.close()

    return embedded
