"""The sandbox suites on a pod of a real cluster, confined as the operator confines it."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Iterator
from typing import ClassVar

import pytest

from tests.contract import harness, pod
from tests.contract.pod import ClusterHarness, ClusterPod, Images, Recipe
from tests.contract.programs import Programs
from tests.contract.reattach import ReattachSuite
from tests.contract.sandbox import SandboxSuite
from tests.kubectl import Kubectl

pytestmark = pytest.mark.cluster
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def images(cluster: Kubectl, programs: Programs) -> Images:  # noqa: ARG001 - no cluster, no images
    return pod.loaded(programs)


@pytest.fixture(scope="module")
def restricted(kubectl: Kubectl) -> Kubectl:
    """A namespace in which the API server refuses every pod that Kubernetes does not call restricted."""
    kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
    return kubectl


class Shared:
    """One pod for many tests, until one of them leaves it unfit for the next."""

    def __init__(self, kubectl: Kubectl, recipe: Recipe) -> None:
        self._kubectl = kubectl
        self._recipe = recipe
        self._pod: ClusterPod | None = None

    def pod(self) -> ClusterPod:
        """The pod of now."""
        if self._pod is None:
            self._pod = ClusterPod(self._kubectl, self._recipe, f"sandbox-{next(_NUMBERS)}")
        return self._pod

    def discard(self) -> None:
        """Have the next test start another."""
        if self._pod is not None:
            self._pod.remove()
            self._pod = None


@pytest.fixture(scope="module")
def shared(restricted: Kubectl, images: Images) -> Iterator[Shared]:
    made = Shared(restricted, Recipe(images.supervisor, images.tool))
    yield made
    made.discard()


class TestPodSandbox(SandboxSuite, ReattachSuite):
    DIFFERENCES: ClassVar = {
        "test_a_relative_command_is_found_on_the_path": "an image with no program but the test tool has no printf",
        "test_a_process_sees_nothing_of_our_environment": "a container is given HOSTNAME by its runtime",
    }
    SPOILING: ClassVar = {
        "test_the_sandbox_knows_every_call_and_its_state": "it counts the calls of its sandbox",
        "test_an_older_leader_can_change_nothing_and_still_see": "it leaves a newer leader behind",
        "test_a_sandbox_that_restarted_says_so_and_starts_nothing": "it ends the sandbox",
        "test_a_sandbox_that_is_told_to_end_says_why_its_calls_ended": "it ends the sandbox",
    }

    @pytest.fixture
    async def box(self, shared: Shared, request: pytest.FixtureRequest) -> AsyncIterator[ClusterHarness]:
        spoils = request.node.originalname in self.SPOILING
        if spoils:
            shared.discard()
        try:
            async with pod.connected(shared.pod()) as box:
                yield box
        finally:
            if spoils:
                shared.discard()

    async def test_a_command_is_found_on_the_path_of_the_image(self, box: ClusterHarness) -> None:
        ran = await harness.run(box.sandbox, harness.request("tool", "echo", "found"))

        assert (ran.stdout, ran.result.code) == (b"found\n", 0)

    async def test_a_process_sees_nothing_of_the_cluster_but_the_name_of_its_pod(self, box: ClusterHarness) -> None:
        seen = json.loads((await box.run("env")).stdout)

        assert seen.keys() == {"PATH", "HOME", "TMPDIR", "LANG", "HOSTNAME"}
        assert seen["HOSTNAME"] == box.cluster_pod.name

    @pytest.mark.parametrize("command", (pod.TOOL, pod.TOP_LEVEL_TOOL))
    async def test_a_program_runs_wherever_it_lies_in_its_image(self, box: ClusterHarness, command: str) -> None:
        ran = await harness.run(box.sandbox, harness.request(command, "echo", "ran"))

        assert (ran.stdout, ran.result.code) == (b"ran\n", 0)
