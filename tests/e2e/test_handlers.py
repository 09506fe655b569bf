"""Against a real API server: what the watches tell, what they do not, and what is written where."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.fakes.wakes import FakeWakes
from tests.kubectl import Kubectl
from toolcall_operator import handlers
from toolcall_operator.adapters.cluster import config
from toolcall_operator.adapters.cluster.calls import KubernetesCluster
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.events import Events
from toolcall_operator.adapters.cluster.memory import resync
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.departures import Departures
from toolcall_operator.adapters.cluster.memory.resync import Resync
from toolcall_operator.adapters.cluster.memory.shelf import Identity
from toolcall_operator.adapters.cluster.objects import KubernetesObjects
from toolcall_operator.adapters.cluster.resources import PODS, SESSIONS, TOOLCALLS
from toolcall_operator.api.base import API_VERSION
from toolcall_operator.api.toolcall import FINALIZER, ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch, ToolCallStatus
from toolcall_operator.core import status
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.pod.podspec import SESSION_LABEL
from toolcall_operator.core.reasons import Reason
from toolcall_operator.errors import Gone, OperatorError, Superseded
from toolcall_operator.handlers import Intake

pytestmark = pytest.mark.cluster

GRACE_SECONDS = 60.0
CLAIM = Dispatch(boot_id="boot-1", operator="me", epoch=1, at=datetime.now(UTC))


@dataclass
class Place:
    """A namespace of the cluster as this process sees it, and who is woken."""

    client: Client
    namespace: str
    wakes: FakeWakes = field(default_factory=FakeWakes)

    def __post_init__(self) -> None:
        self.caches = Caches(self.wakes)
        self.departures = Departures(self.client, self.caches)
        self.events = Events(self.client, "test", lambda: datetime.now(UTC))
        self.cluster = KubernetesCluster(self.client, self.caches, self.events)
        self.objects = KubernetesObjects(self.client, self.caches, self.events)
        self.resync = Resync(self.client, self.caches, self.departures, [self.namespace])

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Watch the namespace; watches that break fail the test."""
        intake = Intake(self.client, self.caches, self.departures)
        async with handlers.watching(intake, [self.namespace]) as watches:
            breaking = asyncio.ensure_future(watches.broken())
            try:
                yield
                assert not breaking.done()
            finally:
                breaking.cancel()
                await asyncio.wait({breaking})

    async def call(self, name: str = "", **spec: Any) -> str:  # noqa: ANN401 (fields of a spec)
        """Make a ToolCall, and return its name."""
        name = name or f"call-{uuid.uuid4().hex[:8]}"
        made = {"session": "work", "tool": "echo", **spec}
        await self.client.create(TOOLCALLS.within(self.namespace), self.manifest("ToolCall", name, made))
        return name

    async def known(self, name: str) -> ToolCall:
        """The call, once the watch told of it."""
        await soon(lambda: name in self.names)
        return next(call for call in self.caches.calls.values() if call.metadata.name == name)

    @property
    def names(self) -> list[str]:
        """The names of the calls in the caches."""
        return [call.metadata.name for call in self.caches.calls.values()]

    def manifest(self, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        """An object of ours."""
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}

    async def stored(self, name: str) -> dict[str, Any]:
        """A call as the API server has it."""
        return await self.client.get(TOOLCALLS.named(name, self.namespace))


async def soon(holds: Callable[[], bool]) -> None:
    """Wait until something comes true."""
    async with asyncio.timeout(GRACE_SECONDS):
        while not holds():  # noqa: ASYNC110 (what is waited for is on the other side of a cluster)
            await asyncio.sleep(0.02)


@pytest.fixture
async def place(kubectl: Kubectl, crds: None) -> AsyncIterator[Place]:  # noqa: ARG001 (they have to be there)
    client = await Client.open(config.source("", "", os.environ))
    made = Place(client, kubectl.namespace)
    yield made
    await made.departures.aclose()
    await client.aclose()
    await disconnected()


