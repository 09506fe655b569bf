"""Programs for the contract suites, and readable failures in the suite's own module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.contract import programs as built_programs
from tests.kubectl import Kubectl

if TYPE_CHECKING:
    from tests.contract.pod import Images, Shared

pytest.register_assert_rewrite(
    *(f"tests.contract.{module}" for module in ("sandbox", "confining", "credentials", "egress", "reattach", "harness"))
)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> built_programs.Programs:
    """The Go programs."""
    return built_programs.built(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def images(cluster: Kubectl, programs: built_programs.Programs) -> Images:  # noqa: ARG001 - no cluster, no images
    from tests.contract import pod  # noqa: PLC0415 - it imports modules whose asserts are to be rewritten first

    return pod.loaded(programs)


@pytest.fixture(scope="module")
def restricted(kubectl: Kubectl) -> Kubectl:
    """A namespace in which the API server refuses every pod that Kubernetes does not call restricted."""
    kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
    return kubectl


@pytest.fixture(scope="module")
def shared(restricted: Kubectl, images: Images) -> Iterator[Shared]:
    """A pod that the tests of a module share, made when one asks for it."""
    from tests.contract import pod  # noqa: PLC0415 - see `images`

    made = pod.Shared(restricted, pod.Recipe(images.supervisor, images.tool))
    yield made
    made.discard()
