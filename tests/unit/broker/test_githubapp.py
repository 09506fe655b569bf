"""Tokens of a GitHub App: asked for with a statement that its key has signed, narrowed as the call wants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fakes.egress import FakeEgress
from tests.logged import logged
from toolcall_operator import errors
from toolcall_operator.broker import githubapp, patience
from toolcall_operator.broker.minted import Minted
from toolcall_operator.core.credentials.references import Kind, Source
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Request
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
)
URL = "https://api.github.com/app/installations/77/access_tokens"
WHOLE = Source(Kind.GITHUB_APP, "default", "app")
SECRETS = ("ghs_installation", "hush", "not a key, but secret", *PEM.decode().splitlines()[1:-1])
GRANTED = {"token": "ghs_installation", "expires_at": "2026-03-01T13:00:00Z", "permissions": {"contents": "read"}}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 0.01)


@pytest.fixture(autouse=True)
def _nothing_shows(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level("DEBUG")
    yield
    assert not [text for text in SECRETS if text in logged(caplog)]


def secret(**data: bytes | None) -> SecretObject:
    full = {"app-id": b"4711", "installation-id": b"77", "private-key": PEM} | {
        name.replace("_", "-"): value for name, value in data.items()
    }
    kept = {name: value for name, value in full.items() if value is not None}
    return SecretObject("default", "app", "1", "1", data=kept)


async def minted(
    answer: Answer | errors.OperatorError, kept: SecretObject | None = None, url: str = URL, source: Source = WHOLE
) -> tuple[Minted | Refused, list[Request]]:
    egress = FakeEgress()
    egress.script(url, answer)
    found = await githubapp.minted(source, kept or secret(), None, egress=egress, now=lambda: NOW)
    assert not [text for text in SECRETS if text in f"{found!r} {egress.sent!r}"]
    return found, egress.sent


def granted(status: int = 201, **said: object) -> Answer:
    return Answer(status, body=json.dumps({**GRANTED, **said}).encode())


async def test_an_installation_gives_a_token_and_says_when_it_ends() -> None:
    found, (request,) = await minted(granted())

    assert found == Minted(Hidden("ghs_installation"), datetime(2026, 3, 1, 13, tzinfo=UTC))
    assert (request.method, request.body) == ("POST", b"")
    assert request.headers["accept"] == "application/vnd.github+json"
    assert request.headers["x-github-api-version"] == "2022-11-28"


async def test_the_statement_is_signed_by_the_key_names_the_app_and_is_good_for_less_than_ten_minutes() -> None:
    _, (request,) = await minted(granted())
    authorization = request.headers["authorization"]
    assert isinstance(authorization, Hidden)

    said = jwt.decode(
        authorization.reveal().removeprefix("Bearer "),
        KEY.public_key(),
        algorithms=["RS256"],
        options={"verify_exp": False, "verify_iat": False},
    )

    assert said["iss"] == "4711"
    assert datetime.fromtimestamp(said["iat"], UTC) == NOW - timedelta(seconds=30)
    assert datetime.fromtimestamp(said["exp"], UTC) == NOW + timedelta(minutes=9)


async def test_an_app_may_be_named_by_its_client_id() -> None:
    _, (request,) = await minted(granted(), secret(app_id=b"Iv23liAbcDEF0123456"))
    authorization = request.headers["authorization"]
    assert isinstance(authorization, Hidden)

    statement = authorization.reveal().removeprefix("Bearer ")

    assert jwt.decode(statement, options={"verify_signature": False})["iss"] == "Iv23liAbcDEF0123456"


async def test_a_token_is_narrowed_to_repositories_and_permissions() -> None:
    _, (request,) = await minted(
        granted(), source=replace(WHOLE, repositories=("site",), permissions=(("contents", "read"),))
    )

    assert json.loads(request.body) == {"repositories": ["site"], "permissions": {"contents": "read"}}


async def test_an_enterprise_server_is_asked_at_its_own_address() -> None:
    url = "https://github.corp.example/api/v3/app/installations/77/access_tokens"

    found, _ = await minted(granted(200), secret(base_url=b"https://github.corp.example/api/v3/"), url)

    assert isinstance(found, Minted)


MALFORMED: tuple[tuple[str, dict[str, bytes | None], Reason, str], ...] = (
    ("no PEM", {"private_key": b"not a key, but secret"}, Reason.CREDENTIAL_INVALID, "private-key"),
    ("a PEM of nonsense", {"private_key": PEM[:200] + b"\n" + PEM[-40:]}, Reason.CREDENTIAL_INVALID, "private-key"),
    ("half a PEM", {"private_key": PEM[: len(PEM) // 2]}, Reason.CREDENTIAL_INVALID, "private-key"),
    ("an empty key", {"private_key": b"\n"}, Reason.CREDENTIAL_INVALID, "private-key"),
    ("no key", {"private_key": None}, Reason.CREDENTIAL_UNRESOLVED, "private-key"),
    ("no app", {"app_id": None}, Reason.CREDENTIAL_UNRESOLVED, "app-id"),
    ("an app with a space", {"app_id": b"47 11"}, Reason.CREDENTIAL_INVALID, "app-id"),
    ("an installation that is a name", {"installation_id": b"acme"}, Reason.CREDENTIAL_INVALID, "installation-id"),
    (
        "an installation in other digits",
        {"installation_id": b"\xd9\xa7\xd9\xa7"},
        Reason.CREDENTIAL_INVALID,
        "installation-id",
    ),
    ("an app that is a path", {"app_id": b"../x"}, Reason.CREDENTIAL_INVALID, "app-id"),
    (
        "an installation that is a path",
        {"installation_id": b"77/../../x"},
        Reason.CREDENTIAL_INVALID,
        "installation-id",
    ),
    ("an address without TLS", {"base_url": b"http://github.corp.example"}, Reason.CREDENTIAL_INVALID, "base-url"),
)


@pytest.mark.parametrize(
    ("data", "reason", "key"), [each[1:] for each in MALFORMED], ids=[each[0] for each in MALFORMED]
)
async def test_a_secret_that_is_malformed_is_told_by_its_key_and_nothing_is_sent(
    data: dict[str, bytes | None], reason: Reason, key: str
) -> None:
    found, sent = await minted(granted(), secret(**data))

    assert isinstance(found, Refused)
    assert (found.reason, sent) == (reason, [])
    assert "default/app" in found.message
    assert key in found.message


@pytest.mark.parametrize(
    ("answer", "told"),
    (
        (Answer(401, body=b'{"message": "Bad credentials: hush"}'), "status 401"),
        (Answer(404, body=b"hush"), "status 404"),
        (Answer(500, body=b"hush" * 100_000), "status 500"),
        (Answer(201, body=b"hush, no JSON"), "nothing usable"),
        (Answer(201, body=b"[]"), "nothing usable"),
        (granted(token=None), "nothing usable"),
        (granted(token=""), "nothing usable"),
        (granted(token="hush\nhush"), "nothing usable"),
        (granted(expires_at=None), "nothing usable"),
        (granted(expires_at="tomorrow, hush"), "nothing usable"),
        (errors.Unavailable("it refuses connections"), "could not be reached"),
        (errors.Denied("its address is private"), "not at an address the operator may speak to"),
    ),
)
async def test_what_yields_no_token_is_told_by_installation_and_status_only(
    answer: Answer | errors.OperatorError, told: str
) -> None:
    found, _ = await minted(answer)

    assert isinstance(found, Refused)
    assert found.reason is Reason.CREDENTIAL_UNRESOLVED
    assert "installation 77" in found.message
    assert told in found.message
