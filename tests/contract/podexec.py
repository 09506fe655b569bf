"""A pod as the operator itself reaches it: by the API server's exec, over a connection that can be cut."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.contract import cutting, pods
from tests.contract.cutting import Relay
from tests.contract.pod import INSIDE, ClusterHarness, ClusterPod
from tests.contract.pods import PodConnector as SuiteConnector
from tests.contract.pods import watched
from toolcall_operator.adapters.cluster import config
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.sandbox.link import Identity, Link
from toolcall_operator.adapters.sandbox.podlink import PodConnector
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.core.pod.pods import PodView


class ExecConnector(SuiteConnector):
    """The operator's connector; `cut` breaks the connection to the API server under it."""

    def __init__(self, pod: ClusterPod, client: Client, relay: Relay) -> None:
        super().__init__(pod)
        self._relay = relay
        self._connector = PodConnector(client, PodView.parse(pod.kubectl.get("pod", pod.name)))

    def cut(self) -> None:
        """Break every connection to the API server."""
        self._relay.cut()

    async def connect(self) -> Link:
        """A new exec."""
        link = await self._connector.connect()
        self.connections += 1
        return watched(link, self)


@dataclass
class ExecHarness(ClusterHarness):
    """A harness whose every connection is an exec by the API server."""

    client: Client = field(kw_only=True)
    relay: Relay = field(kw_only=True)

    @asynccontextmanager
    async def other(self, identity: Identity) -> AsyncIterator[SupervisedSandbox]:
        """A second connection to the pod of now, as somebody else."""
        sandbox = await pods.opened(ExecConnector(self.cluster_pod, self.client, self.relay), identity)
        yield sandbox
        await sandbox.close()


@asynccontextmanager
async def connected(pod: ClusterPod) -> AsyncIterator[ExecHarness]:
    """A connection to a pod, which stays."""
    async with cutting.relayed(config.source("", "", os.environ)) as (client, relay):
        connector = ExecConnector(pod, client, relay)
        sandbox = await pods.opened(connector, pods.OURS)
        yield ExecHarness(
            sandbox=sandbox, pod=pod, connector=connector, cluster_pod=pod, client=client, relay=relay, **INSIDE
        )
        await sandbox.close()