async def disconnected() -> None:
    """Return when every connection has said goodbye, which in TLS takes an answer: the loop must not end before."""
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]  # noqa: SLF001 (nobody else knows)
    await soon(lambda: len(selector.get_map()) == 1)  # the loop's own pipe


def claimed() -> ToolCallStatus:
    """The status of a call that was claimed."""
    return ToolCallStatus(dispatch=CLAIM, started_at=CLAIM.at, observed_generation=1)


def ended(call: ToolCall, message: str = "no such session") -> ToolCallStatus:
    """The status of a call that has ended."""
    return status.settled(call, Refused(Reason.SESSION_GONE, message), datetime.now(UTC))


# What the watches tell ------------------------------------------------------------------------------------------------
async def test_a_call_is_told_of_when_it_is_made_canceled_and_deleted(place: Place) -> None:
    before = await place.call()
    async with place.watching():
        await place.known(before)  # one that was there before the watch
        name = await place.call()
        call = await place.known(name)
        await place.client.merge(TOOLCALLS.named(name, place.namespace), {"spec": {"cancel": True}})
        await soon(lambda: place.caches.calls[call.metadata.uid].spec.cancel)
        await place.client.delete(TOOLCALLS.named(name, place.namespace), call.metadata.uid)
        await soon(lambda: f"gone {call.metadata.uid}" in place.wakes.woken)

    assert place.wakes.woken.count(f"call {name}") == 2
    assert name not in place.names


async def test_a_label_edit_of_a_call_is_not_read(place: Place) -> None:
    async with place.watching():
        name = await place.call()
        first = await place.known(name)
        await place.client.merge(TOOLCALLS.named(name, place.namespace), {"metadata": {"labels": {"a": "b"}}})
        await place.known(await place.call())  # what came later was told

        assert place.caches.calls[first.metadata.uid] is first


async def test_a_call_that_ends_here_leaves_unasked_and_is_not_gone(place: Place) -> None:
    async with place.watching():
        call = await place.known(await place.call())
        reported = await place.cluster.report(call, claimed())
        await place.cluster.report(reported, ended(reported))
        await soon(lambda: call.metadata.uid not in place.caches.calls)
        await soon(lambda: not place.caches.unfinished.is_settling(call.metadata.uid))

    assert f"gone {call.metadata.uid}" not in place.wakes.woken
    assert (await place.stored(call.metadata.name))["status"]["finished"] is True


async def test_a_call_that_somebody_else_ends_leaves_and_is_not_gone(place: Place) -> None:
    async with place.watching():
        call = await place.known(await place.call())
        address = TOOLCALLS.named(call.metadata.name, place.namespace)
        await place.client.merge(address.part("status"), {"status": {"finished": True}})
        await soon(lambda: call.metadata.uid not in place.caches.calls)

    assert f"gone {call.metadata.uid}" not in place.wakes.woken


async def test_a_call_that_is_held_is_told_of_when_it_is_deleted_and_again_when_it_is_gone(place: Place) -> None:
    async with place.watching():
        call = await place.known(await place.call())
        await place.cluster.hold(call)
        await place.client.delete(TOOLCALLS.named(call.metadata.name, place.namespace), call.metadata.uid)
        await soon(lambda: place.caches.calls[call.metadata.uid].metadata.deletion_timestamp is not None)
        await place.cluster.release(place.caches.calls[call.metadata.uid])
        await soon(lambda: f"gone {call.metadata.uid}" in place.wakes.woken)


async def test_a_call_that_others_hold_back_while_it_is_being_deleted_cannot_be_held_any_more(place: Place) -> None:
    async with place.watching():
        call = await place.known(await place.call())
        address = TOOLCALLS.named(call.metadata.name, place.namespace)
        await place.client.merge(address, {"metadata": {"finalizers": ["example.com/theirs"]}})
        await place.client.delete(address, call.metadata.uid)

        with pytest.raises(Gone, match="being deleted"):
            await place.cluster.hold(call)

        await place.client.merge(address, {"metadata": {"finalizers": None}})


