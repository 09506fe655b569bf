"""What kopf is asked to do, and what becomes of an event: it is kept and told of at once, or passed over unread."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import kopf
import pytest

from tests.fakes.apiserver import FakeClient
from tests.fakes.wakes import FakeWakes
from tests.unit.adapters.cluster import manifests
from toolcall_operator import handlers
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.departures import Departures
from toolcall_operator.adapters.cluster.resources import OURS, TOOLCALLS
from toolcall_operator.errors import Unavailable
from toolcall_operator.handlers import Intake, Watches


class Place:
    """An intake, and who is woken behind it."""

    def __init__(self) -> None:
        self.client = FakeClient()
        self.wakes = FakeWakes()
        self.caches = Caches(self.wakes)
        self.departures = Departures(self.client, self.caches)
        self.intake = Intake(self.client, self.caches, self.departures)

    async def event(self, kind: str | None, manifest: dict[str, Any]) -> bool:
        """An event arrives as it does from kopf; returns whether it was taken."""
        event = {"type": kind, "object": manifest}
        if not self.intake.is_news(event, body=None):
            return False
        await self.intake.take(event, body=None)
        await self.departures.join()
        return True


@pytest.mark.parametrize("kind", (None, "ADDED", "MODIFIED"))
async def test_what_is_new_is_kept_and_told_of(kind: str | None) -> None:
    place = Place()

    assert await place.event(kind, manifests.call())

    assert place.wakes.woken == ["call one"]


async def test_an_event_that_tells_nothing_new_is_not_taken() -> None:
    place = Place()
    await place.event("ADDED", manifests.call())

    assert not await place.event("MODIFIED", manifests.call(version=2, labels={"a": "b"}))


async def test_a_call_that_was_deleted_is_told_of() -> None:
    place = Place()
    await place.event("ADDED", manifests.call())

    await place.event("DELETED", manifests.call(version=2))

    assert place.wakes.woken == ["call one", "gone uid-one"]


async def test_a_call_that_left_because_it_ended_is_not_told_of() -> None:
    place = Place()
    await place.event("ADDED", manifests.call())
    place.client.put(TOOLCALLS, manifests.call(status={"finished": True}))

    await place.event("DELETED", manifests.call(version=2))

    assert place.wakes.woken == ["call one"]
    assert not place.caches.calls


async def test_a_session_that_was_deleted_is_told_of() -> None:
    place = Place()
    await place.event(None, manifests.session())

    await place.event("DELETED", manifests.session(version=2))

    assert place.wakes.woken == ["session agents/work"] * 2


async def test_a_bug_of_ours_costs_one_event_and_its_text_stays_out_of_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place()

    def break_down(_: object) -> None:
        raise RuntimeError("the-secret-argument")

    monkeypatch.setattr(place.caches, "put", break_down)

    await place.event("ADDED", manifests.call())

    assert "RuntimeError" in caplog.text
    assert "the-secret-argument" not in caplog.text


async def test_kopf_is_given_our_credentials() -> None:
    class Known(FakeClient):
        async def connection_info(self) -> dict[str, Any]:
            return {"server": "https://cluster", "scheme": "Bearer"}

    place = Place()

    info = await Intake(Known(), place.caches, place.departures).login()

    assert info == kopf.ConnectionInfo(server="https://cluster", scheme="Bearer")


# What kopf is asked to do ---------------------------------------------------------------------------------------------
def test_kopf_watches_our_kinds_and_pods_and_is_asked_for_nothing_that_writes() -> None:
    registry = handlers.registry(Place().intake)

    watching = registry._watching.get_all_handlers()  # noqa: SLF001 (kopf has no public way to look)
    others = (registry._changing, registry._spawning, registry._indexing, registry._webhooks)  # noqa: SLF001 (see above)
    assert [handler.id for handler in watching] == [*(each.plural for each in OURS), "pods"]
    assert not [handler for kind in others for handler in kind.get_all_handlers()]


def test_only_calls_that_have_not_ended_and_pods_of_sessions_are_asked_for() -> None:
    watching = handlers.settings().watching

    assert list(watching.field_selectors.values()) == ["status.finished!=true"]
    assert list(watching.label_selectors.values()) == ["agentprimitives.authzed.com/session"]


def test_kopf_keeps_nothing_in_objects_and_posts_nothing() -> None:
    chosen = handlers.settings()

    assert not chosen.posting.enabled
    assert chosen.persistence.diffbase_storage.build(body=kopf.Body({})) is None


def test_a_watch_is_ended_by_the_api_server_before_the_client_gives_it_up() -> None:
    watching = handlers.settings().watching

    assert isinstance(watching.server_timeout, int)  # the API server reads no other number
    assert watching.client_timeout is not None
    assert watching.server_timeout < watching.client_timeout


def test_kopf_speaks_of_troubles_only() -> None:
    handlers.quieten()

    assert not logging.getLogger("kopf.objects").isEnabledFor(logging.INFO)
    assert logging.getLogger("kopf._cogs.clients.api").isEnabledFor(logging.ERROR)


async def test_a_kind_that_cannot_be_watched_is_told_before_anything_is() -> None:
    place = Place()
    place.client.refusals["list"] = Unavailable("there is no right to list toolcalls")

    with pytest.raises(Unavailable, match="no right to list toolcalls"):
        async with handlers.watching(place.intake, ["agents"]):
            pytest.fail("it watches nothing")

    assert place.client.asked == [("list", "toolcalls agents")]


# How watches end ------------------------------------------------------------------------------------------------------
async def test_watches_that_end_with_an_error_break() -> None:
    async def fail() -> None:
        raise ConnectionError

    watches = Watches([asyncio.create_task(fail()), asyncio.create_task(asyncio.sleep(60))])

    with pytest.raises(Unavailable, match="have ended") as raised:
        await watches.broken()

    assert isinstance(raised.value.__cause__, ConnectionError)
    await watches.aclose()


async def test_watches_that_end_without_an_error_break_all_the_same() -> None:
    watches = Watches([asyncio.create_task(asyncio.sleep(0))])

    with pytest.raises(Unavailable, match="have ended"):
        await watches.broken()
    await watches.aclose()


async def test_closing_does_not_wait_for_a_task_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "_STOP_SECONDS", 0.01)
    over = asyncio.Event()

    async def hang() -> None:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue

    hanging = asyncio.create_task(hang())
    await asyncio.sleep(0)

    await asyncio.wait_for(Watches([hanging]).aclose(), 5)

    over.set()
    await hanging
