"""The sandbox suite on `supervisor serve --stdio`, the embedded run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract import embedded
from tests.contract.confining import ConfineSuite
from tests.contract.credentials import CredentialSuite
from tests.contract.harness import Harness
from tests.contract.programs import Programs
from tests.contract.sandbox import SandboxSuite


class TestEmbeddedSandbox(SandboxSuite, ConfineSuite, CredentialSuite):
    @pytest.fixture
    async def box(self, programs: Programs, tmp_path: Path) -> AsyncIterator[Harness]:
        async with embedded.running(programs.supervisor, programs.tool, tmp_path / "sandbox") as box:
            yield box
