"""The suite that every way out must pass: subclass it, and supply the fixture `outside`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

import pytest

from toolcall_operator import errors, ports
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Request

SECRET = "s3cr3t-0123456789"
SHORT = timedelta(milliseconds=200)


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request as the server got it."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Outside(Protocol):
    """A way out, and one server at its other end."""

    @property
    def egress(self) -> ports.Egress:
        """The way out."""
        ...

    @property
    def origin(self) -> str:
        """The server's origin."""
        ...

    def answer(self, *answers: Answer | None) -> None:
        """What the server answers from now on, in this order, the last again and again; None is no answer at all."""
        ...

    def arrived(self) -> list[Arrived]:
        """What the server was asked."""
        ...

    async def silence(self) -> None:
        """Have the server go."""
        ...


class EgressSuite:
    """What holds for every way out."""

    async def test_a_request_arrives_as_it_was_sent(self, outside: Outside) -> None:
        outside.answer(Answer(200))
        headers: Mapping[str, str | Hidden] = {"Authorization": Hidden(f"Bearer {SECRET}"), "X-Plain": "a b"}

        await outside.egress.send(Request("POST", f"{outside.origin}/a/b?c=d", headers, b"\x00body"))

        [asked] = outside.arrived()
        assert (asked.method, asked.path, asked.body) == ("POST", "/a/b?c=d", b"\x00body")
        assert asked.headers["authorization"] == f"Bearer {SECRET}"
        assert asked.headers["x-plain"] == "a b"

    async def test_an_answer_comes_back_whole(self, outside: Outside) -> None:
        outside.answer(Answer(201, {"x-one": "1"}, b"all of it\x00\xff"))

        answer = await outside.egress.send(Request("GET", f"{outside.origin}/"))

        assert (answer.status, answer.headers["x-one"], answer.body) == (201, "1", b"all of it\x00\xff")

    @pytest.mark.parametrize("status", (200, 204, 301, 302, 307, 400, 401, 404, 429, 500, 503))
    async def test_every_status_is_an_answer_and_none_is_followed(self, outside: Outside, status: int) -> None:
        outside.answer(Answer(status, {"location": f"{outside.origin}/elsewhere"}))

        answer = await outside.egress.send(Request("GET", f"{outside.origin}/"))

        assert answer.status == status
        assert [asked.path for asked in outside.arrived()] == ["/"]

    async def test_answers_belong_to_their_requests(self, outside: Outside) -> None:
        outside.answer(Answer(200, {}, b"first"), Answer(200, {}, b"second"))

        bodies = [(await outside.egress.send(Request("GET", f"{outside.origin}/"))).body for _ in range(3)]

        assert bodies == [b"first", b"second", b"second"]

    async def test_a_body_of_as_many_bytes_as_asked_for_is_read(self, outside: Outside) -> None:
        outside.answer(Answer(200, {}, b"x" * 1000))

        answer = await outside.egress.send(Request("GET", f"{outside.origin}/", answer_bytes=1000))

        assert len(answer.body) == 1000

    async def test_a_body_of_one_byte_more_is_not_had(self, outside: Outside) -> None:
        outside.answer(Answer(200, {}, b"x" * 1001))

        with pytest.raises(errors.Unavailable, match="more than 1000 bytes"):
            await outside.egress.send(Request("GET", f"{outside.origin}/", answer_bytes=1000))

    async def test_a_server_that_does_not_answer_is_given_up(self, outside: Outside) -> None:
        outside.answer(None)

        with pytest.raises(errors.Unavailable, match="in time"):
            await outside.egress.send(Request("GET", f"{outside.origin}/", timeout=SHORT))

    async def test_a_server_that_is_not_there_is_unavailable(self, outside: Outside) -> None:
        await outside.silence()

        with pytest.raises(errors.Unavailable):
            await outside.egress.send(Request("GET", f"{outside.origin}/"))

    async def test_a_request_that_is_cancelled_stays_so(self, outside: Outside) -> None:
        outside.answer(None)
        sending = asyncio.create_task(outside.egress.send(Request("GET", f"{outside.origin}/")))
        while not outside.arrived():  # noqa: ASYNC110 - neither way out tells when a request has left
            await asyncio.sleep(0.001)

        sending.cancel()

        with pytest.raises(asyncio.CancelledError):
            await sending

    @pytest.mark.parametrize(
        "url",
        (
            pytest.param("ftp://{authority}/", id="another scheme"),
            pytest.param("{authority}/", id="no scheme"),
            pytest.param("/path", id="no host"),
            pytest.param("{origin}/#fragment", id="a fragment"),
            pytest.param("{scheme}://user:" + SECRET + "@{authority}/", id="a user and a password"),
            pytest.param("{scheme}://user@{authority}/", id="a user"),
            pytest.param("{scheme}://", id="nothing behind the scheme"),
            pytest.param("{origin}/a b", id="a space"),
            pytest.param("{origin}/a\r\nX: y", id="a line break"),
            pytest.param("{origin}/a/../b", id="a segment that climbs"),
            pytest.param("{origin}/a/%2E%2e/b", id="a segment that climbs, in disguise"),
            pytest.param("{origin}/" + "a" * 8192, id="more than 8 KiB"),
        ),
    )
    async def test_a_malformed_url_is_refused_before_anything_is_sent(self, outside: Outside, url: str) -> None:
        outside.answer(Answer(200))
        scheme, authority = outside.origin.split("://")

        with pytest.raises(errors.Denied) as refused:
            await outside.egress.send(
                Request("GET", url.format(origin=outside.origin, scheme=scheme, authority=authority))
            )

        assert outside.arrived() == []
        assert SECRET not in str(refused.value)

    @pytest.mark.parametrize(
        ("name", "value"),
        (
            pytest.param("X-Token", f"{SECRET}\n", id="a line feed at the end"),
            pytest.param("X-Token", f"{SECRET}\r\nX-More: 1", id="another header behind the value"),
            pytest.param("X-Token", f"{SECRET}\x00", id="NUL"),
            pytest.param("X-Token", f"{SECRET}ä", id="no ASCII"),
            pytest.param("X-Token", f" {SECRET}", id="a space before the value"),
            pytest.param("X Token", SECRET, id="a space in the name"),
            pytest.param("X-Token:", SECRET, id="a colon in the name"),
            pytest.param("X-Token\r\nX-More", SECRET, id="a line break in the name"),
            pytest.param("", SECRET, id="no name"),
            pytest.param("Host", SECRET, id="the host"),
            pytest.param("content-LENGTH", SECRET, id="the length"),
            pytest.param("Transfer-Encoding", SECRET, id="the framing"),
            pytest.param("Connection", SECRET, id="the connection"),
            pytest.param("Accept-Encoding", SECRET, id="the encoding"),
        ),
    )
    async def test_a_malformed_header_is_refused_and_its_value_not_shown(
        self, outside: Outside, caplog: pytest.LogCaptureFixture, name: str, value: str
    ) -> None:
        caplog.set_level("DEBUG")
        outside.answer(Answer(200))

        with pytest.raises(errors.Denied) as refused:
            await outside.egress.send(Request("GET", f"{outside.origin}/", {name: Hidden(value)}))

        assert outside.arrived() == []
        assert SECRET not in f"{refused.value!r} {caplog.text}"

    async def test_a_header_is_there_once(self, outside: Outside) -> None:
        with pytest.raises(errors.Denied, match="x-token is there twice"):
            await outside.egress.send(Request("GET", f"{outside.origin}/", {"X-Token": "1", "x-token": "2"}))

    @pytest.mark.parametrize("method", ("", "get", "G T", "GET\r\n", "CONNECT", "TRACE"))
    async def test_a_method_that_is_none_is_refused(self, outside: Outside, method: str) -> None:
        with pytest.raises(errors.Denied, match="method"):
            await outside.egress.send(Request(method, f"{outside.origin}/"))

    async def test_no_failure_tells_what_was_sent(self, outside: Outside, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("DEBUG")
        outside.answer(None)
        request = Request(
            "POST", f"{outside.origin}/{SECRET}?q={SECRET}", {"X-Token": SECRET}, SECRET.encode(), timeout=SHORT
        )

        with pytest.raises(errors.Unavailable) as given_up:
            await outside.egress.send(request)

        assert SECRET not in f"{request!r} {given_up.value!r} {given_up.value} {caplog.text}"
