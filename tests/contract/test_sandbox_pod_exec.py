"""The suites on a pod that is reached as the operator reaches it: by the API server's exec, over a websocket."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import pytest

from tests.contract import harness, podexec, pods
from tests.contract.harness import Limits
from tests.contract.pod import TOOL, ClusterPod, Images, Recipe, Shared
from tests.contract.podexec import ExecHarness
from tests.contract.podsuite import PodSuite
from tests.kubectl import Kubectl
from toolcall_operator import errors, ports
from toolcall_operator.adapters.cluster import config
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.config import Credentials
from toolcall_operator.adapters.sandbox import podlink
from toolcall_operator.adapters.sandbox import pods as pods_of_sessions
from toolcall_operator.adapters.sandbox.podlink import PodConnector
from toolcall_operator.adapters.sandbox.pods import PodSandboxes
from toolcall_operator.core.outcomes import Cause
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.reasons import Reason

pytestmark = pytest.mark.cluster


class TestPodOverExec(PodSuite):
    def connected(self, to: ClusterPod) -> AbstractAsyncContextManager[ExecHarness]:
        return podexec.connected(to)


@pytest.fixture
async def doomed(restricted: Kubectl, images: Images) -> AsyncIterator[ExecHarness]:
    """A pod of the test's own."""
    own = Shared(restricted, Recipe(images.supervisor, images.tool))
    try:
        async with podexec.connected(own.pod()) as box:
            yield box
    finally:
        own.discard()


async def until_lost(execution: ports.Execution) -> errors.SandboxLost:
    """How a call is lost, within half a minute."""
    with pytest.raises(errors.SandboxLost) as caught:
        async with asyncio.timeout(30):
            await execution.result()
    return caught.value


async def test_a_pod_whose_supervisor_broke_down_is_gone_and_stays_so(doomed: ExecHarness) -> None:
    async with doomed.sandbox.start(doomed.call("ignore-term", "60s")) as execution:
        await harness.ready(execution)
        doomed.cluster_pod.run("signal", "1", "3")
        lost = await until_lost(execution)

    assert lost.reason == Reason.SANDBOX_GONE
    with pytest.raises(errors.SandboxLost):
        await doomed.run("echo", "x")


async def test_a_pod_that_vanishes_is_gone(doomed: ExecHarness) -> None:
    async with doomed.sandbox.start(doomed.call("ignore-term", "60s")) as execution:
        await harness.ready(execution)
        doomed.cluster_pod.vanish()

        assert (await until_lost(execution)).reason == Reason.SANDBOX_GONE


@pytest.fixture
async def standing(restricted: Kubectl, images: Images) -> AsyncIterator[Standing]:
    """A pod of the test's own, as the operator keeps a line to it."""
    own = Shared(restricted, Recipe(images.supervisor, images.tool, key=pods_of_sessions.channel_key(pods.KEY, "")))
    client = await Client.open(config.source("", "", os.environ))
    pod = own.pod()
    view = PodView.parse(restricted.get("pod", pod.name))
    sandboxes = PodSandboxes(
        partial(PodConnector, client), lambda _: view, pods.KEY, lambda: 5, claimed=partial(podlink.claimed, client)
    )
    yield Standing(pod, view, sandboxes)
    await sandboxes.aclose()
    await client.aclose()
    own.discard()


@dataclass(frozen=True, slots=True)
class Standing:
    """A pod, and the operator's line to it."""

    pod: ClusterPod
    view: PodView
    sandboxes: PodSandboxes

    async def watch(self) -> None:
        """Tell of every change of the pod until it is no more, as the operator's handlers do."""
        while True:
            words = ("get", "pod", self.pod.name, "--ignore-not-found", "--output=json")
            found = await asyncio.to_thread(self.pod.kubectl, *words)
            if not found:
                break
            self.sandboxes.pod_changed(PodView.parse(json.loads(found)), gone=False)
        self.sandboxes.pod_changed(self.view, gone=True)


async def test_calls_that_end_because_their_pod_is_deleted_tell_how_they_ended(standing: Standing) -> None:
    """The line hears of the pod's end from the API server, but the last word is the supervisor's."""
    sandbox = standing.sandboxes.opened(standing.view)
    polite = harness.request(TOOL, "on-term", "3")
    stubborn = harness.request(TOOL, "ignore-term", "90s", limits=Limits(grace=60))

    async with sandbox.start(polite) as one, sandbox.start(stubborn) as other:
        await asyncio.gather(harness.ready(one), harness.ready(other))
        standing.pod.terminate()
        watching = asyncio.create_task(standing.watch())
        results = [(await harness.ended(execution)).result for execution in (one, other)]
        await watching

    assert [(result.cause, result.code) for result in results] == [(Cause.TERMINATING, 3), (Cause.TERMINATING, None)]


async def test_a_pod_that_is_gone_ends_its_calls_soon(standing: Standing) -> None:
    sandbox = standing.sandboxes.opened(standing.view)

    async with sandbox.start(harness.request(TOOL, "ignore-term", "60s")) as execution:
        await harness.ready(execution)
        standing.sandboxes.pod_changed(standing.view, gone=True)
        began = time.monotonic()
        lost = await until_lost(execution)

    assert (lost.reason, time.monotonic() - began < 5) == (Reason.SANDBOX_GONE, True)


async def test_a_right_to_exec_that_lacks_is_named(restricted: Kubectl, doomed: ExecHarness) -> None:
    restricted("create", "serviceaccount", "powerless")
    token = restricted("create", "token", "powerless").strip()
    pod = PodView.parse(restricted.get("pod", doomed.cluster_pod.name))

    async with acting(token) as client:
        with pytest.raises(errors.Unavailable, match=r"no right to exec pods/exec: .*powerless"):
            await PodConnector(client, pod).connect()


@asynccontextmanager
async def acting(token: str) -> AsyncIterator[Client]:
    """A client with the rights of a token alone."""

    class OfToken:
        async def load(self, before: Credentials | None = None) -> Credentials:
            found = await config.source("", "", os.environ).load(before)
            certificates = replace(found.certificates, certificate=b"", key=b"")
            context = certificates.context()
            return replace(found, certificates=certificates, context=context, authorization=f"Bearer {token}")

    client = await Client.open(OfToken())
    yield client
    await client.aclose()


async def test_a_round_trip_on_the_standing_stream_costs_milliseconds(
    shared: Shared, capsys: pytest.CaptureFixture[str]
) -> None:
    async with podexec.connected(shared.pod()) as box:
        trips = []
        for _ in range(300):
            began = time.perf_counter()
            await box.sandbox.calls()
            trips.append(time.perf_counter() - began)

    with capsys.disabled():
        print(f"\na list on the standing stream: p50 {statistics.median(trips) * 1e3:.2f} ms")  # noqa: T201 (people read what was measured)
    assert statistics.median(trips) < 0.1
