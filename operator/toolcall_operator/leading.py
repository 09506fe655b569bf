"""What a leading operator is made of, and who in it is told of what the cluster does."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import stamina

from toolcall_operator import bootstrap, errors
from toolcall_operator.adapters.artifacts import StoreArtifacts
from toolcall_operator.adapters.cluster import apiserver, definitions, operatorkey, rights
from toolcall_operator.adapters.cluster.apiserver import Whereabouts
from toolcall_operator.adapters.cluster.calls import KubernetesCluster
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.consent import Consent
from toolcall_operator.adapters.cluster.events import Events
from toolcall_operator.adapters.cluster.memory import filling, resync
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.departures import Departures
from toolcall_operator.adapters.cluster.memory.wakes import Asleep
from toolcall_operator.adapters.cluster.objects import KubernetesObjects
from toolcall_operator.adapters.cluster.secrets import KubernetesSecrets
from toolcall_operator.adapters.sandbox import podlink, pods
from toolcall_operator.adapters.sandbox.podlink import PodConnector
from toolcall_operator.adapters.sandbox.pods import PodSandboxes
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.pod import pods as podstates
from toolcall_operator.core.pod.pods import PodPhase, PodView
from toolcall_operator.core.pod.podspec import INTERNAL_RANGES, METADATA_SERVICE, SandboxSettings
from toolcall_operator.core.unread import Unread
from toolcall_operator.dispatcher import Dispatcher
from toolcall_operator.ports import Broker, Ports, Secrets
from toolcall_operator.sessions import SessionController, SystemTime
from toolcall_operator.sessions.ports import SessionPorts
from toolcall_operator.settings import OperatorSettings
from toolcall_operator.slots import Limits, Slots

log = logging.getLogger(__name__)

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Site:
    """Where an operator works: the cluster, what it knows of it, and the key of all its channels."""

    settings: OperatorSettings
    client: Client
    caches: Caches
    departures: Departures
    namespace: str
    identity: str
    operator_key: bytes = field(repr=False)
    api_server: Whereabouts
    consent: Consent

    @property
    def consent_required(self) -> bool:
        """Whether a Secret is used only if its label consents."""
        return self.consent.required

    @property
    def judged_since(self) -> datetime | None:
        """Since when the API server judges whoever names a Secret."""
        return self.consent.judged_since

    @property
    def trusted_issuers(self) -> tuple[str, ...]:
        """Whose authorization servers federated credentials may be had from."""
        return self.settings.trusted_issuers

    @classmethod
    async def open(cls, settings: OperatorSettings, client: Client) -> Site:
        """The site that the settings describe.

        Raises:
            Unavailable: the cluster does not answer, a right lacks, or the certificates of the settings cannot be used.
            Rejected: our kinds, or what the operator keeps in the cluster, are not as they should be.
        """
        namespace, by_label = settings.operator_namespace or client.namespace, settings.credential_consent == "label"
        await bootstrap.egress(settings).aclose()  # whether there is one: who cannot make tokens must not lead
        await rights.require(client, settings.namespaces, namespace, admission_decides=not by_label)
        await definitions.require(client)
        consent = Consent(client, by_label=by_label)
        await consent.settle()
        caches = Caches()
        return cls(
            settings=settings,
            client=client,
            caches=caches,
            departures=Departures(client, caches),
            namespace=namespace,
            identity=f"{platform.node()}/{os.getpid()}",
            operator_key=await operatorkey.load_or_create(client, namespace),
            api_server=await apiserver.whereabouts(client),
            consent=consent,
        )

    def sandboxes(self) -> SandboxSettings:
        """What the settings say about sandboxes."""
        return SandboxSettings(
            supervisor_image=self.settings.supervisor_image,
            default_image=self.settings.sandbox_image,
            tasks=self.settings.pod_tasks,
            spool_bytes=self.settings.spool_size,
            enforce_network=self.settings.enforce_network,
            blocked=(self.api_server.service, METADATA_SERVICE),
            internal_ranges=(*INTERNAL_RANGES, *self.api_server.endpoints, *self.settings.internal_ranges),
        )


@dataclass(frozen=True, slots=True)
class Leader:
    """Implements `wakes.Wakes` for the operator that leads."""

    dispatcher: Dispatcher
    controller: SessionController
    sandboxes: PodSandboxes
    cluster: KubernetesCluster
    background: Background

    def call(self, call: ToolCall) -> None:
        """Carry it, or tell whoever carries it what has changed."""
        self.dispatcher.submit(call)

    def call_gone(self, uid: str) -> None:
        """End what runs of it."""
        self.dispatcher.gone(uid)

    def call_unread(self, unread: Unread) -> None:
        """Write down that it cannot be read."""
        self.background.start(self._ended(unread))

    def session(self, key: tuple[str, str]) -> None:
        """Have its controller look."""
        self.controller.touch(key)

    def session_class(self, name: str) -> None:
        """Have it judged, and the sessions that wait for it looked at."""
        self.controller.touch_class(name)

    def toolkit(self, name: str) -> None:
        """Have it judged."""
        self.controller.touch_toolkit(name)

    def toolspec(self, name: str) -> None:
        """Have it judged, and the classes that name it."""
        self.controller.touch_toolspec(name)

    def agent(self, key: tuple[str, str]) -> None:
        """Have it judged, and the sessions that wait for it looked at."""
        self.controller.touch_agent(key)

    def pod(self, pod: PodView, *, gone: bool) -> None:
        """Have the calls in it end when it has."""
        self.sandboxes.pod_changed(pod, gone=gone)

    @stamina.retry(on=errors.Unavailable, attempts=None, timeout=60.0, wait_max=10.0)
    async def _ended(self, unread: Unread) -> None:
        await self.cluster.end_unread(unread, bootstrap.now())


class Background:
    """Work beside the calls: what ends by itself is told in the log, what does not ends with the lead."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Begin some work."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def aclose(self) -> None:
        """End all that is left."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("work in the background ended: %s", errors.sayable(error))


@asynccontextmanager
async def led(site: Site, epoch: int) -> AsyncIterator[None]:
    """Carry the calls and keep the sessions of the site as long as the context is open; nothing in sandboxes ends."""
    secrets = KubernetesSecrets(site.client)
    async with (
        bootstrap.brokering(secrets, bootstrap.egress(site.settings), site) as broker,
        _led(site, epoch, secrets, broker),
    ):
        yield


@asynccontextmanager
async def _led(site: Site, epoch: int, secrets: Secrets, broker: Broker) -> AsyncIterator[None]:
    """The same, with whom to ask for Secrets and for credentials."""
    client, caches, background = site.client, site.caches, Background()
    settings, events = site.sandboxes(), Events(client, site.identity, bootstrap.now)
    cluster = KubernetesCluster(client, caches, events, site.settings.session_ready_timeout)
    sandboxes = PodSandboxes(
        partial(PodConnector, client),
        partial(_newest, caches),
        site.operator_key,
        lambda: epoch,
        claimed=partial(podlink.claimed, client),
        patience=replace(pods.PATIENCE, retention=settings.retention.total_seconds()),
        idle_seconds=site.settings.channel_idle.total_seconds(),
    )
    dispatcher = Dispatcher(
        Ports(
            cluster=cluster,
            sandboxes=sandboxes,
            broker=broker,
            artifacts=StoreArtifacts(_url(site.settings.artifacts)),
            slots=Slots(Limits(site.settings.calls, site.settings.calls_per_namespace), bootstrap.now),
            now=bootstrap.now,
            operator=site.identity,
            epoch=epoch,
            fault_budget=site.settings.fault_budget,
            retention=settings.retention,
        )
    )
    controller = SessionController(
        SessionPorts(
            cluster=KubernetesObjects(client, caches, events),
            secrets=secrets,
            consent_required=lambda: site.consent_required,
            greeter=sandboxes,
            calls=dispatcher,
            time=SystemTime(),
            settings=settings,
            key_hash=partial(pods.key_hash, site.operator_key),
        )
    )
    await filling.fill(client, caches, site.settings.namespaces)
    caches.wakes = Leader(dispatcher, controller, sandboxes, cluster, background)
    caches.replay()
    background.start(events.run())
    background.start(site.consent.keep())
    background.start(resync.keep_released(client, site.settings.namespaces))
    try:
        yield
    finally:
        caches.wakes = Asleep()
        await asyncio.gather(dispatcher.detach(), controller.stop(), background.aclose())
        await sandboxes.aclose()


def _newest(caches: Caches, session: SpiceboxSession) -> PodView | None:
    """The pod in which a session's calls run now."""
    running = [pod for pod in caches.pods_of(session.metadata.uid) if podstates.state(pod).phase is PodPhase.RUNNING]
    return max(running, key=lambda pod: (pod.created_at or _LONG_AGO, pod.name), default=None)


def _url(artifacts: str) -> str:
    """The URL of a store; a folder is one, too."""
    return artifacts if "://" in artifacts else Path(artifacts).absolute().as_uri()
