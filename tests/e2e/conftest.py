"""Our kinds in the cluster, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kubectl import Kubectl

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def crds(cluster: Kubectl) -> None:
    """Our kinds, known to the cluster."""
    cluster("apply", "--server-side", "--force-conflicts", f"--filename={ROOT / 'crds'}")
    cluster("wait", "--for=condition=Established", f"--filename={ROOT / 'crds'}", "--timeout=30s")
