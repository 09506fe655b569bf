"""The broker with servers that verify what real ones do, over real connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import jwt
import pytest

from tests import identityproviders
from tests.fakes.secrets import FakeSecrets
from tests.identityproviders import HONEST, IdentityProviders
from tests.logged import logged
from toolcall_operator.adapters.egress.egress import HttpEgress
from toolcall_operator.adapters.egress.policy import Policy
from toolcall_operator.api import times
from toolcall_operator.broker import patience
from toolcall_operator.broker.broker import FixedRules, TokenBroker
from toolcall_operator.core.credentials.references import Kind, Reference, Requester, Source
from toolcall_operator.core.credentials.secrets import CONSENT
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason

PLACE, APP_PLACE = "default/alice", "default/app"
REQUESTER = Requester("default", "build", "uid-of-build")
OAUTH = Source(Kind.OAUTH, "default", "alice")
APP = Source(Kind.GITHUB_APP, "default", "app")
REFRESH, EXCHANGE = "POST /idp/token refresh_token", "POST /idp/token token-exchange"
REDEMPTION, EVIL_REDEMPTION = "POST /as/token jwt-bearer", "POST /evil/token jwt-bearer"
INSTALLATION = "POST /github/app/installations/77/access_tokens"
WORDS_OF_TROUBLE = "words that nobody keeps"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdentityProviders]:
    with identityproviders.started(tmp_path_factory.mktemp("servers")) as running:
        yield running


@dataclass
class Desk:
    """A broker in front of the servers, with Secrets in memory; its clock is the servers' unless it is turned."""

    servers: IdentityProviders
    egress: HttpEgress
    secrets: FakeSecrets = field(default_factory=FakeSecrets)
    turned: timedelta = timedelta()
    hidden: set[str] = field(default_factory=set, repr=False)
    outcomes: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        trusted = (self.servers.at("/as"), self.servers.at("/impostor"))
        self.broker = TokenBroker(self.secrets, self.egress, self.now, FixedRules(True, trusted))

    def now(self) -> datetime:
        return datetime.now(UTC) + self.turned

    def logged_in(self, *kinds: str, left: float = 600, **data: str) -> None:
        """The Secret holds first tokens of the user, of other `kinds` too; by what it says `left` seconds are left."""
        kept = {**self.servers.oauth(self.now() + timedelta(seconds=left), *kinds), **data}
        self.secrets.put(PLACE, kept, labels={CONSENT: "true"})
        self.servers.counts()

    def installed(self, **data: str) -> None:
        """The Secret holds the GitHub App."""
        kept = {**self.servers.github_app(), **{key.replace("_", "-"): value for key, value in data.items()}}
        self.secrets.put(APP_PLACE, kept, labels={CONSENT: "true"})
        self.servers.counts()

    def federated(self, path: str = HONEST, *scopes: str) -> Source:
        """What the resource at a path is opened with."""
        url = self.servers.at(path)
        return Source(Kind.FEDERATED, "default", "alice", resource=url, resource_server_url=url, scopes=scopes)

    async def asked(self, source: Source) -> Hidden | Refused:
        """The one credential, or why it cannot be had."""
        self._note()
        outcome = await self.broker.resolve([Reference("spec.credentials[0]", source, env_var="TOKEN")], REQUESTER)
        self.outcomes.append(outcome)
        self._note()
        if isinstance(outcome, Refused):
            return outcome
        (value,) = outcome
        self.hidden.add(value.reveal())
        return value

    async def value(self, source: Source) -> str:
        value = await self.asked(source)
        assert isinstance(value, Hidden), value
        return value.reveal()

    async def refusal(self, source: Source) -> Refused:
        refused = await self.asked(source)
        assert isinstance(refused, Refused)
        return refused

    def _note(self) -> None:
        """What stands in Secrets shows nowhere else."""
        secrets = ("access_token", "refresh_token", "id_token", "client_secret")
        for place in self.secrets.kept:
            self.hidden.update(value for key, value in self.secrets.text(place).items() if key in secrets)
        self.hidden.update(line for line in self.servers.app_key.splitlines() if "---" not in line)


