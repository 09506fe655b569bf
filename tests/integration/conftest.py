"""What the whole program needs to run: the supervisor, built from this tree."""

from __future__ import annotations

import subprocess

import pytest

from tests.integration import pipeline


@pytest.fixture(scope="session", autouse=True)
def _supervisor() -> None:
    subprocess.run([pipeline.ROOT / "hack" / "build", "supervisor"], check=True)
