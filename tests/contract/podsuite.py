"""The suites on a pod of a real cluster, by whatever way it is connected to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

import pytest

from tests.contract import harness
from tests.contract.confining import TRUSTED, ConfineSuite
from tests.contract.credentials import CredentialSuite
from tests.contract.pod import TOOL, ClusterHarness, ClusterPod, Shared
from tests.contract.reattach import ReattachSuite
from tests.contract.sandbox import SandboxSuite


class PodSuite(SandboxSuite, ConfineSuite, CredentialSuite, ReattachSuite):
    """What any sandbox holds to, on a pod that the module shares; `connected` is the way to it."""

    def connected(self, to: ClusterPod) -> AbstractAsyncContextManager[ClusterHarness]:
        """A connection to a pod, which stays."""
        raise NotImplementedError

    DIFFERENCES: ClassVar = {
        **dict.fromkeys(
            ("test_a_relative_command_is_found_on_the_path", "test_a_trusted_command_is_found_on_the_path"),
            "an image with no program but the test tool has no printf",
        ),
        "test_a_process_sees_nothing_of_our_environment": "a container is given HOSTNAME by its runtime",
    }
    SPOILING: ClassVar = {
        "test_the_sandbox_knows_every_call_and_its_state": "it counts the calls of its sandbox",
        "test_an_older_leader_can_change_nothing_and_still_see": "it leaves a newer leader behind",
        "test_the_biggest_call_dies_when_memory_runs_out": "if its promise is broken the kernel ends the sandbox",
        "test_a_sandbox_that_restarted_says_so_and_starts_nothing": "it ends the sandbox",
        "test_a_sandbox_that_is_told_to_end_says_why_its_calls_ended": "it ends the sandbox",
    }

    @pytest.fixture
    async def box(self, shared: Shared, request: pytest.FixtureRequest) -> AsyncIterator[ClusterHarness]:
        spoils = request.node.originalname in self.SPOILING
        if spoils:
            shared.discard()
        try:
            async with self.connected(shared.pod()) as box:
                yield box
        finally:
            if spoils:
                shared.discard()

    @pytest.mark.parametrize("command", (TOOL, "tool"))
    async def test_a_trusted_program_of_the_image_runs(self, box: ClusterHarness, command: str) -> None:
        ran = await harness.run(box.sandbox, harness.request(command, "echo", "ran", confinement=TRUSTED))

        assert (ran.stdout, ran.result.code) == (b"ran\n", 0)