async def test_sessions_are_told_of(place: Place) -> None:
    key = (place.namespace, "told")
    async with place.watching():
        manifest = place.manifest("SpiceboxSession", "told", {"class": "plain"})
        await place.client.create(SESSIONS.within(place.namespace), manifest)
        await soon(lambda: key in place.caches.sessions)
        await place.objects.delete_session(place.caches.sessions[key])
        await soon(lambda: key not in place.caches.sessions)


async def test_only_pods_of_sessions_are_told_of_and_a_lost_label_is_no_end(place: Place) -> None:
    async with place.watching():
        await place.client.create(PODS.within(place.namespace), pod(place, "stranger"))
        await place.client.create(PODS.within(place.namespace), pod(place, "ours", labels={SESSION_LABEL: "work"}))
        await soon(lambda: (place.namespace, "ours") in place.caches.pods)
        address = PODS.named("ours", place.namespace)
        await place.client.merge(address, {"metadata": {"labels": {SESSION_LABEL: None}}})
        unlabeled = Identity.of(await place.client.get(address))
        await soon(lambda: any(known.version >= unlabeled.version for known in place.caches.identities("Pod")))
        early = list(place.wakes.woken)
        ours = place.caches.pods[place.namespace, "ours"]
        await place.objects.delete_pod(ours, grace=0)
        await place.resync.once()  # without its label, nothing else tells of its end
        await soon(lambda: "pod ours gone" in place.wakes.woken)

    assert "pod stranger" not in early
    assert "pod ours gone" not in early


# What they do not -----------------------------------------------------------------------------------------------------
async def test_what_happened_while_nobody_watched_is_found(place: Place) -> None:
    async with place.watching():
        deleted, finished = await place.known(await place.call()), await place.known(await place.call())
    await place.client.delete(TOOLCALLS.named(deleted.metadata.name, place.namespace), deleted.metadata.uid)
    address = TOOLCALLS.named(finished.metadata.name, place.namespace)
    await place.client.merge(address.part("status"), {"status": {"finished": True}})
    new = await place.call()

    await place.resync.once()

    assert f"gone {deleted.metadata.uid}" in place.wakes.woken
    assert f"gone {finished.metadata.uid}" not in place.wakes.woken
    assert {deleted.metadata.name, finished.metadata.name}.isdisjoint(place.names)
    assert new in place.names


async def test_an_ended_call_that_is_still_held_is_let_go(place: Place) -> None:
    async with place.watching():
        call = await place.known(await place.call())
        await place.cluster.hold(call)
        await place.cluster.report(call, ended(call))

    assert await resync.release_ended(place.client, [place.namespace]) == 1
    assert FINALIZER not in (await place.stored(call.metadata.name))["metadata"].get("finalizers", [])


# What is written ------------------------------------------------------------------------------------------------------
async def test_what_is_reported_is_what_is_stored(place: Place) -> None:
    async with place.watching():
        call = await place.known(await place.call())
    reported = await place.cluster.report(call, claimed())
    final = ended(reported)

    await place.cluster.report(reported, final)

    assert (await place.stored(call.metadata.name))["status"] == final.to_manifest()


async def test_a_claim_and_an_end_whose_answers_were_lost_may_be_written_again(place: Place) -> None:
    async with place.watching():
        call = await place.known(await place.call())
    await place.cluster.report(call, claimed())

    later = claimed().model_copy(update={"dispatch": CLAIM.model_copy(update={"at": datetime.now(UTC)})})
    reported = await place.cluster.report(call, later)
    final = ended(reported)
    await place.cluster.report(reported, final)
    again = await place.cluster.report(reported, final)

    assert reported.status is not None
    assert reported.status.dispatch is not None
    assert reported.status.dispatch.boot_id == CLAIM.boot_id
    assert again.status is not None
    assert again.status.finished


