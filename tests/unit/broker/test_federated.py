"""An identity is exchanged for a token only at the server that guards the resource, and only if it is trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest

from tests.fakes.egress import FakeEgress, Part
from tests.logged import logged
from toolcall_operator import errors
from toolcall_operator.broker import patience
from toolcall_operator.broker.federated import Federation
from toolcall_operator.broker.minted import Minted
from toolcall_operator.core.credentials.references import Kind, Source
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Request
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RESOURCE, SERVER, PROVIDER = "https://api.example/mcp", "https://as.example/tenant", "https://idp.example/token"
ABOUT_RESOURCE = "https://api.example/.well-known/oauth-protected-resource/mcp"
ABOUT_SERVER = "https://as.example/.well-known/oauth-authorization-server/tenant"
REDEEMED_AT = "https://as.example/tenant/token"
ACCESS, IDENTITY, ASSERTION, SECRET = "the-access-token", "the-id-token", "the-assertion", "the-client-secret"
MINTED = "the-minted-token"
SECRETS = (ACCESS, IDENTITY, ASSERTION, SECRET, MINTED)
TYPES = "urn:ietf:params:oauth:token-type:"
ID_JAG = f"{TYPES}id-jag"

SOURCE = Source(
    Kind.FEDERATED, "default", "me", resource="https://api.example", resource_server_url=RESOURCE, scopes=("a", "b")
)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 0.01)


@pytest.fixture(autouse=True)
def _nothing_shows(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level("DEBUG")
    yield
    assert not [text for text in (*SECRETS, "hush") if text in logged(caplog)]


def said(status: int = 200, /, **fields: object) -> Answer:
    return Answer(status, body=json.dumps(fields).encode())


def scripts(**changed: Part) -> dict[str, Part]:
    """What everybody answers if all is well, but for what is changed."""
    return {
        "resource": said(resource=RESOURCE, authorization_servers=["https://other.example", SERVER]),
        "server": said(issuer=SERVER, token_endpoint=REDEEMED_AT),
        "provider": said(access_token=ASSERTION, issued_token_type=ID_JAG, token_type="N_A", expires_in=60),
        "redeemed": said(access_token=MINTED, token_type="Bearer", expires_in=600),
        **changed,
    }


def kept(**data: bytes) -> SecretObject:
    texts = {"access_token": ACCESS.encode(), "token_endpoint": PROVIDER.encode(), "client_id": b"operator"}
    return SecretObject("default", "me", "1", "1", data={**texts, "client_secret": SECRET.encode(), **data})


async def minted(
    changed: dict[str, Part] | None = None, secret: SecretObject | None = None, source: Source = SOURCE
) -> tuple[Minted | Refused, FakeEgress]:
    egress = FakeEgress()
    places = {"resource": ABOUT_RESOURCE, "server": ABOUT_SERVER, "provider": PROVIDER, "redeemed": REDEEMED_AT}
    for name, part in scripts(**(changed or {})).items():
        egress.script(places[name], part)
    federation = Federation(egress, lambda: NOW, (SERVER,))
    found = await federation.minted(source, secret or kept(), Hidden(ACCESS))
    assert not [text for text in (*SECRETS, "hush") if text in f"{found!r} {egress.sent!r}"]
    return found, egress


def form(request: Request) -> dict[str, str]:
    return dict(parse_qsl(request.body.decode()))


async def test_it_is_discovered_then_stated_then_redeemed() -> None:
    found, egress = await minted()

    assert found == Minted(Hidden(MINTED), NOW + timedelta(minutes=10))
    assert [request.url for request in egress.sent] == [ABOUT_RESOURCE, ABOUT_SERVER, PROVIDER, REDEEMED_AT]


async def test_the_provider_is_asked_for_a_statement_to_that_server_alone() -> None:
    _, egress = await minted()

    (request,) = egress.sent_to(PROVIDER)
    assert form(request) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": ID_JAG,
        "subject_token": ACCESS,
        "subject_token_type": f"{TYPES}access_token",
        "audience": SERVER,
        "resource": "https://api.example",
        "scope": "a b",
        "client_id": "operator",
        "client_secret": SECRET,
    }


async def test_an_id_token_is_sent_as_what_it_is() -> None:
    _, egress = await minted(secret=kept(id_token=IDENTITY.encode()))

    sent = form(egress.sent_to(PROVIDER)[0])
    assert (sent["subject_token"], sent["subject_token_type"]) == (IDENTITY, f"{TYPES}id_token")


async def test_the_server_is_given_the_statement_and_no_more() -> None:
    _, egress = await minted()

    (request,) = egress.sent_to(REDEEMED_AT)
    assert form(request) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": ASSERTION,
        "scope": "a b",
    }


@pytest.mark.parametrize("life", ({}, {"expires_in": 0}, {"expires_in": -1}, {"expires_in": "soon"}))
async def test_a_token_whose_end_nobody_tells_is_good_for_five_minutes(life: dict[str, Any]) -> None:
    found, _ = await minted({"redeemed": said(access_token=MINTED, **life)})

    assert isinstance(found, Minted)
    assert found.expires_at == NOW + timedelta(minutes=5)


LIES: tuple[tuple[str, dict[str, Part]], ...] = (
    ("another resource", {"resource": said(resource="https://api.example/other", authorization_servers=[SERVER])}),
    ("a server nobody trusts", {"resource": said(resource=RESOURCE, authorization_servers=["https://evil.example"])}),
    ("another issuer", {"server": said(issuer="https://evil.example", token_endpoint=REDEEMED_AT)}),
    ("an endpoint without TLS", {"server": said(issuer=SERVER, token_endpoint="http://as.example/token")}),
    ("a redirect", {"resource": Answer(302, {"location": "https://evil.example/hush"})}),
    ("an address inside", {"server": errors.Denied("its address is private")}),
)


@pytest.mark.parametrize("changed", [each[1] for each in LIES], ids=[each[0] for each in LIES])
async def test_who_lies_is_given_nothing(changed: dict[str, Part]) -> None:
    found, egress = await minted(changed)

    assert isinstance(found, Refused)
    assert found.reason is Reason.CREDENTIAL_UNRESOLVED
    assert found.message.startswith("discovery: ")
    for request in egress.sent:
        assert request.body == b""
        assert not [text for text in (ACCESS, SECRET) if text in f"{request.url} {request.headers}"]


@pytest.mark.parametrize(
    ("changed", "told"),
    (
        ({"provider": Answer(400, body=b'{"error_description": "hush"}')}, "token-exchange: the identity provider "),
        ({"provider": said(access_token="hush", issued_token_type=f"{TYPES}access_token")}, "token-exchange: "),
        ({"provider": said(access_token="hush")}, "token-exchange: "),
        ({"provider": said(access_token="hush", issued_token_type=ID_JAG, token_type="Bearer")}, "token-exchange: "),
        ({"provider": errors.Unavailable("it refuses connections")}, "token-exchange: "),
        ({"redeemed": Answer(403, body=b"hush")}, "jwt-bearer: the authorization server answered with status 403"),
        ({"redeemed": said(token="hush")}, "jwt-bearer: "),
    ),
)
async def test_a_leg_that_fails_is_told_by_its_name_and_status_only(changed: dict[str, Part], told: str) -> None:
    found, _ = await minted(changed)

    assert isinstance(found, Refused)
    assert found.reason is Reason.CREDENTIAL_UNRESOLVED
    assert found.message.startswith(told)


@pytest.mark.parametrize("kind", ({}, {"token_type": "N_A"}, {"token_type": "n_a"}))
async def test_a_statement_is_no_token_of_any_type(kind: dict[str, Any]) -> None:
    found, _ = await minted({"provider": said(access_token=ASSERTION, issued_token_type=ID_JAG, **kind)})

    assert isinstance(found, Minted)


async def test_without_scopes_and_a_secret_of_the_client_neither_is_sent() -> None:
    source = Source(Kind.FEDERATED, "default", "me", resource="https://api.example", resource_server_url=RESOURCE)

    _, egress = await minted(secret=kept(client_secret=b""), source=source)

    assert {"scope", "client_secret"}.isdisjoint(form(egress.sent_to(PROVIDER)[0]))
    assert "scope" not in form(egress.sent_to(REDEEMED_AT)[0])


async def test_a_secret_that_names_no_provider_is_told_so_before_anything_is_sent() -> None:
    found, egress = await minted(secret=kept(token_endpoint=b""))

    assert isinstance(found, Refused)
    assert "default/me has no key token_endpoint" in found.message
    assert egress.sent == []