@pytest.fixture
async def desk(
    servers: IdentityProviders, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Desk]:
    caplog.set_level("DEBUG")
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 1.5)
    egress = HttpEgress(Policy.parse([servers.origin], servers.ca))
    made = Desk(servers, egress)
    yield made
    await made.broker.aclose()
    await egress.aclose()
    told = f"{made.outcomes!r} {logged(caplog)}"
    assert not [text for text in (*made.hidden, *servers.tokens(), WORDS_OF_TROUBLE) if text in told]


def sums(desk: Desk) -> dict[str, int]:
    """How many requests there were, by kind, whatever came of them."""
    return {kind: sum(by_status.values()) for kind, by_status in desk.servers.counts().items()}


# oauth ----------------------------------------------------------------------------------------------------------------
async def test_a_token_that_expired_is_renewed_and_written_back_with_the_rotated_refresh_token(desk: Desk) -> None:
    desk.logged_in(left=0)
    before = desk.secrets.text(PLACE)

    value = await desk.value(OAUTH)

    after = desk.secrets.text(PLACE)
    assert value == after["access_token"] != before["access_token"]
    assert after["refresh_token"] != before["refresh_token"]
    assert times.parse(after["expires_at"]) > desk.now() + timedelta(seconds=580)
    assert desk.servers.counts() == {REFRESH: {"200": 1}}


async def test_a_refresh_token_serves_once_and_the_next_one_after_it(desk: Desk) -> None:
    desk.logged_in(left=0)
    for _ in range(3):
        await desk.value(OAUTH)
        desk.turned += timedelta(minutes=10)

    assert desk.servers.counts() == {REFRESH: {"200": 3}}


async def test_fifty_calls_at_the_instant_of_expiry_cause_one_refresh(desk: Desk) -> None:
    desk.logged_in(left=0)

    values = await asyncio.gather(*(desk.value(OAUTH) for _ in range(50)))

    assert set(values) == {desk.secrets.text(PLACE)["access_token"]}
    assert desk.servers.counts() == {REFRESH: {"200": 1}}


async def test_a_refresh_token_that_was_used_by_somebody_else_is_the_end(desk: Desk) -> None:
    desk.logged_in(left=0)
    old = desk.secrets.kept[PLACE]
    await desk.value(OAUTH)
    desk.secrets.put(PLACE, old.data)
    desk.turned += timedelta(minutes=1)  # the broker remembers for some seconds what it was good for

    refused = await desk.refusal(OAUTH)

    assert refused.reason is Reason.CREDENTIAL_EXPIRED
    assert "400" in refused.message
    assert desk.servers.counts() == {REFRESH: {"200": 1, "400": 1}}


async def test_a_client_that_is_not_believed_is_told_by_the_status(desk: Desk) -> None:
    desk.logged_in(left=0, client_secret="not the secret")

    refused = await desk.refusal(OAUTH)

    assert refused.reason is Reason.CREDENTIAL_EXPIRED
    assert "status 4" in refused.message


async def test_a_provider_in_trouble_is_asked_again(desk: Desk) -> None:
    desk.logged_in(left=0)
    desk.servers.trouble(REFRESH, times=2, status=503)

    await desk.value(OAUTH)

    assert desk.servers.counts() == {REFRESH: {"503": 2, "200": 1}}


async def test_a_token_that_is_still_good_is_used_while_its_provider_is_down(desk: Desk) -> None:
    desk.logged_in(left=30)
    desk.servers.trouble(REFRESH, times=50, status=500)
    kept = desk.secrets.text(PLACE)

    assert await desk.value(OAUTH) == kept["access_token"]

    desk.servers.trouble(REFRESH, times=0)
    assert desk.secrets.text(PLACE) == kept


async def test_a_token_that_expired_while_its_provider_is_down_is_not_used(desk: Desk) -> None:
    desk.logged_in(left=0)
    desk.servers.trouble(REFRESH, times=50, status=500)
    kept = desk.secrets.text(PLACE)

    refused = await desk.refusal(OAUTH)
    desk.servers.trouble(REFRESH, times=0)
    renewed = await desk.value(OAUTH)

    assert refused.reason is Reason.CREDENTIAL_UNRESOLVED
    assert "status 500" in refused.message
    assert renewed == desk.secrets.text(PLACE)["access_token"] != kept["access_token"]


