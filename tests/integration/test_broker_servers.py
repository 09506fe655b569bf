"""The servers that the broker is tried with refuse what real ones refuse: otherwise its successes would mean little."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests import identityproviders
from tests.identityproviders import HONEST, IdentityProviders
from toolcall_operator.adapters.egress.egress import HttpEgress
from toolcall_operator.adapters.egress.policy import Policy
from toolcall_operator.core.exchange import Answer, Request

GRANTS = "urn:ietf:params:oauth:grant-type:"
TYPES = "urn:ietf:params:oauth:token-type:"
ANOTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdentityProviders]:
    with identityproviders.started(tmp_path_factory.mktemp("servers")) as running:
        yield running


@dataclass
class Client:
    """Asks the servers without a broker."""

    servers: IdentityProviders
    egress: HttpEgress

    async def posted(self, path: str, **form: str) -> Answer:
        headers = {"content-type": "application/x-www-form-urlencoded"}
        return await self.egress.send(Request("POST", self.servers.at(path), headers, urlencode(form).encode()))

    async def as_client(self, **form: str) -> Answer:
        """At the identity provider, as the client that it knows, unless the form says otherwise."""
        known = {"client_id": self.servers.client_id, "client_secret": self.servers.client_secret}
        return await self.posted("/idp/token", **known | form)

    async def exchanged(self, **form: str) -> Answer:
        """An exchange in which all is well, but for what the form says."""
        asked = {
            "grant_type": f"{GRANTS}token-exchange",
            "subject_token": self.servers.login()["access_token"],
            "subject_token_type": f"{TYPES}access_token",
            "requested_token_type": f"{TYPES}id-jag",
            "audience": self.servers.at("/as"),
            "resource": self.servers.at(HONEST),
        }
        return await self.as_client(**asked | form)

    async def assertion(self, **form: str) -> str:
        return str(said(await self.exchanged(**form))["access_token"])

    async def redeemed(self, assertion: str, **form: str) -> Answer:
        return await self.posted("/as/token", grant_type=f"{GRANTS}jwt-bearer", assertion=assertion, **form)

    async def installed(self, statement: str, body: bytes = b"", installation: str = "77") -> Answer:
        url = self.servers.at(f"/github/app/installations/{installation}/access_tokens")
        headers = {"authorization": f"Bearer {statement}", "accept": "application/vnd.github+json"}
        return await self.egress.send(Request("POST", url, headers, body))


@pytest.fixture
async def client(servers: IdentityProviders) -> AsyncIterator[Client]:
    egress = HttpEgress(Policy.parse([servers.origin], servers.ca))
    yield Client(servers, egress)
    await egress.aclose()


def said(answer: Answer) -> Mapping[str, Any]:
    found = json.loads(answer.body)
    assert isinstance(found, dict)
    return found


# The identity provider ------------------------------------------------------------------------------------------------
async def test_a_refresh_token_is_good_for_one_use(client: Client) -> None:
    first = client.servers.login()["refresh_token"]

    answers = [await client.as_client(grant_type="refresh_token", refresh_token=first) for _ in range(2)]
    next_one = await client.as_client(grant_type="refresh_token", refresh_token=said(answers[0])["refresh_token"])

    assert [answer.status for answer in (*answers, next_one)] == [200, 400, 200]
    assert said(answers[1])["error"] == "invalid_grant"


@pytest.mark.parametrize("wrong", ({"client_id": "somebody"}, {"client_secret": "a guess"}, {"client_secret": ""}))
async def test_nobody_but_its_client_is_given_tokens(client: Client, wrong: dict[str, str]) -> None:
    token = client.servers.login()["refresh_token"]

    answer = await client.as_client(grant_type="refresh_token", refresh_token=token, **wrong)

    assert (answer.status, said(answer)["error"]) == (400, "invalid_client")


async def test_an_assertion_says_who_asks_whom_for_what_and_is_signed(client: Client) -> None:
    answer = await client.exchanged(scope="read write")
    keys = said(await client.egress.send(Request("GET", client.servers.at("/idp/keys"))))
    key = jwt.PyJWKSet.from_dict(dict(keys)).keys[0]

    claims = jwt.decode(said(answer)["access_token"], key, audience=client.servers.at("/as"))

    assert (claims["iss"], claims["sub"]) == (client.servers.at("/idp"), "alice")
    assert (claims["client_id"], claims["resource"]) == (client.servers.client_id, client.servers.at(HONEST))
    assert (claims["scope"], claims["exp"] - claims["iat"]) == ("read write", 300)
    assert (said(answer)["issued_token_type"], said(answer)["token_type"]) == (f"{TYPES}id-jag", "N_A")


@pytest.mark.parametrize(
    "wrong",
    (
        pytest.param({"subject_token": "a guess"}, id="a token that is none"),
        pytest.param({"subject_token_type": f"{TYPES}id_token"}, id="an access token that is called an ID token"),
        pytest.param({"subject_token_type": f"{TYPES}jwt"}, id="a token of another type"),
        pytest.param({"requested_token_type": f"{TYPES}access_token"}, id="a wish for something else"),
        pytest.param({"audience": ""}, id="nobody to tell"),
        pytest.param({"resource": ""}, id="nothing to open"),
        pytest.param({"client_secret": "a guess"}, id="another client"),
    ),
)
async def test_an_exchange_that_is_not_all_right_is_refused(client: Client, wrong: dict[str, str]) -> None:
    assert (await client.exchanged(**wrong)).status == 400


async def test_a_token_that_has_expired_is_not_exchanged(client: Client) -> None:
    assert (await client.exchanged(subject_token=client.servers.login(seconds=0)["access_token"])).status == 400


# The authorization server ---------------------------------------------------------------------------------------------
async def test_an_assertion_is_redeemed_once(client: Client) -> None:
    assertion = await client.assertion()

    assert [(await client.redeemed(assertion)).status for _ in range(2)] == [200, 400]


async def test_an_assertion_for_another_server_is_not_redeemed(client: Client) -> None:
    assert (await client.redeemed(await client.assertion(audience=client.servers.at("/evil")))).status == 400


async def test_an_identity_token_is_no_assertion(client: Client) -> None:
    assert (await client.redeemed(client.servers.login()["id_token"])).status == 400


async def test_no_scope_is_given_that_the_assertion_does_not_have(client: Client) -> None:
    answer = await client.redeemed(await client.assertion(scope="read"), scope="read write")

    assert (answer.status, said(answer)["error"]) == (400, "invalid_scope")


@pytest.mark.parametrize("algorithm", ("none", "HS256", "RS256"))
async def test_an_assertion_that_another_key_signed_is_not_redeemed(client: Client, algorithm: str) -> None:
    claims = jwt.decode(await client.assertion(), options={"verify_signature": False})
    keys: dict[str, Any] = {"none": None, "HS256": "x" * 32, "RS256": ANOTHER_KEY}
    headers = {"kid": "provider-1", "typ": "oauth-id-jag+jwt"}

    forged = jwt.encode(claims, keys[algorithm], algorithm=algorithm, headers=headers)

    assert (await client.redeemed(forged)).status == 400


@pytest.mark.parametrize("claim", ("sub", "aud", "resource", "exp"))
async def test_an_assertion_that_was_changed_is_not_redeemed(client: Client, claim: str) -> None:
    head, body, signature = (await client.assertion(audience=client.servers.at("/evil"))).split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    changed = claims | {claim: {"aud": client.servers.at("/as"), "exp": claims["exp"] + 3600}.get(claim, "mallory")}
    other = base64.urlsafe_b64encode(json.dumps(changed).encode()).rstrip(b"=").decode()

    assert (await client.redeemed(f"{head}.{other}.{signature}")).status == 400


async def test_what_is_guarded_says_where_to_go_and_opens_to_nobody_without_a_token(client: Client) -> None:
    answer = await client.egress.send(Request("GET", client.servers.at(HONEST)))

    assert answer.status == 401
    about = client.servers.at(f"/.well-known/oauth-protected-resource{HONEST}")
    assert f'resource_metadata="{about}"' in answer.headers["www-authenticate"]
    assert client.servers.opened(HONEST, "a guess")[0] == 401


# GitHub ---------------------------------------------------------------------------------------------------------------
def statement(client: Client, key: object = None, **wrong: object) -> str:
    """What proves to be the app, but for what is wrong."""
    now = int(time.time())
    claims = {"iss": client.servers.app_id, "iat": now - 30, "exp": now + 540, **wrong}
    algorithm = "RS256" if not isinstance(key, str) else "HS256"
    return jwt.encode(claims, key or client.servers.app_key, algorithm=algorithm)  # type: ignore[arg-type]  # as its caller means


async def test_github_believes_its_app(client: Client) -> None:
    assert (await client.installed(statement(client))).status == 201


async def test_github_believes_nobody_else(client: Client) -> None:
    now = int(time.time())
    wrong = (
        statement(client, ANOTHER_KEY),
        statement(client, "x" * 32),
        statement(client, iss="4712"),
        statement(client, exp=now - 1),
        statement(client, exp=now + 660),
        statement(client, iat=now + 60),
        "a guess",
    )

    assert {(await client.installed(each)).status for each in wrong} == {401}


@pytest.mark.parametrize(
    ("wish", "status"),
    (
        ({"repositories": ["site"]}, 201),
        ({"permissions": {"contents": "write"}}, 201),
        ({"repositories": ["payroll"]}, 422),
        ({"permissions": {"contents": "admin"}}, 422),
        ({"permissions": {"issues": "write"}}, 422),
        ({"permissions": {"secrets": "read"}}, 422),
        ({"permissions": {"contents": "all"}}, 422),
    ),
)
async def test_github_gives_what_the_installation_has_and_no_more(
    client: Client, wish: dict[str, object], status: int
) -> None:
    assert (await client.installed(statement(client), json.dumps(wish).encode())).status == status


async def test_github_knows_one_installation(client: Client) -> None:
    assert (await client.installed(statement(client), installation="78")).status == 404
