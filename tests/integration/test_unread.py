"""Objects that were stored under an older definition: what an operator makes of them, from watch to status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

import pytest

from tests.fakes.apiserver import FakeClient, Manifest
from tests.fakes.artifacts import FakeArtifacts
from tests.fakes.broker import FakeBroker
from tests.fakes.sandbox import FakeSandboxes
from tests.fakes.secrets import FakeSecrets
from tests.fakes.sessioncluster import FakeGreeter
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE
from toolcall_operator.adapters.cluster.calls import KubernetesCluster
from toolcall_operator.adapters.cluster.events import Events
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.shelf import Identity
from toolcall_operator.adapters.cluster.objects import KubernetesObjects
from toolcall_operator.adapters.cluster.resources import (
    AGENT_IDENTITIES,
    CLASSES,
    CONFIG_MAPS,
    EVENTS,
    PODS,
    SESSIONS,
    TOOLCALLS,
    Address,
    Resource,
)
from toolcall_operator.adapters.sandbox import podlink
from toolcall_operator.adapters.sandbox.pods import PodSandboxes
from toolcall_operator.api.spiceboxsession import FINALIZER
from toolcall_operator.bootstrap import now
from toolcall_operator.core.pod.podspec import SandboxSettings
from toolcall_operator.dispatcher import Dispatcher
from toolcall_operator.leading import Background, Leader
from toolcall_operator.ports import Ports
from toolcall_operator.sessions import SessionController, SystemTime
from toolcall_operator.sessions.ports import SessionPorts
from toolcall_operator.slots import Limits, Slots

SESSION, CLASS, POD = SESSIONS.named("work", NAMESPACE), CLASSES.named("plain"), PODS.named("work-pod", NAMESPACE)
BOT = AGENT_IDENTITIES.named("bot", NAMESPACE)
SOURCELESS = {"mounts": [{"name": "files", "mountPath": "/files", "source": {}}]}
SOURCED = {"mounts": [{"name": "files", "mountPath": "/files", "source": {"configMapRef": {"name": "files"}}}]}
FIELD = "spec.mounts[0].source.configMapRef is required"
OLD_FIELD = "status.resolvedClass.mounts[0].source.configMapRef is required"


class Watched(FakeClient):
    """An API server whose every change the caches are told of; what is deleted goes when nothing holds it."""

    caches = Caches()

    def put(self, resource: Resource, manifest: Mapping[str, Any]) -> Manifest:
        """Have an object, and tell of it."""
        made = super().put(resource, manifest)
        if made["metadata"].get("deletionTimestamp") and not made["metadata"].get("finalizers"):
            address = resource.named(made["metadata"]["name"], made["metadata"].get("namespace", ""))
            del self.objects[address]
            self.caches.drop(made["kind"], Identity.of(made))
        else:
            self.caches.put(made)
        return made

    async def delete(self, address: Address, uid: str, grace: int | None = None) -> None:
        """Delete an object, and tell of it."""
        gone = self.objects[address]
        await super().delete(address, uid, grace)
        self.caches.drop(gone["kind"], Identity.of(gone))


class Place:
    """A cluster, and an operator that leads in it; its sandboxes are ready as soon as their pods run."""

    def __init__(self) -> None:
        self.client = Watched()
        self.caches = self.client.caches = Caches()
        self.background = Background()
        self.events = Events(self.client, "me", now)
        self.client.put(CONFIG_MAPS, {"metadata": {"name": "files", "namespace": NAMESPACE}})
        cluster = KubernetesCluster(self.client, self.caches, self.events)
        slots = Slots(Limits(8, 8), now)
        self.dispatcher = Dispatcher(
            Ports(cluster, FakeSandboxes(), FakeBroker(), FakeArtifacts(), slots=slots, now=now, operator="me")
        )
        self.controller = SessionController(
            SessionPorts(
                cluster=KubernetesObjects(self.client, self.caches, self.events),
                greeter=FakeGreeter(),
                calls=self.dispatcher,
                time=SystemTime(),
                settings=SandboxSettings(supervisor_image="supervisor:1", default_image="default:1"),
                key_hash=lambda uid: uid,
                secrets=FakeSecrets(),
            )
        )
        unused = PodSandboxes(
            lambda _: pytest.fail("no channel"),
            lambda _: None,
            b"",
            lambda: 1,
            claimed=partial(podlink.claimed, self.client),
        )
        self.caches.wakes = Leader(self.dispatcher, self.controller, unused, cluster, self.background)

    def a_class(self, **spec: Any) -> None:  # noqa: ANN401 (fields of a manifest)
        """The class is stored."""
        self.client.put(CLASSES, manifests.session_class(**spec))

    def a_session(self, **fields: Any) -> None:  # noqa: ANN401 (fields of a manifest)
        """The session is stored."""
        self.client.put(SESSIONS, manifests.session(**fields))

    def edit(self, address: Address, **parts: Any) -> None:  # noqa: ANN401 (parts of a manifest)
        """Somebody changes some of an object."""
        stands = self.client.objects[address]
        changed = {name: {**stands.get(name, {}), **fields} for name, fields in parts.items()}
        self.client.put(address.resource, {**stands, **changed})

    async def told(self, address: Address, condition: str) -> str:
        """A condition of an object, once it has it, as `Status/Reason: message`."""
        await soon(lambda: self.says(address, condition))
        return self.says(address, condition)

    def says(self, address: Address, condition: str) -> str:
        """The same as it is now; empty if it is not there."""
        conditions = self.client.objects[address].get("status", {}).get("conditions", ())
        found = next((each for each in conditions if each["type"] == condition), None)
        return f"{found['status']}/{found['reason']}: {found['message']}" if found else ""

    async def pod_runs(self) -> None:
        """The pod is made, and runs."""
        await soon(lambda: POD in self.client.objects)
        running = {"name": "sandbox", "state": {"running": {}}}
        self.edit(POD, metadata={"uid": "uid-pod"}, status={"phase": "Running", "containerStatuses": [running]})

    def writes(self, address: Address) -> int:
        """How often an object's status was written."""
        return [asked for verb, asked in self.client.asked if verb == "patch"].count(str(address.part("status")))

    async def end(self) -> None:
        """Lead no more."""
        await asyncio.gather(self.dispatcher.detach(), self.controller.stop(), self.background.aclose())


