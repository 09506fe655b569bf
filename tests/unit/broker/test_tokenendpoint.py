"""What a token endpoint's answer is worth, how often it is asked, and what is said of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qs

import pytest

from tests.fakes.egress import FakeEgress, Part
from tests.logged import logged
from toolcall_operator.broker import tokenendpoint
from toolcall_operator.broker.tokenendpoint import Grant, Trouble
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Request
from toolcall_operator.errors import Denied, Unavailable

URL = "https://idp.example/token"
WHAT = "the token endpoint of Secret default/github"
SECRETS = ("sec+ret/1=&", "access-1", "refresh-2")
FORM: Mapping[str, str | Hidden] = {
    "grant_type": "refresh_token",
    "client_id": "me",
    "client_secret": Hidden(SECRETS[0]),
}


@pytest.fixture(autouse=True)
def _told_nobody(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level("DEBUG")
    yield
    assert not [secret for secret in SECRETS if secret in logged(caplog)]


def says(status: int = 200, **said: object) -> Answer:
    return Answer(status, body=json.dumps(said).encode())


GRANTED = says(access_token="access-1", refresh_token="refresh-2", expires_in=3600, token_type="Bearer")


async def asked(*parts: Part) -> tuple[Grant | Trouble, FakeEgress]:
    egress = FakeEgress()
    egress.script(URL, *parts)
    return await tokenendpoint.ask(egress, URL, FORM, WHAT), egress


async def test_a_grant_holds_both_tokens_and_their_life() -> None:
    grant, _ = await asked(GRANTED)

    assert grant == Grant(Hidden("access-1"), Hidden("refresh-2"), 3600, token_type="Bearer")
    assert not [secret for secret in SECRETS if secret in repr(grant)]


async def test_the_form_is_posted_and_its_values_are_escaped() -> None:
    _, egress = await asked(GRANTED)

    (request,) = egress.sent
    assert (request.method, request.url) == ("POST", URL)
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qs(request.body.decode()) == {
        "grant_type": ["refresh_token"],
        "client_id": ["me"],
        "client_secret": [SECRETS[0]],
    }
    assert b"sec%2Bret%2F1%3D%26" in request.body
    assert request.answer_bytes == 1024 * 1024


@pytest.mark.parametrize(
    ("life", "seconds"),
    (
        (3600, 3600),
        ("3600", 3600),
        (3600.9, 3600),
        (1e300, tokenendpoint.LONGEST_LIFE),
        (10**400, None),
        (0, None),
        (-1, None),
        (0.5, None),
        (None, None),
        (True, None),
        ("soon", None),
        (float("nan"), None),
        (float("inf"), None),
        ([], None),
    ),
)
async def test_a_life_is_a_number_of_seconds_or_unknown(life: object, seconds: int | None) -> None:
    grant, _ = await asked(says(access_token="access-1", expires_in=life))

    assert grant == Grant(Hidden("access-1"), None, seconds)


@pytest.mark.parametrize("refresh", ("", None, 7, "two\nlines", "ü", "x" * 65_537))
async def test_a_refresh_token_that_cannot_be_one_is_none(refresh: object) -> None:
    grant, _ = await asked(says(access_token="access-1", refresh_token=refresh))

    assert grant == Grant(Hidden("access-1"))


@pytest.mark.parametrize(
    "body",
    (
        b"",
        b"<html>access-1</html>",
        b"access_token=access-1",
        b"[" * 200_000,
        b"\xff\xfe",
        b'"access-1"',
        b"[]",
        b"{}",
        b'{"access_token": ""}',
        b'{"access_token": 7}',
        b'{"access_token": "access-1\\n"}',
        b'{"access_token": "\\ud800"}',
        b'{"error": "access-1"}',
        b'{"access_token": "' + b"a" * 65_537 + b'"}',
    ),
    ids=lambda body: body[:20].decode(errors="replace"),
)
async def test_an_answer_without_a_usable_token_is_trouble(body: bytes) -> None:
    trouble, egress = await asked(Answer(200, body=body))

    assert trouble == Trouble(200, f"{WHAT} answered with nothing usable")
    assert len(egress.sent) == 1


@pytest.mark.parametrize("status", (301, 302, 400, 401, 403, 404))
async def test_a_refusal_is_told_by_its_status_alone_and_not_tried_again(status: int) -> None:
    trouble, egress = await asked(Answer(status, body=b'{"error": "access-1"}', headers={"location": "access-1"}))

    assert isinstance(trouble, Trouble)
    assert trouble == Trouble(status, f"{WHAT} answered with status {status}")
    assert trouble.final == (status >= 400)
    assert len(egress.sent) == 1


@pytest.mark.parametrize(
    "trouble", (Answer(429), Answer(500), Answer(503), Unavailable("idp.example did not answer")), ids=str
)
async def test_trouble_that_passes_is_waited_out(trouble: Part) -> None:
    grant, egress = await asked(trouble, trouble, GRANTED)

    assert isinstance(grant, Grant)
    assert len(egress.sent) == 3


@pytest.mark.parametrize("status", (429, 500, 503))
async def test_trouble_that_lasts_is_told_by_its_status(status: int) -> None:
    trouble, egress = await asked(Answer(status, body=b"access-1"))

    assert isinstance(trouble, Trouble)
    assert (trouble.status, trouble.message) == (status, f"{WHAT} answered with status {status}")
    assert not trouble.final
    assert len(egress.sent) == 4


async def test_an_endpoint_that_cannot_be_reached_is_told_so() -> None:
    trouble, egress = await asked(Unavailable("idp.example refuses connections"))

    assert isinstance(trouble, Trouble)
    assert trouble == Trouble(
        None, f"{WHAT} could not be reached, or did not answer as a whole: idp.example refuses connections"
    )
    assert not trouble.final
    assert len(egress.sent) == 4


async def test_an_address_that_is_denied_is_asked_once() -> None:
    trouble, egress = await asked(Denied("10.0.0.1 is a private address"))

    assert trouble == Trouble(
        None, f"{WHAT} is not at an address the operator may speak to: 10.0.0.1 is a private address"
    )
    assert egress.sent == []


async def test_what_is_no_address_is_denied_too() -> None:
    trouble = await tokenendpoint.ask(FakeEgress(), "not an address", FORM, WHAT)

    assert isinstance(trouble, Trouble)
    assert trouble.message.startswith(f"{WHAT} is not at an address the operator may speak to: ")


async def test_an_answer_of_more_than_a_mebibyte_is_not_read() -> None:
    trouble, _ = await asked(Answer(200, body=b"x" * (1024 * 1024 + 1)))

    assert isinstance(trouble, Trouble)
    assert trouble.status is None


async def test_all_attempts_together_have_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    clock = loop.time()
    timeouts: list[float] = []

    def slow(request: Request) -> Answer:
        nonlocal clock
        timeouts.append(request.timeout.total_seconds())
        clock += 4
        return Answer(503)

    monkeypatch.setattr(loop, "time", lambda: clock)
    await asked(slow)

    assert timeouts == pytest.approx([10, 6, 2, 1], abs=0.1)
