"""AgentIdentities on a cluster: what they say of their credentials, and the sessions that name them."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.contract.pod import Images
from tests.e2e.audit import Audit
from tests.e2e.operators import Operator
from tests.e2e.team import BUSYBOX, Refused, Team, a_tool, condition, served, until
from tests.integration.pipeline import Object, manifest
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster.resources import AGENT_IDENTITIES, SECRETS
from toolcall_operator.api import times

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

VALUE, NO_KEY = f"value-{uuid.uuid4().hex}", f"no-key-{uuid.uuid4().hex}"
CONSENT = "agentprimitives.authzed.com/credential"
APP = {"app-id": "1", "installation-id": "2", "private-key": NO_KEY}
LOOK_SECONDS = 30
"""How long a Secret may be there before somebody looks."""

TOO_MUCH = {"x" * 32_768 + str(number): "read" for number in range(40)}
"""The API server takes more than what leaves room for a status."""


class Stage:
    """A team with a class, and its operator, which says all it can in its log."""

    def __init__(self, team: Team, operator: Operator, audit: Audit) -> None:
        self.team = team
        self.operator = operator
        self.audit = audit

    def secret(self, name: str, data: Mapping[str, str], *, consents: bool = True, **fields: str) -> None:
        """Make a Secret, whose keeper lets calls use it or does not."""
        labels = {CONSENT: "true"} if consents else {}
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels}, "data": encoded}
        self.team.ask("POST", SECRETS.within(self.team.namespace), {**made, **fields})

    def identity(self, name: str, *credentials: Object) -> None:
        """Make an AgentIdentity."""
        made = manifest("AgentIdentity", name, {"credentials": list(credentials)})
        self.team.ask("POST", AGENT_IDENTITIES.within(self.team.namespace), made)

    def get(self, name: str) -> Object:
        """An AgentIdentity as it is now."""
        found: Object = self.team.ask("GET", AGENT_IDENTITIES.named(name, self.team.namespace))
        return found

    def says(self, name: str, reason: str, seconds: float = 10.0) -> Object:
        """The condition Valid of an AgentIdentity once it has this reason."""
        return until(lambda: condition(self.get(name), "Valid"), lambda valid: valid.get("reason") == reason, seconds)


def static(secret: str, key: str = "token") -> Object:
    return {"name": "forge", "type": "static", "static": {"secretRef": {"name": secret, "key": key}}}


def oauth(secret: str) -> Object:
    return {"name": "mail", "type": "oauth", "oauth": {"secretRef": {"name": secret}}}


def github_app(secret: str, **fields: Any) -> Object:  # noqa: ANN401 (fields of a manifest)
    return {"name": "app", "type": "githubApp", "githubApp": {"secretRef": {"name": secret}, **fields}}


def at(**delay: float) -> str:
    """A moment that far away from now."""
    return times.render(datetime.now(UTC) + timedelta(**delay))


@pytest.fixture(scope="module")
def stage(kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage with some Secrets, and with a session that was made before its agent."""
    folder, audit = tmp_path_factory.mktemp("operator"), Audit.from_now()
    with served(kubectl, images, folder, log_level="debug") as (team, operator):
        made = Stage(team, operator, audit)
        team.a_class("plain", BUSYBOX, a_tool("sh", "sh", "-c"), terminationGracePeriod="500ms")
        made.secret("good", {"token": VALUE})
        made.secret("shut", {"token": VALUE}, consents=False)
        made.secret("empty", {"token": ""})
        made.secret("ended", {"access_token": VALUE, "expires_at": at(hours=-1)})
        made.secret("app", APP)
        made.identity("good", static("good"))
        team.a_session("orphan", "plain", agent="late")
        yield made


# Identities -----------------------------------------------------------------------------------------------------------
def test_a_secret_that_comes_later_is_found_within_half_a_minute(stage: Stage) -> None:
    stage.identity("early", static("later"))
    missing = stage.says("early", "SecretMissing")

    stage.secret("later", {"token": VALUE})
    made = time.monotonic()
    resolved = stage.says("early", "AllReferencesResolve", LOOK_SECONDS + 5)

    assert time.monotonic() - made < LOOK_SECONDS + 2
    assert (missing["status"], resolved["status"]) == ("False", "True")
    assert f"Secret {stage.team.namespace}/later, which is not there" in missing["message"]
    assert "SecretMissing" in until(lambda: stage.team.warnings("early"))


