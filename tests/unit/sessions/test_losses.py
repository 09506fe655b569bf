"""What becomes of a session whose sandbox is lost."""

from __future__ import annotations

from tests.fakes.sessioncluster import settle
from tests.unit.sessions.stage import POD, SessionStage, session


async def test_a_lost_sandbox_is_replaced_under_another_name_and_the_cause_shows(stage: SessionStage) -> None:
    await stage.is_ready()
    await stage.passes(minutes=1)

    stage.cluster.kill(POD, "OOMKilled")
    await settle()

    ready = stage.condition("Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "SandboxLost")
    assert "SandboxOOMKilled" in ready.message
    assert stage.status().restarts == 1
    assert stage.status().sandbox is None
    assert "work-pod-2" in stage.cluster.views
    assert [reason for reason, _ in stage.cluster.remarks] == ["SandboxLost"]

    stage.cluster.run("work-pod-2")
    await settle()
    assert stage.says("Ready") == "True/SandboxReady"
    assert stage.status().pod_name == "work-pod-2"
    assert list(stage.cluster.views) == ["work-pod-2"]


async def test_sandboxes_that_die_young_are_replaced_ever_more_slowly(stage: SessionStage) -> None:
    await stage.is_ready()

    made = []
    for number in range(2, 10):
        stage.cluster.kill(POD if number == 2 else f"work-pod-{number - 1}")
        await settle()
        pod, began = f"work-pod-{number}", stage.time.now()
        while pod not in stage.cluster.views:
            await stage.passes(seconds=1)
        made.append((stage.time.now() - began).total_seconds())
        stage.cluster.run(pod)
        await settle()

    assert made == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_a_sandbox_that_lived_long_is_replaced_at_once_and_its_successors_soon(stage: SessionStage) -> None:
    await stage.is_ready()
    for number in range(2, 6):
        stage.cluster.kill(POD if number == 2 else f"work-pod-{number - 1}")
        await stage.passes(seconds=30)
        stage.cluster.run(f"work-pod-{number}")
        await settle()
    await stage.passes(minutes=11)

    stage.cluster.kill("work-pod-5")
    await settle()
    assert "work-pod-6" in stage.cluster.views
    stage.cluster.kill("work-pod-6")
    await stage.passes(seconds=2)

    assert "work-pod-7" in stage.cluster.views


async def test_a_pod_somebody_deletes_is_replaced_while_it_still_ends(stage: SessionStage) -> None:
    await stage.is_ready()
    await stage.passes(minutes=1)

    stage.cluster.change_pod(POD, deleting=True)
    await settle()

    assert set(stage.cluster.views) == {POD, "work-pod-2"}
    assert "delete Pod work-pod" not in stage.cluster.log


async def test_a_pod_that_vanished_is_replaced(stage: SessionStage) -> None:
    await stage.is_ready()
    await stage.passes(minutes=1)

    stage.cluster.remove_pod(POD)
    await settle()

    ready = stage.condition("Ready")
    assert ready is not None
    assert "SandboxGone" in ready.message
    assert list(stage.cluster.views) == ["work-pod-2"]


async def test_sandboxes_that_never_get_ready_do_not_pile_up(stage: SessionStage) -> None:
    await stage.is_ready(session(idleTTL="0s", maxDuration="0s"))

    lost = POD
    for number in range(2, 20):
        stage.cluster.kill(lost)
        await stage.passes(seconds=61)
        assert set(stage.cluster.views) == {lost, f"work-pod-{number}"}
        lost = f"work-pod-{number}"
