"""The sandbox suites on `supervisor serve` as process 1 of a pod stand-in, reached by `supervisor connect`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract import podlike
from tests.contract.confining import ConfineSuite
from tests.contract.credentials import CredentialSuite
from tests.contract.pods import PodHarness
from tests.contract.programs import Programs
from tests.contract.reattach import ReattachSuite
from tests.contract.sandbox import SandboxSuite


class TestPodlikeSandbox(SandboxSuite, ConfineSuite, CredentialSuite, ReattachSuite):
    @pytest.fixture
    async def box(self, programs: Programs, tmp_path: Path) -> AsyncIterator[PodHarness]:
        async with podlike.running(podlike.Recipe(programs.supervisor, programs.tool, tmp_path / "pod")) as box:
            yield box
