"""Events are written later, one after the other, few of them; what cannot be written is dropped."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.fakes.apiserver import FakeClient
from tests.unit.core import examples
from tests.unit.core.examples import NOW
from tests.unit.core.policy.loading import policies
from toolcall_operator.adapters.cluster import events
from toolcall_operator.adapters.cluster.events import Events, Subject
from toolcall_operator.adapters.cluster.resources import EVENTS
from toolcall_operator.api.base import Manifest
from toolcall_operator.errors import Rejected

CALL = Subject("ToolCall", "agents", "one", "uid-one")


class Place:
    """A fake API server, and a clock that moves when told."""

    def __init__(self) -> None:
        self.client = FakeClient()
        self.now = NOW
        self.events = Events(self.client, "me", self._time)

    @property
    def written(self) -> list[dict[str, Any]]:
        """The Events that are kept."""
        return [made for address, made in self.client.objects.items() if address.resource == EVENTS]

    def _time(self) -> datetime:
        return self.now


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause between two Events."""
    monkeypatch.setattr(events, "PAUSE", timedelta())


async def test_an_event_says_what_it_is_about_why_and_who_says_so() -> None:
    place = Place()

    place.events.warn(CALL, "SessionGone", "spec.session names nothing")
    await place.events.flush()

    (event,) = place.written
    about = event["involvedObject"]
    assert (event["type"], event["reason"], event["message"]) == (
        "Warning",
        "SessionGone",
        "spec.session names nothing",
    )
    assert (about["kind"], about["namespace"], about["name"], about["uid"]) == ("ToolCall", "agents", "one", "uid-one")
    assert event["metadata"]["namespace"] == "agents"
    assert event["reportingInstance"] == "me"


@pytest.mark.parametrize(
    "about",
    (examples.session_class(), policies.spiceboxtoolkit(), policies.spiceboxtoolspec()),
    ids=lambda about: about.kind,
)
async def test_an_event_about_an_object_of_the_whole_cluster_stands_in_the_default_namespace(about: Manifest) -> None:
    place = Place()

    place.events.warn(Subject.of(about), "Invalid", "spec.image is not valid")
    await place.events.flush()

    (event,) = place.written
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["involvedObject"]


async def test_the_same_is_not_said_twice_in_a_row() -> None:
    place = Place()

    for _ in range(3):
        place.events.warn(CALL, "ReconcileFailed", "the store does not answer")
    place.events.warn(CALL, "SessionGone", "another reason is another matter")
    place.now += events.AGAIN_AFTER
    place.events.warn(CALL, "ReconcileFailed", "the store still does not answer")
    await place.events.flush()

    assert [event["reason"] for event in place.written] == ["ReconcileFailed", "SessionGone", "ReconcileFailed"]


async def test_neither_the_queue_nor_the_memory_of_what_was_said_grows_without_end() -> None:
    place = Place()

    for number in range(events.SUBJECTS_REMEMBERED + 500):
        place.events.warn(Subject("ToolCall", "agents", f"c{number}", f"uid-{number}"), "SessionGone", "gone")

    assert len(place.events._queue) == events.LONGEST_QUEUE  # noqa: SLF001 (memory shows nowhere else)
    assert len(place.events._remarked) == events.SUBJECTS_REMEMBERED  # noqa: SLF001 (see above)


async def test_a_message_is_one_bounded_line() -> None:
    place = Place()

    place.events.warn(CALL, "StartFailed", "a\nb\x1b[31m" + "x" * 5000)
    await place.events.flush()

    (event,) = place.written
    assert event["message"].startswith("a b [31m")
    assert len(event["message"]) == 1024


async def test_a_long_name_leaves_room_for_what_tells_two_events_apart() -> None:
    place = Place()

    place.events.warn(Subject("ToolCall", "agents", "n" * 253, "uid"), "SessionGone", "gone")
    await place.events.flush()

    assert len(place.written[0]["metadata"]["name"]) <= 253


async def test_an_event_that_is_refused_keeps_none_from_being_written() -> None:
    place = Place()
    place.client.troubles.append(Rejected("the namespace is being deleted"))

    place.events.warn(CALL, "SessionGone", "gone")
    place.events.warn(CALL, "ToolUnknown", "unknown")
    await place.events.flush()

    assert [event["reason"] for event in place.written] == ["ToolUnknown"]


async def test_what_is_remarked_is_written_while_they_run() -> None:
    place = Place()
    running = asyncio.ensure_future(place.events.run())

    place.events.warn(CALL, "SessionGone", "gone")
    while not place.written:  # noqa: ASYNC110 (a fake has no event to wait for)
        await asyncio.sleep(0)

    running.cancel()
    assert [event["reason"] for event in place.written] == ["SessionGone"]
