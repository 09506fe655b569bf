"""What is sent is the request: nothing is added, followed, kept or taken from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.adapters.egress import serving
from tests.unit.adapters.egress.serving import said
from tests.unit.adapters.egress.ways import SECRET, get, opened
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Request


async def test_a_redirect_is_an_answer() -> None:
    async with (
        serving.serving() as other,
        serving.serving() as server,
        opened(server.origin, other.origin) as egress,
    ):
        server.plays = [said(302, Location=f"{other.origin}/")]

        answer = await egress.send(get(server.origin))

    assert (answer.status, answer.headers["location"]) == (302, f"{other.origin}/")
    assert other.connections == 0


async def test_no_cookie_is_kept() -> None:
    async with serving.serving(said(Set_Cookie="a=b; Path=/")) as server, opened(server.origin) as egress:
        await egress.send(get(server.origin))
        await egress.send(get(server.origin))

    assert ["cookie" in asked.headers for asked in server.asked] == [False, False]


async def test_the_environment_and_the_home_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving.serving() as proxy, serving.serving() as server, opened(server.origin) as egress:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.origin)
            monkeypatch.setenv(name.lower(), proxy.origin)
        (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login user password {SECRET}\n")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

        await egress.send(get(f"{server.origin}/path"))

    assert proxy.connections == 0
    assert [(asked.target, "authorization" in asked.headers) for asked in server.asked] == [("/path", False)]


async def test_headers_are_the_callers_and_what_frames_the_request() -> None:
    async with serving.serving() as server, opened(server.origin) as egress:
        await egress.send(Request("POST", server.origin, {"X-Own": Hidden(SECRET)}))
        await egress.send(Request("GET", server.origin, {"user-agent": "another"}))

    host = server.origin.removeprefix("http://")
    framing = {"host": host, "accept-encoding": "identity"}
    assert server.asked[0].headers == framing | {
        "content-length": "0",
        "user-agent": "toolcall-operator",
        "x-own": SECRET,
    }
    assert server.asked[1].headers == framing | {"user-agent": "another"}


async def test_headers_that_are_repeated_are_joined() -> None:
    text = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nX-B: \xe4\r\nContent-Length: 0\r\n\r\n"
    async with serving.serving(text) as server, opened(server.origin) as egress:
        answer = await egress.send(get(server.origin))

    assert answer.headers == {"x-a": "1, 2", "x-b": "ä", "content-length": "0"}