async def soon(holds: Callable[[], object]) -> None:
    """Return when something holds."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 (a fake has no event to wait for)
            await asyncio.sleep(0.005)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    made = Place()
    yield made
    await made.end()


async def test_a_session_with_a_mount_of_nothing_says_so_itself_and_gets_no_pod(place: Place) -> None:
    place.a_class()
    place.a_session(spec=SOURCELESS)
    place.a_session(name="other", uid="other")

    told = await place.told(SESSION, "Failed")
    place.client.put(TOOLCALLS, manifests.call())
    ended = await place.told(TOOLCALLS.named("one", NAMESPACE), "Failed")
    await soon(lambda: PODS.named("other-pod", NAMESPACE) in place.client.objects)
    await place.events.flush()

    assert told == f"True/MalformedObject: {FIELD}"
    assert place.says(SESSION, "Ready").startswith("False/MalformedObject")
    assert place.says(SESSION, "Progressing").startswith("False/MalformedObject")
    assert ended.startswith("True/SessionNotActive")
    assert FIELD in ended
    assert POD not in place.client.objects
    assert place.writes(SESSION) == 1
    written = [each for address, each in place.client.objects.items() if address.resource == EVENTS]
    assert {"MalformedObject", "SessionNotActive"} <= {each["reason"] for each in written}


async def test_when_the_mount_is_mended_the_session_gets_its_sandbox(place: Place) -> None:
    place.a_class()
    place.a_session(spec=SOURCELESS)
    await place.told(SESSION, "Failed")

    place.edit(SESSION, spec=SOURCED)
    await place.pod_runs()
    await soon(lambda: place.says(SESSION, "Ready").startswith("True/SandboxReady"))

    assert place.says(SESSION, "Failed") == ""


async def test_a_session_whose_frozen_class_cannot_be_read_keeps_it_as_it_is(place: Place) -> None:
    frozen = {**manifests.session_class()["spec"], **SOURCELESS}
    place.a_session(status={"resolvedClass": frozen, "podName": "work-pod", "restarts": 0})

    told = await place.told(SESSION, "Failed")

    assert told == f"True/MalformedObject: {OLD_FIELD}"
    kept = place.client.objects[SESSION]["status"]
    assert (kept["resolvedClass"], kept["podName"], kept["restarts"]) == (frozen, "work-pod", 0)


async def test_a_session_that_is_deleted_although_nobody_can_read_it_takes_its_pod_with_it(place: Place) -> None:
    place.a_session(spec=SOURCELESS, finalizers=[FINALIZER], deletionTimestamp="2026-01-01T00:00:00Z")
    place.client.put(PODS, manifests.pod())
    place.client.put(PODS, manifests.pod("theirs", owner="another"))

    await soon(lambda: SESSION not in place.client.objects)

    assert POD not in place.client.objects
    assert PODS.named("theirs", NAMESPACE) in place.client.objects
    assert not place.caches.unread_sessions


async def test_a_class_with_a_mount_of_nothing_is_not_valid_until_it_is_mended(place: Place) -> None:
    place.a_class(**SOURCELESS)
    place.a_session()

    told = await place.told(CLASS, "Valid")
    writes = place.writes(CLASS)
    place.edit(CLASS, spec=SOURCED)
    await soon(lambda: place.says(CLASS, "Valid").startswith("True/Valid"))
    await place.pod_runs()

    assert told == f"False/MalformedObject: {FIELD}"
    assert (writes, place.writes(CLASS)) == (1, 2)


async def test_an_agent_identity_that_nobody_can_read_says_so_until_it_is_mended(place: Place) -> None:
    place.client.put(AGENT_IDENTITIES, manifests.agent(spec={"credentials": [{"name": "forge"}]}))

    told = await place.told(BOT, "Valid")
    place.edit(BOT, spec={"credentials": []})
    await soon(lambda: place.says(BOT, "Valid").startswith("True/AllReferencesResolve"))

    assert told == "False/SpecInvalid: spec.credentials[0].type is required"
    assert place.writes(BOT) == 2
