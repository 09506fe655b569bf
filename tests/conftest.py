"""A real cluster for the tests that need one, a namespace for each module, and the reason where there is no cluster.

With REQUIRE_CLUSTER=1 the want of a cluster is a failure.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest

from tests import kubectl as kubectls
from tests.kubectl import Kubectl


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
    namespace = f"test-{uuid.uuid4().hex[:8]}"
    cluster("create", "namespace", namespace)
    yield Kubectl(cluster.program, namespace)
    cluster("delete", "namespace", namespace, "--wait=false")
