"""Requests to an API server, over real sockets on loopback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from tests.unit.adapters.cluster import answering
from tests.unit.adapters.cluster.answering import Answering, refused, said
from toolcall_operator import errors
from toolcall_operator.adapters.cluster import transport
from toolcall_operator.adapters.cluster.client import Client, Selection
from toolcall_operator.adapters.cluster.resources import PODS, TOOLCALLS

POD = PODS.named("pod", "space")
SECRET = "it-must-not-show"


@pytest.fixture
def server() -> Answering:
    return Answering([said(200, {"kind": "Pod"})])


@pytest.fixture
async def client(server: Answering) -> AsyncIterator[Client]:
    async with answering.served(server, "first", "second") as client:
        yield client


class TestRequests:
    async def test_a_get_asks_for_the_object_as_who_we_are(self, client: Client, server: Answering) -> None:
        assert await client.get(POD) == {"kind": "Pod"}

        [asked] = server.asked
        assert (asked.method, asked.url) == ("GET", "/api/v1/namespaces/space/pods/pod")
        assert asked.headers["Authorization"] == "Bearer first"
        assert asked.headers["User-Agent"] == "toolcall-operator"

    async def test_a_patch_is_sent_as_it_is_and_wants_little_back(self, client: Client, server: Answering) -> None:
        operations = b'[{"op":"test","path":"/metadata/uid","value":"u"}]'

        await client.patch(TOOLCALLS.named("call", "space").part("status"), operations)

        [asked] = server.asked
        assert (asked.method, asked.body) == ("PATCH", operations)
        assert asked.url == "/apis/agentprimitives.authzed.com/v1alpha1/namespaces/space/toolcalls/call/status"
        assert asked.headers["Content-Type"] == "application/json-patch+json"
        assert "as=PartialObjectMetadata" in asked.headers["Accept"]

    async def test_a_merge_patch_says_so(self, client: Client, server: Answering) -> None:
        await client.merge(POD, {"metadata": {"annotations": {"a": None}}})

        assert server.asked[0].headers["Content-Type"] == "application/merge-patch+json"
        assert server.asked[0].json == {"metadata": {"annotations": {"a": None}}}

    @pytest.mark.parametrize(
        ("grace", "more"), (pytest.param(None, {}, id="its own"), pytest.param(0, {"gracePeriodSeconds": 0}, id="none"))
    )
    async def test_a_delete_names_the_uid(
        self, client: Client, server: Answering, grace: int | None, more: dict[str, int]
    ) -> None:
        await client.delete(POD, "the-uid", grace)

        assert server.asked[0].method == "DELETE"
        assert server.asked[0].json == {"preconditions": {"uid": "the-uid"}} | more

    async def test_create_and_replace_return_what_the_server_made(self, client: Client, server: Answering) -> None:
        server.answers = [said(201, {"made": 1}), said(200, {"made": 2})]

        assert await client.create(PODS.within("space"), {"a": 1}) == {"made": 1}
        assert await client.replace(POD, {"a": 2}) == {"made": 2}

        assert [(asked.method, asked.url) for asked in server.asked] == [
            ("POST", "/api/v1/namespaces/space/pods"),
            ("PUT", "/api/v1/namespaces/space/pods/pod"),
        ]

    async def test_one_connection_serves_one_request_after_the_other(self, client: Client, server: Answering) -> None:
        server.answers = [said(200, {"long": "x" * 300_000})]

        await client.patch(POD, b"[]")
        await client.get(POD)
        await client.delete(POD, "uid")

        assert len({asked.peer for asked in server.asked}) == 1

    async def test_who_may_not_write_any_more_reads_and_sends_no_change(
        self, client: Client, server: Answering
    ) -> None:
        client.may_write = lambda: False

        for change in (
            client.patch(POD, b"[]"),
            client.merge(POD, {}),
            client.delete(POD, "uid"),
            client.create(POD, {}),
            client.replace(POD, {}),
        ):
            with pytest.raises(errors.Unavailable, match="somebody else may lead"):
                await change

        assert not server.asked
        assert await client.get(POD) == {"kind": "Pod"}

    async def test_a_change_that_waited_for_its_turn_until_it_may_not_be_made_is_not_sent(
        self, client: Client, server: Answering
    ) -> None:
        free, full, asked = asyncio.Event(), asyncio.Event(), list[str]()

        async def slow(request: web.Request) -> web.StreamResponse:
            asked.append(request.method)
            if len(asked) == transport.REQUESTS_AT_ONCE:
                full.set()
            await free.wait()
            return said(200, {})

        server.answers = [slow]
        reading = [asyncio.ensure_future(client.get(POD)) for _ in range(transport.REQUESTS_AT_ONCE)]
        change = asyncio.ensure_future(client.patch(POD, b"[]"))
        await full.wait()
        client.may_write = lambda: False
        free.set()

        with pytest.raises(errors.Unavailable, match="somebody else may lead"):
            await change
        await asyncio.gather(*reading)
        assert set(asked) == {"GET"}

    async def test_a_turn_that_does_not_come_is_no_answer_in_time(
        self, server: Answering, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def hang(_: web.Request) -> web.StreamResponse:
            await asyncio.sleep(60)
            raise AssertionError("somebody waited")

        monkeypatch.setattr(transport, "REQUEST_SECONDS", 0.3)
        monkeypatch.setattr(transport, "REQUESTS_AT_ONCE", 1)
        server.answers = [hang]
        async with answering.served(server) as client:
            asked = await asyncio.gather(client.get(POD), client.get(POD), return_exceptions=True)

        assert [str(each) for each in asked] == ["cannot get pods space/pod now: no answer in time"] * 2

    async def test_a_redirect_is_not_followed(self, client: Client, server: Answering) -> None:
        server.answers = [web.Response(status=302, headers={"Location": "http://127.0.0.1:9/"})]

        with pytest.raises(errors.Unavailable, match="302"):
            await client.get(POD)

    async def test_an_answer_that_is_no_object_is_no_answer(self, client: Client, server: Answering) -> None:
        server.answers = [web.Response(body=b"<html>")]

        with pytest.raises(errors.Unavailable, match="no object"):
            await client.get(POD)


class TestLists:
    async def test_pages_are_read_to_the_last(self, client: Client, server: Answering) -> None:
        server.answers = [
            said(200, {"metadata": {"continue": "a b"}, "items": [{"n": 1}, {"n": 2}]}),
            said(200, {"metadata": {}, "items": [{"n": 3}]}),
        ]

        assert await client.list(PODS.within("space")) == [{"n": 1}, {"n": 2}, {"n": 3}]
        assert [asked.url.partition("?")[2] for asked in server.asked] == ["limit=500", "limit=500&continue=a+b"]

    async def test_a_selection_names_labels_fields_and_how_much(self, client: Client, server: Answering) -> None:
        server.answers = [said(200, {"metadata": {}, "items": None})]

        selection = Selection(labels="a=b", fields="finished!=true", metadata_only=True)
        assert await client.list(PODS.within(), selection) == []

        assert server.asked[0].url == "/api/v1/pods?labelSelector=a%3Db&fieldSelector=finished%21%3Dtrue&limit=500"
        assert "as=PartialObjectMetadataList" in server.asked[0].headers["Accept"]

    async def test_a_page_that_came_too_late_makes_one_whole_list(self, client: Client, server: Answering) -> None:
        server.answers = [
            said(200, {"metadata": {"continue": "x"}, "items": [{"n": 1}]}),
            refused(410, "too old"),
            said(200, {"metadata": {}, "items": [{"n": 2}]}),
        ]

        assert await client.list(PODS.within()) == [{"n": 2}]
        assert server.asked[-1].url == "/api/v1/pods"

    async def test_a_refused_list_is_an_error(self, client: Client, server: Answering) -> None:
        server.answers = [refused(410, "too old")]

        with pytest.raises(errors.Unavailable, match="cannot list pods now, HTTP 410: too old"):
            await client.list(PODS.within())


class TestCredentials:
    async def test_who_is_not_known_any_more_shows_new_credentials(self, client: Client, server: Answering) -> None:
        server.answers = [refused(401, "Unauthorized"), said(200, {"kind": "Pod"})]

        assert await client.get(POD) == {"kind": "Pod"}
        assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer first", "Bearer second"]

    async def test_who_is_not_known_with_new_ones_either_is_told_so(self, client: Client, server: Answering) -> None:
        server.answers = [refused(401, "Unauthorized")]

        with pytest.raises(errors.Unavailable, match="does not know us"):
            await client.get(POD)
        assert len(server.asked) == 2

    async def test_many_who_are_refused_at_once_share_one_renewal(self, server: Answering) -> None:
        async def by_token(request: web.Request) -> web.StreamResponse:
            good = request.headers["Authorization"] == "Bearer second"
            return said(200, {"kind": "Pod"}) if good else refused(401)

        server.answers = [by_token]
        async with answering.served(server, "first", "second", "third") as client:
            await asyncio.gather(*(client.get(POD) for _ in range(8)))

        assert "Bearer third" not in {asked.headers["Authorization"] for asked in server.asked}

    async def test_kopf_is_given_fresh_ones(self, client: Client) -> None:
        assert (await client.connection_info())["token"] == "second"


class TestTrouble:
    async def test_a_busy_server_is_asked_again_when_it_wants(self, client: Client, server: Answering) -> None:
        server.answers = [refused(429, **{"Retry-After": "0.1"}), refused(429), said(200, {"kind": "Pod"})]
        began = asyncio.get_running_loop().time()

        assert await client.get(POD) == {"kind": "Pod"}
        assert asyncio.get_running_loop().time() - began >= 0.1
        assert len(server.asked) == 3

    async def test_a_server_that_stays_busy_is_unavailable(
        self, server: Answering, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transport, "REQUEST_SECONDS", 0.3)
        server.answers = [refused(429, "busy", **{"Retry-After": "0.1"})]

        async with answering.served(server) as client:
            with pytest.raises(errors.Unavailable, match="HTTP 429: busy"):
                await client.get(POD)

    async def test_a_server_that_does_not_answer_is_not_waited_for_for_ever(
        self, server: Answering, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def hang(_: web.Request) -> web.StreamResponse:
            await asyncio.sleep(60)
            raise AssertionError("somebody waited")

        monkeypatch.setattr(transport, "REQUEST_SECONDS", 0.2)
        server.answers = [hang]
        async with answering.served(server) as client:
            with pytest.raises(errors.Unavailable, match="cannot patch pods space/pod now: no answer in time"):
                await client.patch(POD, b"[]")

    @pytest.mark.parametrize("verb", ("get", "patch"))
    async def test_a_connection_that_breaks_is_unavailable_and_shows_no_request(
        self, client: Client, server: Answering, verb: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def hang_up(request: web.Request) -> web.StreamResponse:
            assert request.transport is not None
            request.transport.close()
            return web.Response()

        server.answers = [hang_up]
        asking: dict[str, Callable[[], Awaitable[object]]] = {
            "get": lambda: client.get(POD),
            "patch": lambda: client.patch(POD, SECRET.encode()),
        }
        with caplog.at_level(logging.DEBUG), pytest.raises(errors.Unavailable) as caught:
            await asking[verb]()

        assert SECRET not in str(caught.value) + str(caught.value.__cause__) + caplog.text

    async def test_nobody_listening_is_unavailable(self) -> None:
        client = await Client.open(answering.Tokens("http://127.0.0.1:9", ["token"]))

        with pytest.raises(errors.Unavailable, match="cannot get pods space/pod now: Connect"):
            await client.get(POD)
        await client.aclose()

    async def test_a_refusal_s_text_is_bounded(self, client: Client, server: Answering) -> None:
        server.answers = [refused(422, "x" * 100_000)]

        with pytest.raises(errors.Rejected) as caught:
            await client.create(PODS.within("space"), {})
        assert len(str(caught.value)) < 400

    async def test_a_large_body_arrives_whole_and_a_larger_one_is_not_sent(
        self, client: Client, server: Answering
    ) -> None:
        await client.patch(POD, b"x" * (2 << 20))
        with pytest.raises(errors.Rejected, match="more than 3 MiB"):
            await client.patch(POD, b"x" * (4 << 20))

        assert [len(asked.body) for asked in server.asked] == [2 << 20]
