"""Who guards a resource is believed only of the resource itself, and only if it is a server that is trusted."""

from __future__ import annotations

import json

import pytest

from tests.fakes.egress import FakeEgress, Part
from toolcall_operator import errors
from toolcall_operator.broker import discovery, patience
from toolcall_operator.broker.discovery import AuthorizationServer
from toolcall_operator.core.exchange import Answer

RESOURCE, SERVER, REDEEMED_AT = (
    "https://api.example/mcp",
    "https://as.example/tenant",
    "https://as.example/tenant/token",
)
ABOUT_RESOURCE = "https://api.example/.well-known/oauth-protected-resource/mcp"
ABOUT_SERVER = "https://as.example/.well-known/oauth-authorization-server/tenant"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 0.01)


def said(**fields: object) -> Answer:
    return Answer(200, body=json.dumps(fields).encode())


async def found(
    *trusted: str, resource: str = RESOURCE, scripts: dict[str, Part] | None = None
) -> tuple[AuthorizationServer | str, FakeEgress]:
    """What is found when everybody answers as in `scripts`, or else as those do who are all right."""
    egress = FakeEgress()
    egress.script(ABOUT_RESOURCE, said(resource=RESOURCE, authorization_servers=["https://other.example", SERVER]))
    egress.script(ABOUT_SERVER, said(issuer=SERVER, token_endpoint=REDEEMED_AT))
    for url, part in (scripts or {}).items():
        egress.script(url, part)
    return await discovery.authorization_server(resource, trusted or (SERVER,), egress), egress


async def test_the_resource_names_its_servers_and_the_server_its_endpoint() -> None:
    server, egress = await found()

    assert server == AuthorizationServer(SERVER, REDEEMED_AT)
    assert [request.url for request in egress.sent] == [ABOUT_RESOURCE, ABOUT_SERVER]


async def test_the_first_that_is_trusted_is_taken_in_the_order_of_the_resource() -> None:
    other = "https://other.example"
    about_other = f"{other}/.well-known/oauth-authorization-server"

    server, _ = await found(SERVER, other, scripts={about_other: said(issuer=other, token_endpoint=f"{other}/t")})

    assert server == AuthorizationServer(other, f"{other}/t")


LIES: tuple[tuple[str, dict[str, Part], str], ...] = (
    (
        "of another resource",
        {ABOUT_RESOURCE: said(resource=f"{RESOURCE}/x", authorization_servers=[SERVER])},
        "another",
    ),
    (
        "of the same with a slash",
        {ABOUT_RESOURCE: said(resource=f"{RESOURCE}/", authorization_servers=[SERVER])},
        "another",
    ),
    (
        "of its host alone",
        {ABOUT_RESOURCE: said(resource="https://api.example", authorization_servers=[SERVER])},
        "another",
    ),
    (
        "of nothing that is a URL",
        {ABOUT_RESOURCE: said(resource="https://[", authorization_servers=[SERVER])},
        "another",
    ),
    ("of a list", {ABOUT_RESOURCE: said(resource=[RESOURCE], authorization_servers=[SERVER])}, "another"),
    ("of no resource", {ABOUT_RESOURCE: said(authorization_servers=[SERVER])}, "another"),
    (
        "of a stranger",
        {ABOUT_RESOURCE: said(resource=RESOURCE, authorization_servers=["https://evil.example"])},
        "trusted",
    ),
    (
        "of nearly the server",
        {ABOUT_RESOURCE: said(resource=RESOURCE, authorization_servers=[f"{SERVER}/"])},
        "trusted",
    ),
    (
        "of the server in capitals",
        {ABOUT_RESOURCE: said(resource=RESOURCE, authorization_servers=[SERVER.upper()])},
        "trusted",
    ),
    ("of a server, and no list", {ABOUT_RESOURCE: said(resource=RESOURCE, authorization_servers=SERVER)}, "trusted"),
    (
        "of servers that are none",
        {ABOUT_RESOURCE: said(resource=RESOURCE, authorization_servers=[{}, None])},
        "trusted",
    ),
    ("of no server", {ABOUT_RESOURCE: said(resource=RESOURCE)}, "trusted"),
    ("of another issuer", {ABOUT_SERVER: said(issuer="https://evil.example", token_endpoint=REDEEMED_AT)}, "another"),
    ("of no issuer", {ABOUT_SERVER: said(token_endpoint=REDEEMED_AT)}, "another"),
    ("of an endpoint without TLS", {ABOUT_SERVER: said(issuer=SERVER, token_endpoint="http://as.example/t")}, "https"),
    ("of no endpoint", {ABOUT_SERVER: said(issuer=SERVER)}, "https"),
    ("of an endpoint that is a number", {ABOUT_SERVER: said(issuer=SERVER, token_endpoint=443)}, "https"),
)


