"""Watches against an API server that misbehaves: what they survive, and what ends them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from tests.fakes.apiserver import FakeClient
from tests.fakes.wakes import FakeWakes
from tests.unit.adapters.cluster import manifests
from toolcall_operator import handlers
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.departures import Departures
from toolcall_operator.adapters.cluster.memory.watched import WATCHED
from toolcall_operator.api.base import GROUP, VERSION
from toolcall_operator.errors import Unavailable
from toolcall_operator.handlers import Intake, Watches

PLURALS = {watched.kind: watched.resource.plural for watched in WATCHED}
GRACE_SECONDS = 10.0


RESOURCES = {
    ("", "v1"): [("pods", "Pod"), ("namespaces", "Namespace")],
    (GROUP, VERSION): [(watched.resource.plural, watched.kind) for watched in WATCHED if watched.resource.group],
    ("apiextensions.k8s.io", "v1"): [("customresourcedefinitions", "CustomResourceDefinition")],
}
"""What there is, by group and version; kopf wants to know of the kinds of kinds and of namespaces, too."""


class Pointer(FakeClient):
    """Sends kopf to an address."""

    address = ""

    async def connection_info(self) -> dict[str, Any]:
        """Where to go; nobody has to say who they are."""
        return {"server": self.address}


class Server:
    """Lists `calls`, then streams to every watch of calls what is put into `stream`.

    None cuts the connection, an error ends the stream. `queries` are those for calls. The other three kinds are there,
    and empty.
    """

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.stream: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.queries: list[dict[str, str]] = []

    async def versions(self, _: web.Request) -> web.Response:
        """The versions of the core, as discovery tells them."""
        return web.json_response({"versions": ["v1"]})

    async def groups(self, _: web.Request) -> web.Response:
        """The groups."""
        named = [(group, {"version": version}) for group, version in RESOURCES if group]
        return web.json_response(
            {"groups": [{"name": group, "versions": [one], "preferredVersion": one} for group, one in named]}
        )

    async def kinds(self, request: web.Request) -> web.Response:
        """The kinds of a group."""
        known = RESOURCES[request.match_info.get("group", ""), request.match_info["version"]]
        common = {"singularName": "", "namespaced": True, "verbs": ["list", "watch"]}
        resources = [{"name": plural, "kind": kind, **common} for plural, kind in known]
        return web.json_response({"resources": resources})

    async def objects(self, request: web.Request) -> web.StreamResponse:
        """A list, or a watch."""
        kind = next(kind for kind, plural in PLURALS.items() if request.path.endswith(f"/{plural}"))
        if kind == "ToolCall":
            self.queries.append(dict(request.query))
        if "watch" in request.query:
            return await self._watch(request, self.stream if kind == "ToolCall" else asyncio.Queue())
        items = self.calls if kind == "ToolCall" else []
        return web.json_response({"kind": f"{kind}List", "metadata": {"resourceVersion": "7"}, "items": items})

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Answer at the address that the context gives."""
        app = web.Application()
        app.router.add_get("/api", self.versions)
        app.router.add_get("/apis", self.groups)
        app.router.add_get("/apis/{group}/{version}", self.kinds)
        app.router.add_get("/api/{version}", self.kinds)
        app.router.add_get("/{path:.*}", self.objects)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    async def _watch(self, request: web.Request, stream: asyncio.Queue[dict[str, Any] | None]) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while event := await stream.get():
            await response.write(json.dumps(event).encode() + b"\n")
            if event["type"] == "ERROR":
                return response
        if request.transport is not None:
            request.transport.abort()
        return response


class Place:
    """A watched server, and who is woken."""

    def __init__(self) -> None:
        self.server = Server()
        self.wakes = FakeWakes()
        self.caches = Caches(self.wakes)
        self.client = Pointer()
        self.intake = Intake(self.client, self.caches, Departures(self.client, self.caches))

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[Watches]:
        """Watch the server."""
        async with self.server.listening() as self.client.address, handlers.watching(self.intake) as watches:
            yield watches

    async def knows(self, *names: str) -> None:
        """Return when these calls, in this order, were told of."""
        await soon(lambda: self.wakes.woken == [f"call {name}" for name in names])


async def soon(holds: Callable[[], bool]) -> None:
    """Wait until something comes true."""
    async with asyncio.timeout(GRACE_SECONDS):
        while not holds():  # noqa: ASYNC110 (what is waited for is on the other side of a connection)
            await asyncio.sleep(0.01)


@pytest.fixture
def place() -> Place:
    return Place()


def added(name: str, version: int) -> dict[str, Any]:
    """The event of a new call."""
    return {"type": "ADDED", "object": manifests.call(name, version)}


def error(code: int) -> dict[str, Any]:
    """What an API server says within a stream when it cannot go on."""
    return {"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "code": code, "message": "too old"}}


async def test_calls_are_listed_and_watched_in_pages_and_without_the_ended_ones(place: Place) -> None:
    place.server.calls.append(manifests.call("before", 5))
    await place.server.stream.put(added("after", 8))

    async with place.watching():
        await place.knows("before", "after")

    listed, watched = place.server.queries
    assert listed == {"limit": "500", "fieldSelector": "status.finished!=true"}
    assert watched["fieldSelector"] == "status.finished!=true"
    assert watched["resourceVersion"] == "7"
    assert watched["timeoutSeconds"] == "600"


async def test_a_watch_that_is_cut_goes_on_where_it_was(place: Place) -> None:
    for event in (added("one", 8), None, added("two", 9)):
        await place.server.stream.put(event)

    async with place.watching():
        await place.knows("one", "two")

    assert [query.get("resourceVersion") for query in place.server.queries] == [None, "7", "8"]


async def test_a_watch_that_is_too_old_begins_anew_with_a_list(place: Place) -> None:
    await place.server.stream.put(error(410))
    await place.server.stream.put(added("two", 9))

    async with place.watching():
        await place.knows("two")

    assert [query.get("resourceVersion") for query in place.server.queries] == [None, "7", None, "7"]


async def test_a_watch_that_falls_silent_is_begun_anew_where_it_was(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = handlers.settings()
    impatient.watching.inactivity_timeout = 0.2
    monkeypatch.setattr(handlers, "settings", lambda: impatient)
    await place.server.stream.put(added("one", 8))

    async with place.watching():
        await place.knows("one")
        await soon(lambda: len(place.server.queries) > 3)

    assert [query.get("resourceVersion") for query in place.server.queries[:4]] == [None, "7", "8", "8"]


async def test_an_error_within_a_stream_ends_the_watches(place: Place) -> None:
    await place.server.stream.put(error(500))

    async with place.watching() as watches:
        with pytest.raises(Unavailable, match="have ended"):
            await asyncio.wait_for(watches.broken(), GRACE_SECONDS)

    assert place.server.stream.empty()  # it was that error


async def test_watches_end_at_once_when_they_are_told_to(place: Place) -> None:
    place.server.calls.append(manifests.call("before", 5))
    time = asyncio.get_running_loop().time
    async with place.server.listening() as place.client.address:
        async with handlers.watching(place.intake):
            await place.knows("before")
            told = time()
        assert time() - told < 2.0
