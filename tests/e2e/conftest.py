"""Our kinds in the cluster, and an operator for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import pod
from tests.contract import programs as built_programs
from tests.contract.pod import Images
from tests.e2e.operators import Operator
from tests.kubectl import Kubectl

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def crds(cluster: Kubectl) -> None:
    """Our kinds, known to the cluster."""
    cluster("apply", "--server-side", "--force-conflicts", f"--filename={ROOT / 'crds'}")
    cluster("wait", "--for=condition=Established", f"--filename={ROOT / 'crds'}", "--timeout=30s")


@pytest.fixture(scope="session")
def images(cluster: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Images:  # noqa: ARG001 - no cluster, no images
    """The images of the supervisor and of the test tool, loaded into the cluster."""
    return pod.loaded(built_programs.built(tmp_path_factory.mktemp("programs")))


@pytest.fixture(scope="module")
def operator(
    kubectl: Kubectl, crds: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    """An operator that leads in the module's namespace, until the module is through."""
    assert crds is None
    running = Operator(kubectl, images, tmp_path_factory.mktemp("operator")).start()
    yield running
    running.clear()
    running.stop()
