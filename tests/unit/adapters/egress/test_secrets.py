"""A request that comes to nothing shows nothing of itself: not in its error, nor behind it, nor in a log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from tests.unit.adapters.egress import serving
from tests.unit.adapters.egress.names import Names
from tests.unit.adapters.egress.serving import head, said
from tests.unit.adapters.egress.ways import SECRET, SHORT, opened
from toolcall_operator import errors
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Request


def telling(origin: str) -> Request:
    """A request in which everything is secret but the host."""
    headers: Mapping[str, str | Hidden] = {"Authorization": Hidden(f"Bearer {SECRET}"), "X-Plain": SECRET}
    return Request("POST", f"{origin}/{SECRET}?q={SECRET}", headers, SECRET.encode(), timeout=SHORT)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and everything that hangs on it, shown in a traceback or not."""
    if error is not None:
        yield error
        yield from chain(error.__cause__)
        yield from chain(error.__context__)


def shown(error: BaseException) -> str:
    return " ".join(f"{link} {link!r} {link.args}" for link in chain(error))


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


@pytest.mark.parametrize(
    "play",
    (
        pytest.param(serving.never, id="no answer in time"),
        pytest.param(serving.ends_after(b""), id="no answer"),
        pytest.param(f"{SECRET}\r\n\r\n".encode(), id="no HTTP"),
        pytest.param(serving.ends_after(head(Content_Length="100") + SECRET.encode()), id="half an answer"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: " + SECRET.encode() + b"\r\n\r\n", id="a bad header"),
        pytest.param(said(body=SECRET.encode(), Content_Encoding=SECRET), id="another encoding"),
        pytest.param(head(Content_Length="99999999", X_Echo=SECRET), id="too large"),
    ),
)
async def test_a_failed_request_shows_nothing(play: serving.Play, caplog: pytest.LogCaptureFixture) -> None:
    async with serving.serving(play) as server, opened(server.origin) as egress:
        with pytest.raises(errors.Unavailable) as failed:
            await egress.send(telling(server.origin))

    assert str(failed.value).startswith("127.0.0.1 cannot be asked now: ")
    assert SECRET not in shown(failed.value)
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "url",
    (
        pytest.param(f"https://127.0.0.1/{SECRET}", id="a private address"),
        pytest.param(f"http://idp.test/{SECRET}", id="plain text"),
        pytest.param(f"https://user:{SECRET}@idp.test/", id="a password in it"),
        pytest.param(f"https://idp.test/#{SECRET}", id="a fragment"),
        pytest.param(f"https://a%20{SECRET}/", id="a host that is none"),
        pytest.param(f"https://[{SECRET}]/", id="an address that is none"),
        pytest.param(f"https://idp.test:{SECRET}/", id="a port that is none"),
        pytest.param(f"https://idp.test/\n{SECRET}", id="a line break"),
    ),
)
async def test_a_refused_request_shows_nothing(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with opened() as egress:
        with pytest.raises(errors.Denied) as refused:
            await egress.send(replace(telling(""), url=url))

    assert SECRET not in shown(refused.value)
    assert SECRET not in caplog.text


async def test_a_refused_connection_shows_nothing_but_that(caplog: pytest.LogCaptureFixture) -> None:
    async with serving.serving() as server:
        origin = server.origin
    async with opened(origin) as egress:
        with pytest.raises(errors.Unavailable, match=r"it refuses connections$") as failed:
            await egress.send(telling(origin))

    assert list(chain(failed.value)) == [failed.value]
    assert SECRET not in shown(failed.value) + caplog.text


async def test_a_name_without_address_shows_nothing_but_that(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(names=Names({})) as egress:
        with pytest.raises(errors.Unavailable, match=r"^idp\.test cannot be asked now: no address") as failed:
            await egress.send(telling("https://idp.test"))

    assert list(chain(failed.value)) == [failed.value]
    assert SECRET not in shown(failed.value) + caplog.text


async def test_a_good_request_leaves_nothing_in_a_log(caplog: pytest.LogCaptureFixture) -> None:
    async with serving.serving(said(body=SECRET.encode(), X_Echo=SECRET)) as server, opened(server.origin) as egress:
        answer = await egress.send(telling(server.origin))
        await egress.send(replace(telling(server.origin), method="GET", body=b""))

    assert answer.body == SECRET.encode()
    assert SECRET not in f"{caplog.text} {answer!r}"
    assert [record for record in caplog.records if record.name.startswith("http")] == []


async def test_a_cancelled_request_shows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with serving.serving(serving.never) as server, opened(server.origin) as egress:
        sending = asyncio.create_task(egress.send(telling(server.origin)))
        await server.arrived.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await sending

    assert SECRET not in shown(cancelled.value) + caplog.text
