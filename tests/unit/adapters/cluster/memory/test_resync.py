"""What left the watch is explained, and what the watch did not tell is found."""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes.apiserver import FakeClient
from tests.fakes.wakes import FakeWakes
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE
from toolcall_operator.adapters.cluster.memory import resync
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.departures import Departures
from toolcall_operator.adapters.cluster.memory.resync import Resync
from toolcall_operator.adapters.cluster.memory.shelf import Identity
from toolcall_operator.adapters.cluster.memory.wakes import Asleep
from toolcall_operator.adapters.cluster.memory.watched import WATCHED
from toolcall_operator.adapters.cluster.resources import (
    AGENT_IDENTITIES,
    CLASSES,
    PODS,
    SESSIONS,
    TOOLCALLS,
    TOOLKITS,
    TOOLSPECS,
)
from toolcall_operator.api.toolcall import FINALIZER
from toolcall_operator.errors import Rejected, Unavailable

ONE = TOOLCALLS.named("one", NAMESPACE)
FINISHED = {"finished": True}


class Place:
    """A fake API server with a call, a session, what it is made of and judged by, and its pod: the caches know them."""

    def __init__(self, *namespaces: str) -> None:
        self.client = FakeClient(
            (TOOLCALLS, manifests.call()),
            (SESSIONS, manifests.session()),
            (CLASSES, manifests.session_class()),
            (TOOLKITS, manifests.toolkit()),
            (TOOLSPECS, manifests.toolspec()),
            (AGENT_IDENTITIES, manifests.agent()),
            (PODS, manifests.pod()),
        )
        self.wakes = FakeWakes()
        self.caches = Caches(self.wakes)
        for manifest in self.client.objects.values():
            self.caches.put(manifest)
        self.departures = Departures(self.client, self.caches)
        self.resync = Resync(self.client, self.caches, self.departures, namespaces)
        self.wakes.woken.clear()

    async def leaves(self, kind: str = "ToolCall", name: str = "one") -> None:
        """The watch shows an object as deleted, and the departure is explained."""
        identity = next(identity for identity in self.caches.identities(kind) if identity.name == name)
        self.departures.noticed(kind, identity)
        await self.departures.join()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Watches do not lag."""
    monkeypatch.setattr(resync, "LAG_SECONDS", 0.0)


# Departures -----------------------------------------------------------------------------------------------------------
async def test_a_call_that_left_and_is_no_more_is_told_of() -> None:
    place = Place()
    place.client.remove(TOOLCALLS, "one", NAMESPACE)

    await place.leaves()

    assert place.wakes.woken == ["gone uid-one"]
    assert not place.caches.calls


async def test_a_call_that_left_and_was_made_anew_is_gone() -> None:
    place = Place()
    place.client.put(TOOLCALLS, manifests.call(uid="another"))

    await place.leaves()

    assert place.wakes.woken == ["gone uid-one"]


async def test_a_call_that_left_because_somebody_ended_it_is_not_gone() -> None:
    place = Place()
    place.client.put(TOOLCALLS, manifests.call(status=FINISHED))

    await place.leaves()

    assert place.wakes.woken == []
    assert not place.caches.calls


async def test_nobody_is_asked_about_a_call_that_ended_here() -> None:
    place = Place()
    place.caches.unfinished.settle("uid-one")

    await place.leaves()

    assert place.client.asked == []
    assert place.wakes.woken == []
    assert not place.caches.calls
    assert not place.caches.unfinished.is_settling("uid-one")


async def test_a_process_that_carries_no_calls_does_not_ask_what_became_of_them() -> None:
    place = Place()
    place.caches = Caches()
    place.caches.put(manifests.call())
    place.departures = Departures(place.client, place.caches)

    await place.leaves()

    assert place.client.asked == []
    assert not place.caches.calls


async def test_a_departure_that_cannot_be_explained_is_asked_about_again_and_then_left_to_the_resync() -> None:
    place = Place()
    place.client.remove(TOOLCALLS, "one", NAMESPACE)
    place.client.troubles += [Unavailable("not now")] * 3
    await place.leaves()

    other = Place()
    other.client.troubles.append(Rejected("never"))
    await other.leaves()

    assert place.wakes.woken == ["gone uid-one"]
    assert list(other.caches.calls) == ["uid-one"]


async def test_a_departure_is_asked_about_once_however_often_it_is_noticed() -> None:
    place = Place()
    identity = Identity.of(place.client.objects[ONE])

    place.departures.noticed("ToolCall", identity)
    place.departures.noticed("ToolCall", identity)
    await place.departures.join()

    assert len(place.client.asked) == 1


async def test_a_call_that_was_never_known_needs_no_explanation() -> None:
    place = Place()

    place.departures.noticed("ToolCall", Identity.of(manifests.call("stranger")))
    await place.departures.join()

    assert place.client.asked == []


async def test_a_pod_that_only_lost_its_label_is_not_taken_for_gone() -> None:
    place = Place()
    place.client.put(PODS, manifests.pod(labels={}))

    await place.leaves("Pod", "work-pod")

    assert "pod work-pod gone" not in place.wakes.woken
    assert list(place.caches.pods) == [(NAMESPACE, "work-pod")]


async def test_a_pod_that_is_no_more_is_told_of() -> None:
    place = Place()
    place.client.remove(PODS, "work-pod", NAMESPACE)

    await place.leaves("Pod", "work-pod")

    assert place.wakes.woken == ["pod work-pod gone", "session agents/work"]


async def test_a_session_that_left_is_no_more() -> None:
    place = Place()

    await place.leaves("SpiceboxSession", "work")

    assert place.client.asked == []
    assert place.wakes.woken == ["session agents/work"]


async def test_departures_can_be_left_unexplained_at_the_end() -> None:
    place = Place()
    place.departures.noticed("ToolCall", Identity.of(place.client.objects[ONE]))

    await place.departures.aclose()

    assert list(place.caches.calls) == ["uid-one"]


# Resync ---------------------------------------------------------------------------------------------------------------
async def test_a_resync_of_what_is_known_asks_for_a_list_of_each_kind_and_tells_of_everything() -> None:
    place = Place()

    await place.resync.once()

    assert [verb for verb, _ in place.client.asked] == ["list"] * 7
    assert place.wakes.woken == [
        *("call one", "toolkit echo-kit", "toolspec echoes", "class plain"),
        *("agent agents/bot", "session agents/work", "pod work-pod"),
    ]
    assert place.resync.missed == 0


async def test_deletions_that_the_watch_missed_are_found() -> None:
    place = Place()
    place.client.objects.clear()

    await place.resync.once()

    assert "gone uid-one" in place.wakes.woken
    assert "pod work-pod gone" in place.wakes.woken
    assert [place.caches.identities(watched.kind) for watched in WATCHED] == [()] * 7
    assert place.resync.missed == 7


async def test_a_process_that_does_not_lead_forgets_what_is_gone_all_the_same() -> None:
    place = Place()
    place.caches.wakes = Asleep()
    place.client.objects.clear()

    await place.resync.once()

    assert [place.caches.identities(watched.kind) for watched in WATCHED] == [()] * 7
    assert place.wakes.woken == []


async def test_an_end_that_the_watch_missed_is_found() -> None:
    place = Place()
    place.client.put(TOOLCALLS, manifests.call(status=FINISHED))

    await place.resync.once()

    assert not place.caches.calls
    assert "gone uid-one" not in place.wakes.woken


@pytest.mark.parametrize(
    "kind",
    ("ToolCall", "SpiceboxSession", "SpiceboxClass", "SpiceboxToolkit", "SpiceboxToolspec", "AgentIdentity", "Pod"),
)
async def test_objects_that_the_watch_missed_are_fetched(kind: str) -> None:
    place = Place()
    resource, manifest = {
        "ToolCall": (TOOLCALLS, manifests.call("new")),
        "SpiceboxSession": (SESSIONS, manifests.session("new", uid="new")),
        "SpiceboxClass": (CLASSES, manifests.session_class("new")),
        "SpiceboxToolkit": (TOOLKITS, manifests.toolkit("new")),
        "SpiceboxToolspec": (TOOLSPECS, manifests.toolspec("new")),
        "AgentIdentity": (AGENT_IDENTITIES, manifests.agent("new")),
        "Pod": (PODS, manifests.pod("new")),
    }[kind]
    place.client.put(resource, manifest)

    await place.resync.once()

    assert "new" in [identity.name for identity in place.caches.identities(kind)]
    assert place.resync.missed == 1


async def test_a_cancel_that_the_watch_missed_is_found() -> None:
    place = Place()
    place.client.put(TOOLCALLS, manifests.call(generation=2, spec={"cancel": True}))

    await place.resync.once()

    assert place.caches.calls["uid-one"].spec.cancel


async def test_a_call_whose_end_was_just_written_here_is_neither_fetched_nor_told_of() -> None:
    place = Place()
    place.caches.unfinished.settle("uid-one")

    await place.resync.once()

    assert "get" not in [verb for verb, _ in place.client.asked]
    assert "call one" not in place.wakes.woken


async def test_what_the_watch_tells_a_moment_later_was_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resync, "LAG_SECONDS", 0.01)
    place = Place()
    fresh = place.client.put(TOOLCALLS, manifests.call("new"))

    running = asyncio.ensure_future(place.resync.once())
    await asyncio.sleep(0)
    place.caches.put(fresh)
    await running

    assert place.resync.missed == 0


async def test_only_the_namespaces_that_are_watched_are_compared() -> None:
    place = Place(NAMESPACE)
    place.client.put(TOOLCALLS, manifests.call("elsewhere", namespace="other"))

    await place.resync.once()

    assert list(place.caches.calls) == ["uid-one"]
    assert ("list", f"toolcalls {NAMESPACE}") in place.client.asked
    assert ("list", "spiceboxclasses") in place.client.asked


async def test_a_cluster_that_cannot_be_read_costs_nothing_that_is_known() -> None:
    place = Place()
    place.client.troubles.append(Unavailable("not now"))

    with pytest.raises(Unavailable):
        await place.resync.once()

    assert list(place.caches.calls) == ["uid-one"]


async def test_resyncs_go_on_after_one_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resync, "INTERVAL_SECONDS", (0.0, 0.0))
    place = Place()
    place.client.troubles.append(Unavailable("not now"))

    running = asyncio.ensure_future(place.resync.run())
    while "call one" not in place.wakes.woken:  # noqa: ASYNC110 (a fake has no event to wait for)
        await asyncio.sleep(0)

    running.cancel()
    assert not running.done()


async def test_resyncs_go_on_after_a_bug_whose_text_stays_out_of_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(resync, "INTERVAL_SECONDS", (0.0, 0.0))
    place = Place()

    def break_down(_: object) -> None:
        place.wakes.woken.append("broke down")
        raise RuntimeError("the-secret-argument")

    monkeypatch.setattr(place.wakes, "session_class", break_down)

    running = asyncio.ensure_future(place.resync.run())
    while place.wakes.woken.count("broke down") < 2:  # noqa: ASYNC110 (a fake has no event to wait for)
        await asyncio.sleep(0)

    running.cancel()
    assert "RuntimeError" in caplog.text
    assert "the-secret-argument" not in caplog.text


# Ended calls that are still held --------------------------------------------------------------------------------------
async def test_ended_calls_that_are_still_held_are_let_go() -> None:
    place = Place()
    place.client.put(TOOLCALLS, manifests.call("held", status=FINISHED, finalizers=["theirs", FINALIZER]))
    place.client.put(TOOLCALLS, manifests.call("free", status=FINISHED))
    place.client.put(TOOLCALLS, manifests.call("runs", finalizers=[FINALIZER]))

    released = await resync.release_ended(place.client, [NAMESPACE])

    assert released == 1
    assert place.client.objects[TOOLCALLS.named("held", NAMESPACE)]["metadata"]["finalizers"] == ["theirs"]
    assert place.client.objects[TOOLCALLS.named("runs", NAMESPACE)]["metadata"]["finalizers"] == [FINALIZER]


async def test_the_release_is_tried_again_after_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resync, "SWEEP_SECONDS", 0.0)
    place = Place()
    held = TOOLCALLS.named("held", NAMESPACE)
    place.client.put(TOOLCALLS, manifests.call("held", status=FINISHED, finalizers=[FINALIZER]))
    place.client.troubles.append(Unavailable("not now"))

    running = asyncio.ensure_future(resync.keep_released(place.client))
    while place.client.objects[held]["metadata"].get("finalizers"):  # noqa: ASYNC110 (see above)
        await asyncio.sleep(0)

    running.cancel()
