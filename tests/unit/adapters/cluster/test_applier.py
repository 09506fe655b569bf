"""Applying and watching, over real sockets on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.unit.adapters.cluster.answering import Answering, Tokens, refused, said
from toolcall_operator import errors
from toolcall_operator.adapters.cluster.applier import Applier
from toolcall_operator.adapters.cluster.objections import NotTaken
from toolcall_operator.adapters.cluster.watch import Change, Expired

OURS = "agentprimitives.authzed.com/v1alpha1"
CALL = {"apiVersion": OURS, "kind": "ToolCall", "metadata": {"name": "call", "namespace": "team"}, "spec": {}}
KINDS = said(
    200,
    {
        "resources": [
            {"name": "toolcalls", "kind": "ToolCall", "namespaced": True},
            {"name": "toolcalls/status", "kind": "ToolCall", "namespaced": True},
            {"name": "spiceboxclasses", "kind": "SpiceboxClass", "namespaced": False},
        ]
    },
)
NOT_THERE = web.Response(status=404, body=b"404 page not found")


@pytest.fixture
def server() -> Answering:
    return Answering([KINDS, said(200, {"applied": True})])


@pytest.fixture
async def applier(server: Answering) -> AsyncIterator[Applier]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.handle)
    async with TestServer(application) as running:
        source = Tokens(str(running.make_url("")).rstrip("/"), ["first", "second"])
        async with Applier.opened(source, "team") as applier:
            yield applier


def events(*lines: dict[str, Any]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A watch that says this, and ends."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    return answer


def event(kind: str, version: str, **more: object) -> dict[str, Any]:
    return {"type": kind, "object": {"metadata": {"resourceVersion": version}, **more}}


async def watched(applier: Applier) -> tuple[list[Change], errors.OperatorError]:
    """What a watch tells, and how it ends."""
    changes = []
    try:
        async for change in applier.changes("team", "12"):
            changes.append(change)  # noqa: PERF401 - what came before the error counts
    except errors.OperatorError as error:
        return changes, error
    raise AssertionError("a watch ends by an error alone")


class TestApply:
    async def test_an_apply_is_what_kubectl_sends_and_fields_there_are_none_of_are_refused(
        self, applier: Applier, server: Answering
    ) -> None:
        assert await applier.apply(CALL) == {"applied": True}

        _, asked = server.asked
        address = urlsplit(asked.url)
        assert (asked.method, address.path) == ("PATCH", f"/apis/{OURS}/namespaces/team/toolcalls/call")
        assert parse_qs(address.query) == {"fieldManager": ["toolcall"], "fieldValidation": ["Strict"]}
        assert (asked.headers["Content-Type"], asked.json) == ("application/apply-patch+yaml", CALL)

    @pytest.mark.parametrize(
        ("kind", "path"),
        (
            ("ToolCall", f"/apis/{OURS}/namespaces/team/toolcalls/it"),
            ("SpiceboxClass", f"/apis/{OURS}/spiceboxclasses/it"),
        ),
    )
    async def test_an_object_that_names_no_namespace_goes_where_it_belongs(
        self, applier: Applier, server: Answering, kind: str, path: str
    ) -> None:
        await applier.apply({"apiVersion": OURS, "kind": kind, "metadata": {"name": "it"}})

        assert urlsplit(server.asked[1].url).path == path

    async def test_a_kind_is_looked_up_once(self, applier: Applier, server: Answering) -> None:
        for _ in range(3):
            await applier.apply(CALL)

        assert [asked.method for asked in server.asked] == ["GET", "PATCH", "PATCH", "PATCH"]

    async def test_a_kind_that_the_cluster_does_not_know_is_told_by_its_name(
        self, applier: Applier, server: Answering
    ) -> None:
        server.answers = [KINDS]

        with pytest.raises(NotTaken, match="kind is not known to the cluster: Toolcall of agentprimitives"):
            await applier.apply(CALL | {"kind": "Toolcall"})

    async def test_what_the_server_objects_to_is_told(self, applier: Applier, server: Answering) -> None:
        server.answers = [KINDS, refused(403, "exceeded quota")]

        with pytest.raises(NotTaken, match="exceeded quota"):
            await applier.apply(CALL)

    async def test_an_apply_whose_answer_is_lost_is_not_sent_again(self, applier: Applier, server: Answering) -> None:
        async def hang_up(request: web.Request) -> web.StreamResponse:
            assert request.transport
            request.transport.close()
            return web.Response()

        server.answers = [KINDS, hang_up, said(200, {})]

        with pytest.raises(errors.Unavailable):
            await applier.apply(CALL)

        assert [asked.method for asked in server.asked] == ["GET", "PATCH"]

    async def test_a_server_that_is_busy_is_asked_again(self, applier: Applier, server: Answering) -> None:
        server.answers = [KINDS, refused(429, "wait", **{"Retry-After": "0"}), said(200, {"applied": True})]

        assert await applier.apply(CALL) == {"applied": True}


class TestExpectation:
    async def test_a_cluster_that_knows_calls_is_fine(self, applier: Applier) -> None:
        await applier.expect_calls()

    @pytest.mark.parametrize("answer", (NOT_THERE, said(200, {"resources": []})), ids=("no group", "no kind"))
    async def test_one_that_does_not_is_told_what_it_lacks(
        self, applier: Applier, server: Answering, answer: web.Response
    ) -> None:
        server.answers = [answer]

        with pytest.raises(errors.Rejected, match=r"http://127.0.0.1:\d+ knows no ToolCalls: apply .* crds/ first"):
            await applier.expect_calls()

    async def test_one_that_cannot_answer_is_named(self, applier: Applier, server: Answering) -> None:
        server.answers = [refused(503, "starting")]

        with pytest.raises(errors.Unavailable, match=r"http://127.0.0.1:\d+: the API server answers with HTTP 503"):
            await applier.expect_calls()


class TestWatch:
    async def test_the_version_is_that_of_the_collection(self, applier: Applier, server: Answering) -> None:
        server.answers = [said(200, {"metadata": {"resourceVersion": "12", "continue": "x"}, "items": [{}]})]

        assert await applier.version("team") == "12"
        assert server.asked[0].url == f"/apis/{OURS}/namespaces/team/toolcalls?limit=1"

    async def test_a_watch_that_ends_goes_on_from_the_last_version_also_of_a_bookmark(
        self, applier: Applier, server: Answering
    ) -> None:
        server.answers = [
            events(event("ADDED", "13"), event("BOOKMARK", "20")),
            events(event("DELETED", "21")),
            events({"type": "ERROR", "object": {"code": 410, "message": "too old"}}),
        ]

        changes, error = await watched(applier)

        assert [(change.version, change.gone) for change in changes] == [("13", False), ("21", True)]
        assert isinstance(error, Expired)
        versions = [parse_qs(urlsplit(asked.url).query)["resourceVersion"] for asked in server.asked]
        assert versions == [["12"], ["20"], ["21"]]

    async def test_a_watch_that_breaks_off_is_told(self, applier: Applier, server: Answering) -> None:
        async def broken(request: web.Request) -> web.StreamResponse:
            answer = web.StreamResponse()
            await answer.prepare(request)
            await answer.write(json.dumps(event("ADDED", "13")).encode() + b"\n")
            assert request.transport
            request.transport.close()
            return answer

        server.answers = [broken]

        changes, error = await watched(applier)

        assert [change.version for change in changes] == ["13"]
        assert type(error) is errors.Unavailable

    async def test_a_watch_that_is_refused_is_told(self, applier: Applier, server: Answering) -> None:
        server.answers = [refused(403, "no right to watch")]

        _, error = await watched(applier)

        assert "no right to watch" in str(error)


async def test_a_cancel_is_of_the_call_that_is_meant(applier: Applier, server: Answering) -> None:
    await applier.cancel("team", "call", "the-uid")

    (asked,) = server.asked
    assert asked.json == [
        {"op": "test", "path": "/metadata/uid", "value": "the-uid"},
        {"op": "add", "path": "/spec/cancel", "value": True},
    ]