async def test_an_answer_that_is_lost_with_the_refresh_token_in_it_is_no_success(desk: Desk) -> None:
    desk.logged_in(left=0)
    desk.servers.trouble(REFRESH, lost=True)

    refused = await desk.refusal(OAUTH)

    assert refused.reason is Reason.CREDENTIAL_EXPIRED
    assert desk.servers.counts() == {REFRESH: {"200": 1, "400": 1}}


# federated ------------------------------------------------------------------------------------------------------------
async def test_an_identity_opens_a_resource_that_another_server_guards(desk: Desk) -> None:
    desk.logged_in()

    token = await desk.value(desk.federated(HONEST, "read", "write"))

    assert desk.servers.counts() == {
        f"GET /.well-known/oauth-protected-resource{HONEST}": {"200": 1},
        "GET /.well-known/oauth-authorization-server/as": {"200": 1},
        EXCHANGE: {"200": 1},
        REDEMPTION: {"200": 1},
    }
    assert any(each.startswith("eyJ") for each in desk.servers.tokens())  # the assertion, which must not show either
    assert desk.servers.opened(HONEST, token) == (
        200,
        {
            "user": "alice",
            "client": desk.servers.client_id,
            "resource": desk.servers.at(HONEST),
            "scopes": ["read", "write"],
        },
    )


async def test_a_token_opens_no_other_resource_and_no_other_token_opens_this_one(desk: Desk) -> None:
    desk.logged_in()
    token = await desk.value(desk.federated())

    assert desk.servers.opened("/api/untrusted", token)[0] == 401
    assert desk.servers.opened(HONEST, desk.secrets.text(PLACE)["access_token"])[0] == 401


async def test_the_identity_is_renewed_before_it_is_exchanged(desk: Desk) -> None:
    desk.logged_in(left=0)

    token = await desk.value(desk.federated())

    counted = sums(desk)
    assert (counted[REFRESH], counted[EXCHANGE], counted[REDEMPTION]) == (1, 1, 1)
    assert desk.servers.opened(HONEST, token)[0] == 200


async def test_an_id_token_is_exchanged_as_one(desk: Desk) -> None:
    desk.logged_in("id_token")
    identity = desk.secrets.text(PLACE)["id_token"]
    assert jwt.decode(identity, options={"verify_signature": False})["sub"] == "alice"

    token = await desk.value(desk.federated())

    assert desk.servers.opened(HONEST, token)[0] == 200


async def test_a_token_is_exchanged_once_for_fifty_calls_and_anew_when_it_ends(desk: Desk) -> None:
    desk.logged_in(left=86_400)
    source = desk.federated()

    first = set(await asyncio.gather(*(desk.value(source) for _ in range(50))))
    counted = sums(desk)
    desk.turned += timedelta(minutes=9)  # of ten; a minute before its end it is renewed
    second = await desk.value(source)

    assert len(first) == 1
    assert (counted[EXCHANGE], counted[REDEMPTION]) == (1, 1)
    assert second not in first
    assert sums(desk)[REDEMPTION] == 1


@pytest.mark.parametrize(
    ("path", "told"),
    (
        ("/api/another", "the resource says that it is another one"),
        ("/api/untrusted", "the resource names no authorization server that is trusted"),
        ("/api/impostor", "the authorization server says that it is another one"),
        ("/api/nowhere", "the resource answered with status 404"),
    ),
)
async def test_a_resource_that_lies_is_given_nothing(desk: Desk, path: str, told: str) -> None:
    desk.logged_in()

    refused = await desk.refusal(desk.federated(path))

    assert refused.reason is Reason.CREDENTIAL_UNRESOLVED
    assert told in refused.message
    assert not {EXCHANGE, REDEMPTION, EVIL_REDEMPTION} & set(desk.servers.counts())


