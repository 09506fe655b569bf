"""The suites on a pod of a real cluster, confined as the operator confines it, and what only such a pod can show."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest

from tests.contract import attacks, harness, pod
from tests.contract.attacks import ATTACKS, POD, REFUSED, Attack
from tests.contract.harness import MEMORY, Limits
from tests.contract.pod import ClusterHarness, ClusterPod, Images, Recipe, Shared
from tests.contract.podsuite import PodSuite
from tests.kubectl import Kubectl
from toolcall_operator import errors
from toolcall_operator.core.outcomes import Cause
from toolcall_operator.core.reasons import Reason

pytestmark = pytest.mark.cluster


class TestPodSandbox(PodSuite):
    def connected(self, to: ClusterPod) -> AbstractAsyncContextManager[ClusterHarness]:
        return pod.connected(to)

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


POD_ATTACKS = tuple(attack for attack in ATTACKS if POD in attack.on)
# RuntimeDefault is a filter of system calls as well. What it refuses differs from runtime to runtime.
REFUSED_BY_RUNTIMES_TOO = (
    "take a sibling's open file",
    "read a sibling's memory",
    "read a sibling's key",
    "make a ring that acts outside of the filter",
    "make a userfaultfd",
)


@pytest.fixture
async def box(shared: Shared) -> AsyncIterator[ClusterHarness]:
    async with pod.connected(shared.pod()) as box:
        yield box


@pytest.fixture
async def doomed(restricted: Kubectl, images: Images) -> AsyncIterator[ClusterHarness]:
    """A sandbox that does not outlive its test."""
    lone = Shared(restricted, Recipe(images.supervisor, images.tool))
    async with pod.connected(lone.pod()) as box:
        yield box
    lone.discard()


async def attempt(box: ClusterHarness, attack: Attack) -> harness.Ran:
    """Attack beside a victim."""
    async with attacks.scene(box, {"serve": "1"}) as scene:
        return await scene.with_place("shim", box.parent_of(scene.places["victim"])).attempt(attack)


@pytest.mark.parametrize("attack", tuple(pytest.param(attack, id=attack.name) for attack in POD_ATTACKS))
async def test_the_attack_is_refused(box: ClusterHarness, attack: Attack) -> None:
    ran = await attempt(box, attack)

    assert (ran.result.code, ran.stdout[:8]) == (REFUSED, b"refused:"), ran


@pytest.mark.parametrize(
    "measures",
    tuple(
        pytest.param(measures, id=" and ".join(measures))
        for measures in dict.fromkeys(attack.measures for attack in POD_ATTACKS)
    ),
)
async def test_without_its_measures_an_attack_succeeds(
    restricted: Kubectl, images: Images, measures: tuple[str, ...]
) -> None:
    """Seen to work in such a pod, so that a refusal means something: one pod for all attacks of the same measures."""
    weak = Shared(restricted, Recipe(images.weakened, images.tool, {"TOOLCALL_WITHOUT": ",".join(measures)}))
    failed = []
    async with pod.connected(weak.pod()) as box:
        for attack in POD_ATTACKS:
            if attack.measures == measures:
                said = (await attempt(box, attack)).stdout
                doubly = said.startswith(b"refused") and attack.name in REFUSED_BY_RUNTIMES_TOO
                failed += [] if said.startswith(b"succeeded") or doubly else [(attack.name, said)]
    weak.discard()

    assert failed == []


async def test_a_call_that_runs_alone_is_beyond_attack(restricted: Kubectl, images: Images) -> None:
    env = {"TOOLCALL_WITHOUT": ",".join(attacks.ALL_MEASURES)}
    weak = Shared(restricted, Recipe(images.weakened, images.tool, env, flags=attacks.EXCLUSIVE))
    async with pod.connected(weak.pod()) as box:
        await attacks.nobody_is_there(box)
    weak.discard()


@pytest.mark.parametrize(
    ("without", "let_in"),
    (
        pytest.param("landlock-scopes,peercheck", True, id="without both measures"),
        pytest.param("peercheck", False, id="against landlock-scopes alone"),
        pytest.param("landlock-scopes", False, id="against peercheck alone"),
        pytest.param("", False, id="against both"),
    ),
)
async def test_a_tool_that_starts_connect_and_knows_the_key_is_no_operator(
    restricted: Kubectl, images: Images, without: str, *, let_in: bool
) -> None:
    weak = Shared(restricted, Recipe(images.weakened, images.tool, {"TOOLCALL_WITHOUT": without}))
    async with pod.connected(weak.pod()) as box:
        ran = await harness.run(box.sandbox, attacks.impostor())
    weak.discard()

    assert (b'"bootID"' in ran.stdout) == let_in
    assert ran.result.cause is Cause.EXITED


async def test_the_biggest_call_dies_before_the_kernel_takes_the_container(doomed: ClusterHarness) -> None:
    small = doomed.call("alloc", "1000000", "60s", limits=Limits(grace=0))
    async with doomed.sandbox.start(small) as execution:
        await harness.ready(execution)
        causes = [(await doomed.run("alloc", str(harness.NEARLY_ALL), "60s")).result.cause for _ in range(3)]
        await doomed.sandbox.kill(small.uid)
        survivor = await harness.ended(execution)

    assert causes == [Cause.OUT_OF_MEMORY] * 3
    assert survivor.result.cause is Cause.KILLED
    assert "running" in doomed.cluster_pod.status["containerStatuses"][0]["state"]


async def test_files_that_are_read_again_and_again_are_no_want_of_memory(doomed: ClusterHarness) -> None:
    file = f"{doomed.workspace}/{harness.marker()}"
    await doomed.run("fill", file, str(MEMORY // 100 * 92))

    causes = [(await doomed.run("reread", file, "20")).result.cause for _ in range(2)]
    causes.append((await doomed.run("sleep", "1s")).result.cause)

    assert causes == [Cause.EXITED] * 3


async def test_a_pod_that_is_deleted_ends_its_calls_and_tells_them(doomed: ClusterHarness) -> None:
    polite, stubborn = doomed.call("on-term", "3"), doomed.call("ignore-term", "90s", limits=Limits(grace=60))
    async with doomed.sandbox.start(polite) as one, doomed.sandbox.start(stubborn) as other:
        await asyncio.gather(harness.ready(one), harness.ready(other))
        doomed.terminate()
        ended = (await harness.ended(one)).result
        killed = (await harness.ended(other)).result

    assert (ended.cause, ended.code) == (Cause.TERMINATING, 3)
    assert (killed.cause, killed.code) == (Cause.TERMINATING, None)


async def test_a_pod_that_vanishes_is_a_lost_sandbox_and_no_success(doomed: ClusterHarness) -> None:
    async with doomed.sandbox.start(doomed.call("ignore-term", "60s")) as execution:
        await harness.ready(execution)
        doomed.cluster_pod.vanish()
        began = time.monotonic()
        with pytest.raises(errors.SandboxLost) as lost:
            async with asyncio.timeout(30):
                await execution.result()

    assert lost.value.reason == Reason.SANDBOX_GONE
    assert time.monotonic() - began < 30
