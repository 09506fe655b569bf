"""Many calls, and much ado about them: what hangs, what cannot be read and what is only noise holds up no call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.e2e import apis
from tests.e2e.operators import Operator
from tests.e2e.scene import Scene
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster.resources import TOOLCALLS

pytestmark = pytest.mark.cluster

CALLS = 50
EDITS = 100
SCRIPT = "echo $0 >>/workspace/$0"
TOO_LARGE = ["x" * 120_000] * 11
"""Arguments that the API server keeps, and that together are more than a call may ask for."""


@pytest.fixture(scope="module")
def scene(kubectl: Kubectl, operator: Operator) -> Iterator[Scene]:
    assert operator.process
    with Scene.made(kubectl) as made:
        yield made


@pytest.fixture(scope="module")
def hung(kubectl: Kubectl, operator: Operator) -> Iterator[Scene]:
    """A session all of whose calls hang."""
    assert operator.process
    with Scene.made(kubectl, session=f"{kubectl.namespace}-hung") as made:
        made.calls(*(made.a_call(f"hangs-{number}", "sleep 300", timeout="10m") for number in range(CALLS)))
        yield made


async def edited(kubectl: Kubectl, name: str, kind: str, times: int) -> None:
    """Labels, or annotations, of a call that change all the time."""
    address = TOOLCALLS.named(name, kubectl.namespace)
    async with apis.opened() as client:
        for number in range(times):
            await client.merge(address, {"metadata": {kind: {"edited": f"time-{number}"}}})
            await asyncio.sleep(0)


def test_a_session_whose_calls_all_hang_delays_no_call_of_another(hung: Scene, scene: Scene) -> None:
    hung.awaited("hangs-0", "Running")

    scene.calls(*(scene.a_call(f"brief-{number}", "exit 0") for number in range(CALLS)))

    for ended in scene.all_ended(f"brief-{number}" for number in range(CALLS)):
        assert (ended.end, ended.status["exitCode"]) == ("Succeeded/ProcessExited", 0)
    running = [call for call in hung.kubectl.get("toolcalls")["items"] if call["metadata"]["name"].startswith("hangs-")]
    assert len(running) == CALLS
    assert not any(call["status"].get("finished") for call in running)


async def test_edits_of_labels_and_annotations_during_a_run_change_nothing(scene: Scene) -> None:
    scene.call("edited", "echo $0 >>/workspace/$0; until test -e /workspace/calm; do sleep 0.1; done; exit 7")
    scene.awaited("edited", "Running")

    await asyncio.gather(*(edited(scene.kubectl, "edited", kind, EDITS) for kind in ("labels", "annotations")))
    scene.inside("touch", "/workspace/calm")

    ended = scene.ended("edited")
    assert (ended.end, ended.status["exitCode"]) == ("Failed/NonZeroExit", 7)
    assert scene.ledger("edited") == ["edited"]


async def test_an_edit_of_a_call_that_has_ended_starts_nothing(scene: Scene) -> None:
    scene.call("over", SCRIPT)
    before = scene.ended("over")

    await edited(scene.kubectl, "over", "labels", 5)
    scene.call("later", SCRIPT)
    scene.ended("later")

    assert scene.stored("over").status == before.status
    assert scene.ledger("over") == ["over"]


def test_a_call_that_cannot_be_read_ends_alone(scene: Scene) -> None:
    bad = scene.a_call("unreadable", "exit 0")
    bad["spec"]["args"] = TOO_LARGE
    scene.calls(scene.a_call("before", "exit 0"), bad, scene.a_call("after", "exit 0"))

    assert scene.ended("unreadable").end == "Failed/MalformedObject"
    assert [ended.end for ended in scene.all_ended(("before", "after"))] == ["Succeeded/ProcessExited"] * 2
