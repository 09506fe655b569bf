"""Credentials that are made while a call waits, on a cluster, by servers that verify what real ones do."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests import identityproviders
from tests.contract.pod import Images
from tests.e2e import apis
from tests.e2e.audit import Audit
from tests.e2e.operators import Operator
from tests.e2e.team import BUSYBOX, Team, a_tool, served, until
from tests.e2e.test_reach import digest, spellings
from tests.identityproviders import HONEST, IdentityProviders
from tests.integration.pipeline import Ended, Object, manifest
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster.resources import SECRETS, TOOLCALLS
from toolcall_operator.api import times
from toolcall_operator.core.credentials.secrets import CONSENT

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

CALLS = 50
EARLY_SECONDS = 60
"""So long before its end a token is renewed."""

PEM_COLUMNS = 64
"""All lines of a key but the last, which may be as short as a word."""

REFRESH, EXCHANGE = "POST /idp/token refresh_token", "POST /idp/token token-exchange"
REDEMPTION, EVIL_REDEMPTION = "POST /as/token jwt-bearer", "POST /evil/token jwt-bearer"
INSTALLATION = "POST /github/app/installations/77/access_tokens"
SHOWS_IT = ("-c", 'printf %s "$TOKEN" | sha256sum')
"""Proves that a process has the value, without writing it."""


@dataclass
class Stage:
    """A team with a session, an operator that logs all it can, and the servers it may speak to."""

    team: Team
    operator: Operator
    servers: IdentityProviders
    audit: Audit
    known: set[str] = field(default_factory=set, repr=False)

    def a_secret(self, name: str, data: Mapping[str, str]) -> None:
        """Make a Secret that calls may use."""
        metadata = {"name": name, "labels": {CONSENT: "true"}}
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": dict(data)}
        self.team.ask("POST", SECRETS.within(self.team.namespace), made)

    def logged_in(self, name: str, left: float = 600, **data: str) -> dict[str, str]:
        """A Secret with first tokens of the user; by what it says `left` seconds are left. What it holds."""
        kept = {**self.servers.oauth(datetime.now(UTC) + timedelta(seconds=left)), **data}
        self.a_secret(name, kept)
        self.known |= {kept[key] for key in ("access_token", "refresh_token", "client_secret")}
        self.servers.counts()
        return kept

    def holds(self, name: str) -> dict[str, str]:
        """What a Secret holds now."""
        found = self.team.ask("GET", SECRETS.named(name, self.team.namespace))
        return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}

    def credential(self, kind: str, secret: str, **fields: object) -> Object:
        """A reference to it."""
        source = {"type": kind, "namespace": self.team.namespace, "name": secret, **fields}
        return {"inject": {"envVar": "TOKEN"}, "source": source}

    def federated(self, secret: str, path: str = HONEST) -> Object:
        """What the resource at a path is opened with."""
        url = self.servers.at(path)
        return self.credential("federated", secret, resource=url, resourceServerURL=url, scopes=["read"])

    def ended(self, name: str, credential: Object) -> Ended:
        """A call that is given this credential, once it has ended."""
        return self.team.ended(self.team.a_call(name, "here", "sh", *SHOWS_IT, credentials=[credential]))

    def token(self, call: Ended) -> str:
        """The one token of all that the servers gave which the call's process had."""
        assert call.end == "Succeeded/ProcessExited", call.message
        given = {*self.servers.tokens(), *self.known}
        (token,) = (each for each in given if digest(each) == call.output())
        return token

    def everything_told(self) -> dict[str, str]:
        """All that is written down about the team, by where that is."""
        kinds = "toolcalls,spiceboxsessions,pods,events,configmaps,leases"
        return {
            "the audit log": "\n".join(self._audited()),
            "the operator's log": self.operator.log.read_text(),
            "the objects": self.team.kubectl("get", kinds, "--output=yaml"),
            "what calls wrote": "\n".join(
                each.read_text() for each in self.operator.artifacts.rglob("*") if each.is_file()
            ),
        }

    def _audited(self) -> Iterator[str]:
        if not self.audit.log.exists():
            pytest.skip(f"this cluster keeps no audit log at {self.audit.log}")
        with self.audit.log.open("rb") as log:
            log.seek(self.audit.start)
            yield from (line.decode() for line in log if self.team.namespace.encode() in line)


