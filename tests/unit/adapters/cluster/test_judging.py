"""Calls are judged by the toolspecs of their session, once everybody can see that these are valid."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.apiserver import FakeClient
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE
from tests.unit.core.examples import NOW
from toolcall_operator.adapters.cluster.calls import KubernetesCluster
from toolcall_operator.adapters.cluster.events import Events
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.objects import KubernetesObjects
from toolcall_operator.adapters.cluster.resources import TOOLSPECS
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.policy.deciding.candidates import Invalid, Pending
from toolcall_operator.core.policy.loading import policystatus
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.core.world import World

VALID = {
    "conditions": [
        {
            "type": "Valid",
            "status": "True",
            "reason": "Resolved",
            "message": "it judges calls",
            "lastTransitionTime": "2026-01-01T00:00:00.000000Z",
            "observedGeneration": 1,
        }
    ]
}


class Place:
    """A call in a session of a class with toolspecs, which the caches know, and nothing that judges it yet."""

    def __init__(self, *toolspecs: str, of_class: tuple[str, ...] = ("echoes",)) -> None:
        self.client = FakeClient()
        self.caches = Caches()
        events = Events(self.client, "me", lambda: NOW)
        self.cluster = KubernetesCluster(self.client, self.caches, events)
        self.objects = KubernetesObjects(self.client, self.caches, events)
        judged: dict[str, Any] = {"toolspecs": [{"name": name} for name in of_class]} if of_class else {}
        frozen = manifests.session_class(**judged)["spec"]
        status = {"resolvedClass": frozen, "effectiveToolspecs": list(toolspecs)}
        for manifest in (manifests.call(), manifests.session(status=status), manifests.toolkit()):
            self.caches.put(manifest)

    @property
    def call(self) -> ToolCall:
        """The call, as the caches have it."""
        return self.caches.calls["uid-one"]

    def apply(self, *args: Any, **fields: Any) -> None:  # noqa: ANN401 (what a toolspec is made of)
        """A toolspec is made or changed, and the watch tells of it."""
        self.caches.put(self.client.put(TOOLSPECS, manifests.toolspec(*args, **fields)))

    async def world(self) -> World:
        """What the call sees."""
        return await self.cluster.observe(self.call)

    async def judges(self) -> list[str]:
        """The toolspecs by name, each with why it does not judge."""
        told = {Toolspec: "judges", Pending: "pending", Invalid: "invalid"}
        return [f"{each.name} {told[type(each)]}" for each in (await self.world()).toolspecs or ()]


async def test_calls_of_a_class_that_declares_no_toolspecs_are_not_judged() -> None:
    assert (await Place(of_class=()).world()).toolspecs is None


async def test_a_session_that_is_narrowed_to_nothing_is_judged_even_if_its_class_declares_no_toolspecs() -> None:
    place = Place(of_class=())
    bound = place.caches.sessions[NAMESPACE, "work"].to_manifest()["status"]
    place.caches.put(manifests.session(version=2, spec={"toolspecs": []}, status=bound))

    assert (await place.world()).toolspecs == ()


async def test_a_session_that_is_narrowed_to_nothing_has_nobody_who_allows() -> None:
    assert (await Place().world()).toolspecs == ()


async def test_a_session_without_a_class_yet_has_nobody_to_ask() -> None:
    place = Place()
    place.caches.put(manifests.session(version=2))

    assert (await place.world()).toolspecs is None


async def test_the_toolspecs_of_a_session_judge_in_its_order_and_those_of_others_do_not() -> None:
    place = Place("second", "none", "first")
    for name in ("first", "second", "third"):
        place.apply(name, status=VALID)

    assert await place.judges() == ["second judges", "first judges"]


STATUSES: dict[str, dict[str, Any] | None] = {
    "no status": None,
    "a status that says nothing": {"observedGeneration": 1},
    "the status of another generation": {"conditions": [{**VALID["conditions"][0], "observedGeneration": 2}]},
    "a status by which it is not valid": {"conditions": [{**VALID["conditions"][0], "status": "False"}]},
}


@pytest.mark.parametrize("status", STATUSES.values(), ids=STATUSES)
async def test_one_that_is_not_shown_to_be_valid_is_pending(status: dict[str, Any] | None) -> None:
    place = Place("echoes")
    place.apply(status=status)

    assert await place.judges() == ["echoes pending"]


async def test_one_that_the_library_objects_to_is_invalid_whatever_its_status_says() -> None:
    place = Place("echoes")
    place.apply(allowSubcommands=["shout"], status=VALID)

    (found,) = (await place.world()).toolspecs or ()
    assert isinstance(found, Invalid)
    assert (found.reason, found.tool) == ("UnknownSubcommand", "echo")


async def test_one_that_cannot_be_read_is_invalid() -> None:
    place = Place("echoes")
    place.apply(constraints="none")

    assert await place.judges() == ["echoes invalid"]


async def test_a_verdict_that_was_written_here_counts_before_its_echo_comes() -> None:
    place = Place("echoes")
    place.apply()
    before = await place.judges()
    waiting = asyncio.ensure_future(place.cluster.changed(place.call))
    await asyncio.sleep(0)
    toolspec, judged = place.objects.toolspec("echoes"), place.objects.library.toolspec("echoes")
    assert toolspec is not None
    assert judged is not None

    await place.objects.report_judged(toolspec, policystatus.of_toolspec(toolspec, judged, NOW))

    await asyncio.wait_for(waiting, 1)
    assert (before, await place.judges()) == (["echoes pending"], ["echoes judges"])


async def test_the_calls_of_a_session_share_one_world_until_its_toolspecs_change() -> None:
    place = Place("echoes")
    place.apply(status=VALID)
    first, again = await place.world(), await place.world()
    place.apply("others", status=VALID)
    unmoved = await place.world()

    place.apply(intent="Prints words.", status=VALID)

    assert again is first
    assert unmoved is first
    assert (await place.world()) is not first