async def test_of_two_who_claim_a_call_one_does(place: Place) -> None:
    async with place.watching():
        call = await place.known(await place.call())
    theirs = claimed().model_copy(update={"dispatch": CLAIM.model_copy(update={"operator": "other"})})

    results = await asyncio.gather(
        place.cluster.report(call, claimed()), place.cluster.report(call, theirs), return_exceptions=True
    )

    assert sorted(type(result).__name__ for result in results) == ["Superseded", "ToolCall"]


async def test_an_end_is_not_overwritten_by_another(place: Place) -> None:
    async with place.watching():
        call = await place.known(await place.call())
    reported = await place.cluster.report(call, claimed())
    await place.cluster.report(reported, ended(reported, "the first end"))

    with pytest.raises(Superseded):
        await place.cluster.report(reported, ended(reported, "another end"))

    assert "the first end" in str((await place.stored(call.metadata.name))["status"])


async def test_a_call_that_cannot_be_read_ends_alone(place: Place, kubectl: Kubectl) -> None:
    async with place.watching():
        # The API server takes more than what leaves room for a status.
        bad = place.manifest("ToolCall", "bad", {"session": "work", "tool": "echo", "args": ["x" * 128_000] * 10})
        await asyncio.to_thread(kubectl, "create", "--filename=-", stdin=json.dumps(bad))
        good = await place.known(await place.call())
        await soon(lambda: bool(place.wakes.unread))
        await place.cluster.end_unread(place.wakes.unread[0], datetime.now(UTC))
        await soon(lambda: not place.caches.unfinished.unread)

    kept = (await place.stored("bad"))["status"]
    ends = {condition["type"]: condition for condition in kept["conditions"] if condition["status"] == "True"}
    assert ends["Failed"]["reason"] == "MalformedObject"
    assert "1.2 MiB" in ends["Failed"]["message"]
    assert good.metadata.uid in place.caches.calls


async def test_an_event_shows_what_was_remarked(place: Place, kubectl: Kubectl) -> None:
    async with place.watching():
        call = await place.known(await place.call())

    place.cluster.remark(call, Reason.SESSION_GONE, "spec.session names nothing")
    await place.events.flush()

    told = kubectl("events", f"--for=toolcall/{call.metadata.name}", "--no-headers")
    assert "Warning" in told
    assert "spec.session names nothing" in told


async def test_another_pod_of_the_same_name_is_neither_deleted_nor_annotated(place: Place) -> None:
    made = await place.client.create(PODS.within(place.namespace), pod(place, "twin"))
    twin = PodView.parse({**made, "metadata": {**made["metadata"], "uid": str(uuid.uuid4())}})

    await place.objects.annotate_pod(twin, {"a": "b"})
    await place.objects.delete_pod(twin, grace=0)

    kept = await place.client.get(PODS.named("twin", place.namespace))
    assert "annotations" not in kept["metadata"]
    await place.objects.annotate_pod(PodView.parse(made), {"a": "b", "c": "d"})
    await place.objects.annotate_pod(PodView.parse(made), {"c": None})
    assert (await place.client.get(PODS.named("twin", place.namespace)))["metadata"]["annotations"] == {"a": "b"}


async def test_watches_of_a_cluster_that_refuses_us_break(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody() -> dict[str, Any]:
        known = await place.client.__class__.connection_info(place.client)
        return {**known, "certificate_data": None, "private_key_data": None, "token": "nobody", "scheme": "Bearer"}

    monkeypatch.setattr(place.client, "connection_info", nobody)

    async with handlers.watching(Intake(place.client, place.caches, place.departures), [place.namespace]) as watches:
        with pytest.raises(OperatorError, match="have ended"):
            await asyncio.wait_for(watches.broken(), GRACE_SECONDS)


def pod(place: Place, name: str, **metadata: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of metadata)
    """A pod that no node takes: it stays pending until it is deleted."""
    container = {"name": "sandbox", "image": "none.invalid/none"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": place.namespace, **metadata},
        "spec": {"nodeSelector": {"no": "node"}, "containers": [container]},
    }