@pytest.fixture(scope="module")
def stage(kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    audit = Audit.from_now()
    with identityproviders.started(tmp_path_factory.mktemp("servers")) as servers:
        outside = {
            "egress_open": servers.origin,
            "egress_ca": str(servers.ca),
            "trusted_issuers": f"{servers.at('/as')},{servers.at('/impostor')}",
        }
        folder = tmp_path_factory.mktemp("credentials")
        with served(kubectl, images, folder, log_level="debug", **outside) as (team, operator):
            team.a_class("plain", BUSYBOX, a_tool("sh", "sh"))
            team.a_session("here", "plain")
            team.ready("here")
            yield Stage(team, operator, servers, audit)


async def created_together(stage: Stage, *names: str, **spec: Any) -> None:  # noqa: ANN401 (fields of a manifest)
    """Make calls, all at the same time."""
    async with apis.opened() as client:
        whole = {"session": "here", "tool": "sh", "args": list(SHOWS_IT), **spec}
        within = TOOLCALLS.within(stage.team.namespace)
        await asyncio.gather(*(client.create(within, manifest("ToolCall", name, whole)) for name in names))


# oauth ----------------------------------------------------------------------------------------------------------------
def test_a_token_that_expired_is_renewed_and_its_secret_holds_the_rotated_pair(stage: Stage) -> None:
    before = stage.logged_in("expired", left=-3600)

    call = stage.ended("expired", stage.credential("oauth", "expired"))

    after = stage.holds("expired")
    assert stage.token(call) == after["access_token"] != before["access_token"]
    assert after["refresh_token"] != before["refresh_token"]
    left = times.parse(after["expires_at"]) - datetime.now(UTC)
    assert timedelta(minutes=9) < left <= timedelta(minutes=10)
    changed = {"access_token", "refresh_token", "expires_at"}
    assert {key for key in before | after if before.get(key) != after.get(key)} == changed
    assert call.status["agent"] == {
        "injected": [{"key": "TOKEN", "masked": f"idp_access_****{after['access_token'][-4:]}"}]
    }
    assert stage.servers.counts() == {REFRESH: {"200": 1}}


def test_the_rotated_pair_serves_the_next_renewal(stage: Stage) -> None:
    stage.logged_in("again", left=0)
    first = stage.token(stage.ended("again-1", stage.credential("oauth", "again")))
    ended = base64.b64encode(times.render(datetime.now(UTC)).encode()).decode()
    address = SECRETS.named("again", stage.team.namespace)
    stage.team.ask("PATCH", address, {"data": {"expires_at": ended}}, content="application/merge-patch+json")

    second = stage.token(stage.ended("again-2", stage.credential("oauth", "again")))

    assert second == stage.holds("again")["access_token"] != first
    assert stage.servers.counts() == {REFRESH: {"200": 2}}


def test_fifty_calls_at_the_instant_of_expiry_cause_one_refresh(stage: Stage) -> None:
    before = stage.logged_in("crowded", left=EARLY_SECONDS + 10)
    instant = time.monotonic() + 10
    early = stage.ended("early", stage.credential("oauth", "crowded"))
    asked_early = stage.servers.counts()
    stage.servers.trouble(REFRESH, seconds=4)  # so that all of them are there before it is through
    names = [f"crowded-{number}" for number in range(CALLS)]

    time.sleep(max(instant - time.monotonic(), 0))
    asyncio.run(created_together(stage, *names, credentials=[stage.credential("oauth", "crowded")]))
    asked_when_made = stage.servers.counts()
    tokens = {stage.token(stage.team.ended(name)) for name in names}

    assert (stage.token(early), asked_early) == (before["access_token"], {})
    assert asked_when_made == {}
    assert tokens == {stage.holds("crowded")["access_token"]} != {before["access_token"]}
    assert stage.servers.counts() == {REFRESH: {"200": 1}}


def test_an_operator_that_is_told_to_end_keeps_what_it_is_granted(stage: Stage) -> None:
    before = stage.logged_in("parting", left=0)
    stage.servers.trouble(REFRESH, seconds=2)
    call = stage.team.a_call("parting", "here", "sh", *SHOWS_IT, credentials=[stage.credential("oauth", "parting")])
    until(stage.servers.waiting, lambda waiting: waiting.get(REFRESH) == 1)

    stage.operator.terminate()
    kept = stage.holds("parting")
    stage.operator.start()

    assert kept["refresh_token"] != before["refresh_token"]
    assert stage.token(stage.team.ended(call)) == kept["access_token"]
    assert stage.servers.counts() == {REFRESH: {"200": 1}}


def test_a_refresh_token_that_is_no_good_ends_the_call_before_it_starts(stage: Stage) -> None:
    before = stage.logged_in("spent", left=0, refresh_token="idp_refresh_that_was_used")

    call = stage.ended("spent", stage.credential("oauth", "spent"))

    assert (call.end, call.refused()) == ("Failed/AgentCredentialExpired", True)
    assert f"{stage.team.namespace}/spent" in call.message
    assert stage.holds("spent") == before
    assert stage.servers.counts() == {REFRESH: {"400": 1}}


# federated ------------------------------------------------------------------------------------------------------------
def test_the_token_that_a_process_has_opens_what_another_server_guards(stage: Stage) -> None:
    stage.logged_in("identity")

    call = stage.ended("federated", stage.federated("identity"))

    token, counted = stage.token(call), stage.servers.counts()
    assert stage.servers.opened(HONEST, token) == (
        200,
        {
            "user": "alice",
            "client": stage.servers.client_id,
            "resource": stage.servers.at(HONEST),
            "scopes": ["read"],
        },
    )
    assert (counted[EXCHANGE], counted[REDEMPTION]) == ({"200": 1}, {"200": 1})
    assert call.status["agent"] == {"injected": [{"key": "TOKEN", "masked": f"as_access_****{token[-4:]}"}]}


@pytest.mark.parametrize("path", ("/api/another", "/api/untrusted", "/api/impostor"))
def test_a_resource_that_lies_is_given_nothing_and_nothing_runs(stage: Stage, path: str) -> None:
    name = path.rsplit("/", 1)[-1]
    stage.logged_in(name)

    call = stage.ended(name, stage.federated(name, path))

    assert (call.end, call.refused()) == ("Failed/AgentCredentialUnresolved", True)
    assert not {EXCHANGE, REDEMPTION, EVIL_REDEMPTION} & set(stage.servers.counts())


# githubApp ------------------------------------------------------------------------------------------------------------
def test_the_token_of_an_app_may_what_its_call_asks_for_and_no_more(stage: Stage) -> None:
    stage.a_secret("app", stage.servers.github_app())
    narrowed: dict[str, object] = {"repositories": ["site"], "permissions": {"contents": "read"}}
    stage.servers.counts()

    call = stage.ended("app", stage.credential("githubApp", "app", **narrowed))

    assert stage.servers.counts() == {INSTALLATION: {"201": 1}}
    assert stage.servers.opened("/github/installation/repositories", stage.token(call)) == (200, narrowed)


# All of them ----------------------------------------------------------------------------------------------------------
def test_no_token_assertion_or_secret_of_a_client_shows_where_anything_is_written_down(stage: Stage) -> None:
    stage.logged_in("told", left=0)
    stage.a_secret("told-app", stage.servers.github_app())
    for name, credential in (
        ("told-oauth", stage.credential("oauth", "told")),
        ("told-federated", stage.federated("told")),
        ("told-app", stage.credential("githubApp", "told-app")),
    ):
        stage.token(stage.ended(name, credential))
    key = {line for line in stage.servers.app_key.splitlines() if len(line) == PEM_COLUMNS}
    hidden = {*stage.known, *stage.servers.tokens(), *key}
    prefixes = {"idp_access_", "idp_refresh_", "as_access_", "ghs_", "eyJ"}

    told = stage.everything_told()

    assert all(told.values())
    assert {prefix for prefix in prefixes if any(each.startswith(prefix) for each in hidden)} == prefixes
    for where, text in told.items():
        assert not [value for value in hidden if any(each in text for each in spellings(value))], where