@pytest.mark.parametrize(
    ("name", "credential", "reason", "says"),
    (
        ("keyless", static("good", "other"), "SecretKeyMissing", "has no key other"),
        ("empty", static("empty"), "CredentialEmpty", "key token is empty"),
        ("ended", oauth("ended"), "AgentCredentialExpired", "has no token_endpoint"),
        ("misshapen", github_app("app"), "CredentialShapeMismatch", "key private-key is no RSA key in PEM"),
        ("shut", static("shut"), "CredentialSourceForbidden", CONSENT),
    ),
)
def test_a_credential_that_cannot_be_had_says_why(
    stage: Stage, name: str, credential: Object, reason: str, says: str
) -> None:
    stage.identity(name, static("good"), {**credential, "name": "wrong"})

    valid = stage.says(name, reason)

    assert valid["status"] == "False"
    assert "spec.credentials[1]" in valid["message"]
    assert says in valid["message"]
    assert stage.get(name)["status"]["observedGeneration"] == valid["observedGeneration"] == 1
    assert reason in until(lambda: stage.team.warnings(name))


def test_one_that_nobody_can_read_says_so_until_it_is_mended(stage: Stage) -> None:
    stage.identity("garbled", github_app("app", permissions=TOO_MUCH))
    told = stage.says("garbled", "SpecInvalid")

    address = AGENT_IDENTITIES.named("garbled", stage.team.namespace)
    mended = {"spec": {"credentials": [static("good")]}}
    stage.team.ask("PATCH", address, mended, content="application/merge-patch+json")

    assert told["status"] == "False"
    assert "spec must be at most 1.2 MiB" in told["message"]
    assert stage.says("garbled", "AllReferencesResolve")["observedGeneration"] == 2


def test_a_token_that_ends_is_noticed_when_it_does(stage: Stage) -> None:
    stage.secret("ending", {"access_token": VALUE, "expires_at": at(seconds=4)})
    stage.identity("ending", oauth("ending"))

    stage.says("ending", "AllReferencesResolve", seconds=3)

    stage.says("ending", "AgentCredentialExpired")


# Sessions -------------------------------------------------------------------------------------------------------------
def test_a_session_keeps_the_agent_it_names(stage: Stage) -> None:
    stage.team.a_session("agented", "plain", agent="good")

    session = stage.team.ready("agented")

    assert session["status"]["resolvedAgent"] == "good"
    with pytest.raises(Refused, match=r"spec\.agent cannot change any more"):
        stage.team.change("session", "agented", {"spec": {"agent": "other"}})
    with pytest.raises(Refused, match=r"spec\.agent cannot change any more"):
        stage.team.change("session", "agented", {"spec": {"agent": None}})


def test_a_session_without_an_agent_cannot_be_given_one_later(stage: Stage) -> None:
    stage.team.a_session("agentless", "plain")

    session = stage.team.ready("agentless")

    assert "resolvedAgent" not in session["status"]
    with pytest.raises(Refused, match=r"spec\.agent cannot change any more"):
        stage.team.change("session", "agentless", {"spec": {"agent": "good"}})


def test_an_agent_that_is_missing_is_told_and_when_it_comes_the_session_goes_on(stage: Stage) -> None:
    told = stage.team.shows("session", "orphan", "Failed", status="True", reason="AgentMissing")["message"]
    refused = stage.team.ended(stage.team.a_call("too-early", "orphan", "sh", "true"))
    pod = stage.team.find("pod", "orphan-pod")

    stage.identity("late", static("not-there"))
    session = stage.team.ready("orphan")
    call = stage.team.ended(stage.team.a_call("in-time", "orphan", "sh", "echo in time"))

    assert told == f"there is no AgentIdentity late in namespace {stage.team.namespace}"
    assert refused.end == "Failed/SessionNotActive"
    assert told in refused.message
    assert pod is None
    assert "AgentMissing" in stage.team.warnings("orphan")
    assert session["status"]["resolvedAgent"] == "late"
    assert condition(session, "Failed") == {}
    assert call.output() == b"in time\n"


# All of it ------------------------------------------------------------------------------------------------------------
def test_what_is_known_is_not_written_again(stage: Stage) -> None:
    stage.says("good", "AllReferencesResolve")
    before = stage.get("good")["metadata"]["resourceVersion"]

    stage.operator.terminate()
    stage.operator.start()
    stage.identity("afterwards", static("not-there"))
    stage.says("afterwards", "SecretMissing")

    assert stage.get("good")["metadata"]["resourceVersion"] == before


def test_no_value_shows_anywhere(stage: Stage) -> None:
    shown = stage.team.kubectl("get", "agentidentities,spiceboxsessions,toolcalls,events", "--output=yaml")
    log = stage.operator.log.read_text()

    for value in (VALUE, NO_KEY, *(base64.b64encode(each.encode()).decode() for each in (VALUE, NO_KEY))):
        assert value not in shown
        assert value not in log
        assert stage.audit.about(value) == []
