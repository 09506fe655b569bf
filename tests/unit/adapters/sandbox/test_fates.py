"""A call that ends because its pod was told to stop ends for the reason the pod was told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.fakes.supervisor import FakeCall, FakeSupervisor
from tests.unit.core import examples
from toolcall_operator import errors
from toolcall_operator.adapters.sandbox import fates, pods
from toolcall_operator.adapters.sandbox.pods import PodSandboxes
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcallstatus import Dispatch
from toolcall_operator.core.outcomes import Cause, ExecRequest
from toolcall_operator.core.pod.pods import Container, PodView
from toolcall_operator.core.reasons import Reason

RUNNING = PodView("default", "work-pod", "pod-1", "session-1", "Running", sandbox=Container("sandbox", is_running=True))
EVICTED = replace(RUNNING, reason="Evicted", message="used too much of its disk")
DRAINED = replace(RUNNING, deleting=True, disruption="EvictionByEvictionAPI", disruption_message="the node is drained")
CALL = ExecRequest("call", ("tool",), {}, b"", timedelta(seconds=60), timedelta(), 1 << 20, 8)


async def unclaimed(session: SpiceboxSession, claim: Dispatch) -> PodView:
    pytest.fail(f"nothing of {session} was claimed by {claim}")


@pytest.fixture
async def sandboxes(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PodSandboxes]:
    """Sandboxes whose only supervisor has been told to stop, and says so of every call once its output is read."""
    monkeypatch.setattr(fates, "_PATIENCE_SECONDS", 0.1)
    key = pods.channel_key(b"o" * 32, RUNNING.session_uid)
    supervisor = FakeSupervisor(lambda _: FakeCall(b"said", code=None, cause="Terminating"), key=key)
    made = PodSandboxes(lambda _: supervisor, lambda _: RUNNING, b"o" * 32, lambda: 1, claimed=unclaimed)
    yield made
    await made.aclose()


async def result(sandboxes: PodSandboxes, *seen: PodView) -> Cause:
    """How a call ends, after which the pod is seen so."""
    async with (
        sandboxes.open(examples.session(), examples.session_class()) as sandbox,
        sandbox.start(CALL) as execution,
    ):
        assert await anext(execution.stdout) == b"said"
        awaited = asyncio.ensure_future(execution.result())
        for pod in seen:
            await asyncio.sleep(0.01)
            sandboxes.pod_changed(pod, gone=False)
        return (await awaited).cause


@pytest.mark.parametrize(
    ("pod", "why"), ((EVICTED, "used too much of its disk"), (DRAINED, "the node is drained")), ids=("kubelet", "API")
)
async def test_one_of_an_evicted_pod_is_evicted_although_its_supervisor_knows_nothing_of_that(
    sandboxes: PodSandboxes, pod: PodView, why: str
) -> None:
    with pytest.raises(errors.SandboxLost, match=why) as lost:
        await result(sandboxes, RUNNING, pod)

    assert lost.value.reason is Reason.EVICTED


async def test_one_of_a_deleted_pod_tells_what_its_supervisor_said(sandboxes: PodSandboxes) -> None:
    assert await result(sandboxes, replace(RUNNING, deleting=True)) is Cause.TERMINATING


async def test_nobody_waits_long_for_a_reason_that_is_never_told(sandboxes: PodSandboxes) -> None:
    async with asyncio.timeout(1):
        assert await result(sandboxes) is Cause.TERMINATING