@pytest.mark.parametrize(
    ("kind", "status", "told"),
    (
        (f"GET /.well-known/oauth-protected-resource{HONEST}", 403, "discovery: the resource answered with status 403"),
        (
            "GET /.well-known/oauth-authorization-server/as",
            500,
            "discovery: the authorization server answered with status 500",
        ),
        (EXCHANGE, 401, "token-exchange: the identity provider answered with status 401"),
        (REDEMPTION, 400, "jwt-bearer: the authorization server answered with status 400"),
    ),
)
async def test_what_fails_is_told_by_its_leg_and_status(desk: Desk, kind: str, status: int, told: str) -> None:
    desk.logged_in()
    desk.servers.trouble(kind, times=50, status=status)

    refused = await desk.refusal(desk.federated())

    desk.servers.trouble(kind, times=0)
    assert refused.reason is Reason.CREDENTIAL_UNRESOLVED
    assert told in refused.message


async def test_a_resource_that_is_not_opened_in_the_network_is_not_asked(desk: Desk) -> None:
    desk.logged_in()
    elsewhere = HttpEgress(Policy())
    broker = TokenBroker(desk.secrets, elsewhere, desk.now, FixedRules(True, (desk.servers.at("/as"),)))

    refused = await broker.resolve([Reference("spec.credentials[0]", desk.federated(), env_var="TOKEN")], REQUESTER)

    await elsewhere.aclose()
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.CREDENTIAL_UNRESOLVED
    assert desk.servers.counts() == {}


# githubApp ------------------------------------------------------------------------------------------------------------
async def test_an_app_is_given_a_token_of_its_installation(desk: Desk) -> None:
    desk.installed()

    token = await desk.value(APP)

    assert desk.servers.counts() == {INSTALLATION: {"201": 1}}
    status, may = desk.servers.opened("/github/installation/repositories", token)
    assert (status, len(may["repositories"]), may["permissions"]["contents"]) == (200, 3, "write")


async def test_a_token_is_narrowed_to_what_the_call_asks_for(desk: Desk) -> None:
    desk.installed()
    narrow = Source(Kind.GITHUB_APP, "default", "app", repositories=("site",), permissions=(("contents", "read"),))

    _, may = desk.servers.opened("/github/installation/repositories", await desk.value(narrow))

    assert may == {"repositories": ["site"], "permissions": {"contents": "read"}}


async def test_a_token_of_an_installation_is_kept_for_nearly_an_hour_and_by_what_it_may(desk: Desk) -> None:
    desk.installed()
    narrow = Source(Kind.GITHUB_APP, "default", "app", repositories=("docs",))

    values = [await desk.value(source) for source in (APP, narrow, APP, narrow)]
    desk.turned += timedelta(minutes=58)
    values.append(await desk.value(APP))

    assert values[0] == values[2] == values[4]
    assert values[1] == values[3] != values[0]
    assert desk.servers.counts() == {INSTALLATION: {"201": 2}}


@pytest.mark.parametrize(
    ("changed", "status"),
    (
        ({"app_id": "4712"}, 401),
        ({"installation_id": "78"}, 404),
    ),
)
async def test_what_github_does_not_know_is_told_by_installation_and_status(
    desk: Desk, changed: dict[str, str], status: int
) -> None:
    desk.installed(**changed)

    refused = await desk.refusal(APP)

    assert refused.reason is Reason.CREDENTIAL_UNRESOLVED
    assert f"status {status}" in refused.message
    assert f"installation {changed.get('installation_id', '77')}" in refused.message


async def test_more_than_the_installation_may_is_refused_by_github(desk: Desk) -> None:
    desk.installed()

    refused = await desk.refusal(Source(Kind.GITHUB_APP, "default", "app", repositories=("payroll",)))

    assert "status 422" in refused.message


async def test_a_clock_that_is_ten_minutes_ahead_proves_nothing(desk: Desk) -> None:
    desk.installed()
    desk.turned = timedelta(minutes=10)

    assert "status 401" in (await desk.refusal(APP)).message


async def test_an_answer_that_is_none_is_not_kept(desk: Desk) -> None:
    desk.installed()
    desk.servers.trouble(INSTALLATION, status=201)  # in words, where JSON was asked for

    refused = await desk.refusal(APP)
    await desk.value(APP)

    assert refused.reason is Reason.CREDENTIAL_UNRESOLVED
    assert "nothing usable" in refused.message
    assert desk.servers.counts() == {INSTALLATION: {"201": 2}}