@pytest.mark.parametrize(("scripts", "told"), [each[1:] for each in LIES], ids=[each[0] for each in LIES])
async def test_a_lie_finds_nobody(scripts: dict[str, Part], told: str) -> None:
    why, egress = await found(scripts=scripts)

    assert isinstance(why, str)
    assert told in why
    assert {request.method for request in egress.sent} == {"GET"}


UNHEARD = "could not be reached, or did not answer as a whole: "
DENIED = "is not at an address the operator may speak to: "


@pytest.mark.parametrize("url", (ABOUT_RESOURCE, ABOUT_SERVER))
@pytest.mark.parametrize(
    ("part", "told"),
    (
        (Answer(200, body=b"<html>hush"), "answered with nothing usable"),
        (Answer(200, body=b'["hush"]'), "answered with nothing usable"),
        (Answer(200, body=b"[" * 100_000), "answered with nothing usable"),
        (Answer(200, body=b"\xff\xfe"), "answered with nothing usable"),
        (Answer(200, body=b" " * (discovery.DOCUMENT_BYTES + 1)), UNHEARD + "the answer has more than 262144 bytes"),
        (Answer(404, body=b"hush"), "answered with status 404"),
        (Answer(302, {"location": "https://evil.example/hush"}), "answered with status 302"),
        (Answer(503, body=b"hush"), "answered with status 503"),
        (errors.Denied("its address is private"), DENIED + "its address is private"),
        (errors.Unavailable("it refuses connections"), UNHEARD + "it refuses connections"),
    ),
)
async def test_who_does_not_tell_is_named_with_the_status_and_no_word_of_his(url: str, part: Part, told: str) -> None:
    why, _ = await found(scripts={url: part})

    assert why == f"the {'resource' if url == ABOUT_RESOURCE else 'authorization server'} {told}"


async def test_without_a_list_of_trusted_servers_nobody_is_found() -> None:
    egress = FakeEgress()
    egress.script(ABOUT_RESOURCE, said(resource=RESOURCE, authorization_servers=[SERVER]))

    assert "trusted" in str(await discovery.authorization_server(RESOURCE, (), egress))
    assert [request.url for request in egress.sent] == [ABOUT_RESOURCE]


@pytest.mark.parametrize(
    ("resource", "asked"),
    (
        ("https://a.example", "https://a.example/.well-known/oauth-protected-resource"),
        ("https://a.example/", "https://a.example/.well-known/oauth-protected-resource"),
        ("https://a.example:8443/x/y", "https://a.example:8443/.well-known/oauth-protected-resource/x/y"),
        ("https://a.example/x?y=1", "https://a.example/.well-known/oauth-protected-resource/x?y=1"),
        ("https://a.example/?y=1", "https://a.example/.well-known/oauth-protected-resource?y=1"),
    ),
)
async def test_the_well_known_part_comes_between_host_and_path(resource: str, asked: str) -> None:
    _, egress = await found(resource=resource, scripts={asked: Answer(404)})

    assert {request.url for request in egress.sent} == {asked}


async def test_the_slash_at_the_end_of_an_issuer_is_left_out_of_where_it_is_asked_for_and_not_of_its_name() -> None:
    issuer = f"{SERVER}/"
    scripts: dict[str, Part] = {
        ABOUT_RESOURCE: said(resource=RESOURCE, authorization_servers=[issuer]),
        ABOUT_SERVER: said(issuer=issuer, token_endpoint=REDEEMED_AT),
    }

    server, _ = await found(issuer, scripts=scripts)

    assert server == AuthorizationServer(issuer, REDEEMED_AT)


@pytest.mark.parametrize("asked", ("https://a.example", "https://a.example/"))
@pytest.mark.parametrize("named", ("https://a.example", "https://a.example/"))
async def test_a_resource_that_is_a_host_may_be_named_with_a_slash_or_without(asked: str, named: str) -> None:
    about = "https://a.example/.well-known/oauth-protected-resource"

    server, _ = await found(resource=asked, scripts={about: said(resource=named, authorization_servers=[SERVER])})

    assert isinstance(server, AuthorizationServer)


@pytest.mark.parametrize(
    "resource", ("http://a.example", "a.example", "https://", "https:///x", "https://a.example/#x")
)
async def test_what_is_no_address_with_tls_is_not_asked(resource: str) -> None:
    why, egress = await found(resource=resource)

    assert "https://" in str(why)
    assert egress.sent == []


async def test_an_issuer_without_tls_is_not_asked_whoever_trusts_it() -> None:
    issuer = "http://as.example"

    why, egress = await found(issuer, scripts={ABOUT_RESOURCE: said(resource=RESOURCE, authorization_servers=[issuer])})

    assert "https://" in str(why)
    assert [request.url for request in egress.sent] == [ABOUT_RESOURCE]
