"""A real cluster for the tests of this folder, a namespace for each module, and the reason where there is no cluster.

With REQUIRE_CLUSTER=1 the want of a cluster is a failure.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import kubectl as kubectls
from tests.e2e.kubectl import Kubectl

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def cluster() -> Kubectl:
    """The cluster that KUBECONFIG names, in its namespace `default`."""
    if reason := kubectls.obstacle():
        if os.environ.get("REQUIRE_CLUSTER") == "1":
            pytest.fail(f"REQUIRE_CLUSTER=1, and {reason}", pytrace=False)
        pytest.skip(reason)
    return Kubectl(kubectls.program() or "kubectl", "default")


@pytest.fixture(scope="module")
def kubectl(cluster: Kubectl) -> Iterator[Kubectl]:
    """The cluster, in a namespace of the module's own, which is removed at the end."""
    namespace = f"e2e-{uuid.uuid4().hex[:8]}"
    cluster("create", "namespace", namespace)
    yield Kubectl(cluster.program, namespace)
    cluster("delete", "namespace", namespace, "--wait=false")


@pytest.fixture(scope="session")
def crds(cluster: Kubectl) -> None:
    """Our kinds, known to the cluster."""
    cluster("apply", "--server-side", "--force-conflicts", f"--filename={ROOT / 'crds'}")
    cluster("wait", "--for=condition=Established", f"--filename={ROOT / 'crds'}", "--timeout=30s")
