"""What an operator gives to calls of people who may not read Secrets: what a label or a policy opens, and no more."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets as chance
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.contract.pod import Images
from tests.e2e import locks, outside
from tests.e2e.audit import Audit
from tests.e2e.locks import AGENT, OWN, VICTIM, Person, a_block, a_call, a_named, a_session, a_source, an_identity
from tests.e2e.operators import Operator
from tests.e2e.outside import Outside
from tests.e2e.team import BUSYBOX, Team, a_tool, served
from tests.integration.pipeline import TOOLCALL, Ended, Object
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster import admission, operatorkey
from toolcall_operator.api.base import API_VERSION
from toolcall_operator.core.credentials.secrets import CONSENT, PASSTHROUGH

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

RBAC = locks.POLICIES.parent / "rbac.yaml"
ACCOUNT = "toolcall-operator"
SHOWS_IT = 'printf %s "$TOKEN_0" | sha256sum'
"""Proves that a process has the value, without writing it."""

FORBIDDEN = "Failed/CredentialSourceForbidden"
RAN = "Succeeded/ProcessExited"


@dataclass
class Stage:
    """A team with an operator, Secrets of every kind that nobody has consented to, and what is outside."""

    team: Team
    operator: Operator
    outside: Outside
    audit: Audit
    elsewhere: str
    known: list[str] = field(default_factory=list)

    @property
    def space(self) -> str:
        """Its namespace."""
        return self.team.namespace

    def a_value(self) -> str:
        """A value that looks like a token."""
        self.known.append(f"ghp_{chance.token_hex(16)}")
        return self.known[-1]

    def keep(self, name: str, data: Mapping[str, str] | None = None, **fields: object) -> None:
        """Have a Secret; without `data`, of one key with a value."""
        metadata = {"name": name, "namespace": self.space}
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **fields}
        anywhere = replace(self.team.kubectl, namespace="")
        anywhere.apply({**made, "stringData": data or {"token": self.a_value()}})

    def label(self, name: str, namespace: str = "") -> None:
        """Consent to the use of a Secret."""
        keeper = replace(self.team.kubectl, namespace=namespace or self.space)
        keeper("label", "secret", name, f"{CONSENT}=true", "--overwrite")

    def ended(self, person: Person, credential: Object, session: str = OWN) -> Ended:
        """What becomes of a call that somebody makes to have a credential."""
        call = a_call(credential, session=session, args=["-c", SHOWS_IT])
        person.makes(call)
        return self.team.ended(call["metadata"]["name"])

    def digests(self) -> list[bytes]:
        """What a process writes that has one of the values."""
        values = [*self.known, *self.outside.given]
        return [f"{hashlib.sha256(value.encode()).hexdigest()}  -\n".encode() for value in values]

    def everything_told(self) -> Iterator[str]:
        """All that is written down about the team."""
        kinds = "toolcalls,spiceboxsessions,agentidentities,pods,events,configmaps,networkpolicies,leases"
        yield self.team.kubectl("get", kinds, "--output=yaml")
        yield self.operator.log.read_text()
        if not self.audit.log.exists():
            pytest.skip(f"this cluster keeps no audit log at {self.audit.log}")
        with self.audit.log.open("rb") as log:
            log.seek(self.audit.start)
            yield from (line.decode() for line in log if self.space.encode() in line)


def filled(stage: Stage) -> None:
    """Have a Secret of every kind."""
    for name in ("key", "by-identity", "theirs", "mine", f"{OWN}{PASSTHROUGH}", f"{VICTIM}{PASSTHROUGH}"):
        stage.keep(name)
    stage.keep("any", metadata={"name": "any", "namespace": stage.elsewhere})
    stage.keep("sh.helm.release.v1.app.v1", type="helm.sh/release.v1")
    ends = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    stage.keep("oauth", {"access_token": stage.a_value(), "expires_at": ends})
    expired = {"access_token": stage.a_value(), "expires_at": "2000-01-01T00:00:00Z", "refresh_token": stage.a_value()}
    stage.keep("expired", {**expired, "token_endpoint": stage.outside.renewal, "client_id": "we"})
    stage.keep("idp", {"access_token": stage.a_value(), "token_endpoint": stage.outside.exchange, "client_id": "we"})
    app = {"app-id": "1", "installation-id": "7", "private-key": pem(), "base-url": stage.outside.origin}
    stage.keep("app", app)
    account = {"name": "account", "annotations": {"kubernetes.io/service-account.name": "default"}}
    kind = "kubernetes.io/service-account-token"
    stage.team.kubectl.apply({"apiVersion": "v1", "kind": "Secret", "metadata": account, "type": kind})
    victim = stage.team.get("session", VICTIM)["metadata"]["uid"]
    owner = {"apiVersion": API_VERSION, "kind": "SpiceboxSession", "name": VICTIM, "uid": victim}
    stage.keep("owned", metadata={"name": "owned", "namespace": stage.space, "ownerReferences": [owner]})


def forbidden(stage: Stage) -> list[str]:
    """What the operator was not allowed to do."""
    asked = stage.audit.about(f"system:serviceaccount:{stage.space}:{ACCOUNT}")
    return [f"{each.verb} {each.resource} {each.name}" for each in asked if each.status in {401, 403}]


def shown(stage: Stage) -> list[str]:
    """The values that can be read somewhere, as they are or in base64."""
    told, values = "\n".join(stage.everything_told()), [*stage.known, *stage.outside.given]
    return [value for value in values if value in told or base64.b64encode(value.encode()).decode() in told]


def pem() -> str:
    """A key of a GitHub App."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


@contextmanager
def accounted(kubectl: Kubectl, folder: Path) -> Iterator[str]:
    """A kubeconfig of an account that has the rights of the example, and no others."""
    anywhere, text = replace(kubectl, namespace=""), RBAC.read_text().replace("NAMESPACE", kubectl.namespace)
    anywhere("apply", "--filename=-", stdin=text)
    try:
        token = kubectl("create", "token", ACCOUNT, "--duration=1h").strip()
        whole = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
        users = [{**each, "user": {"token": token}} for each in whole["users"]]
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump({**whole, "users": users}))
        yield str(path)
    finally:
        anywhere("delete", "--ignore-not-found", "--wait=false", "--filename=-", stdin=text)


@contextmanager
def staged(
    kubectl: Kubectl, images: Images, folder: Path, **settings: str
) -> Iterator[tuple[Stage, Mapping[str, Person]]]:
    """A stage, and the people who come to it."""
    audit, people, elsewhere = Audit.from_now(), locks.people(kubectl), f"{kubectl.namespace}-{chance.token_hex(2)}"
    kubectl("create", "namespace", elsewhere)
    try:
        with outside.served(folder) as server, accounted(kubectl, folder) as kubeconfig:
            opened = {"egress_open": server.origin, "egress_ca": str(server.ca), "trusted_issuers": server.origin}
            usual = {"kubeconfig": kubeconfig, "log_level": "debug", **opened}
            with served(kubectl, images, folder, **usual, **settings) as (team, operator):
                team.a_class("plain", BUSYBOX, a_tool("sh", "sh"))
                team.kubectl.apply(an_identity(a_block("by-identity"), name=AGENT))
                team.a_session(OWN, "plain", agent=AGENT)
                team.a_session(VICTIM, "plain")
                stage = Stage(team, operator, server, audit, elsewhere)
                filled(stage)
                yield stage, people
    finally:
        kubectl("delete", "namespace", elsewhere, "--wait=false")
        kubectl("delete", "secrets,agentidentities", "--all")


OPENED: Mapping[str, tuple[str, Callable[[Stage], Object]]] = {
    "a key": ("key", lambda stage: a_source("key", stage.space)),
    "an access token": ("oauth", lambda stage: a_source("oauth", stage.space, "oauth")),
    "an access token that has expired": ("expired", lambda stage: a_source("expired", stage.space, "oauth")),
    "a GitHub App": ("app", lambda stage: a_source("app", stage.space, "githubApp")),
    "an identity that is exchanged": (
        "idp",
        lambda stage: a_source(
            "idp",
            stage.space,
            "federated",
            resource=stage.outside.resource,
            resourceServerURL=stage.outside.resource,
        ),
    ),
    "the identity of its session": ("by-identity", lambda _: a_named(AGENT)),
    "what is for its session": (f"{OWN}{PASSTHROUGH}", lambda stage: a_source(f"{OWN}{PASSTHROUGH}", stage.space)),
}
"""What a call may be given with consent, by the Secret that it is made of."""

NEVER: Mapping[str, tuple[str, str]] = {
    "what Helm keeps": ("sh.helm.release.v1.app.v1", "of type helm.sh/release.v1"),
    "the token of an account": ("account", "of type kubernetes.io/service-account-token"),
    "the operator's key": (operatorkey.NAME, "is the operator's own"),
    "what is for another session": (f"{VICTIM}{PASSTHROUGH}", "for the calls of another session only"),
    "what belongs to another session": ("owned", "belongs to another session"),
}
"""Secrets that no call is given, whoever consents, and why."""


@pytest.fixture(scope="class")
def labelled(
    kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Stage, Person]]:
    """A stage whose operator goes by labels, and Bob."""
    if admission.NAMES[0] in kubectl("get", "validatingadmissionpolicies", "--output=name"):
        pytest.skip("this cluster has the policies: nobody without a right gets as far as the operator")
    with staged(kubectl, images, tmp_path_factory.mktemp("label")) as (stage, people):
        yield stage, people[locks.BOB]


@pytest.fixture(scope="class")
def relying(
    kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Stage, Mapping[str, Person]]]:
    """A stage whose operator relies on the policies, and everybody."""
    folder = tmp_path_factory.mktemp("admission")
    people = locks.people(kubectl)
    with locks.locked(people[locks.BOB]), staged(kubectl, images, folder, credential_consent="admission") as staging:
        yield staging


class TestLabel:
    """Where no policy is relied on: whoever keeps a Secret consents to its use, or calls do not get it."""

    @pytest.mark.parametrize("way", OPENED)
    def test_without_the_label_a_call_does_not_get_it_and_with_the_label_it_runs(
        self, labelled: tuple[Stage, Person], way: str
    ) -> None:
        stage, bob = labelled
        name, credential = OPENED[way]

        before = stage.ended(bob, credential(stage))
        stage.label(name)
        after = stage.ended(bob, credential(stage))

        assert (before.end, before.refused()) == (FORBIDDEN, True)
        assert f"Secret {stage.space}/{name}" in before.message
        assert CONSENT in before.message
        assert after.end == RAN, after.message
        assert after.output() in stage.digests()

    def test_a_session_of_one_s_own_gets_an_identity_no_further(self, labelled: tuple[Stage, Person]) -> None:
        stage, bob = labelled
        stage.team.kubectl.apply(an_identity(a_block("theirs"), name="others"))
        bob.makes(a_session("others", "mine", stage.team.class_name("plain")))

        before = stage.ended(bob, a_named("others"), "mine")
        stage.label("theirs")
        after = stage.ended(bob, a_named("others"), "mine")

        assert (before.end, after.end) == (FORBIDDEN, RAN)

    def test_an_identity_of_another_session_is_not_to_be_had(self, labelled: tuple[Stage, Person]) -> None:
        stage, bob = labelled
        stage.label("by-identity")

        assert stage.ended(bob, a_named(AGENT), VICTIM).end == FORBIDDEN

    @pytest.mark.parametrize("way", NEVER)
    def test_what_no_call_may_have_it_does_not_get_with_the_label_either(
        self, labelled: tuple[Stage, Person], way: str
    ) -> None:
        stage, bob = labelled
        name, says = NEVER[way]
        before = stage.ended(bob, a_source(name, stage.space))

        stage.label(name)
        after = stage.ended(bob, a_source(name, stage.space))

        assert [(each.end, each.refused()) for each in (before, after)] == [(FORBIDDEN, True)] * 2
        assert says in after.message

    def test_another_namespace_is_out_of_reach_whatever_its_secrets_say(self, labelled: tuple[Stage, Person]) -> None:
        stage, bob = labelled
        stage.label("any", stage.elsewhere)

        call = stage.ended(bob, a_source("any", stage.elsewhere))

        assert (call.end, call.refused()) == (FORBIDDEN, True)
        assert "spec.credentials[0].source.namespace" in call.message

    def test_no_value_shows_where_anything_is_written_down(self, labelled: tuple[Stage, Person]) -> None:
        stage, bob = labelled
        stage.label("key")
        stage.ended(bob, a_source("key", stage.space))

        assert shown(stage) == []

    def test_the_rights_of_the_example_are_enough(self, labelled: tuple[Stage, Person]) -> None:
        stage, bob = labelled
        stage.label("key")

        assert stage.ended(bob, a_source("key", stage.space)).end == RAN
        assert forbidden(stage) == []


class TestAdmission:
    """Where the policies are relied on: no label is needed by those whom they let pass."""

    def test_who_may_read_a_secret_needs_no_label(self, relying: tuple[Stage, Mapping[str, Person]]) -> None:
        stage, people = relying

        call = stage.ended(people[locks.ALICE], a_source("mine", stage.space))

        assert (call.end, call.output() in stage.digests()) == (RAN, True)

    def test_who_may_use_an_identity_need_not_read_its_secrets(
        self, relying: tuple[Stage, Mapping[str, Person]]
    ) -> None:
        stage, people = relying
        people[locks.CAROL].makes(an_identity(a_block("theirs"), name="hers"))
        people[locks.ALICE].makes(a_session("hers", "hers", stage.team.class_name("plain")))

        call = stage.ended(people[locks.ALICE], a_named("hers"), "hers")

        assert (call.end, call.output() in stage.digests()) == (RAN, True)

    def test_who_may_neither_does_not_get_as_far_as_the_operator(
        self, relying: tuple[Stage, Mapping[str, Person]]
    ) -> None:
        stage, people = relying

        done = people[locks.BOB].tries("create", a_call(a_source("key", stage.space)))

        assert "must have the right to get it" in done.stderr

    @pytest.mark.parametrize("way", ("what Helm keeps", "the token of an account", "the operator's key"))
    def test_what_no_call_may_have_is_not_given_to_those_who_may_read_it(
        self, relying: tuple[Stage, Mapping[str, Person]], way: str
    ) -> None:
        stage, people = relying
        name, says = NEVER[way]

        call = stage.ended(people[locks.CAROL], a_source(name, stage.space))

        assert (call.end, call.refused()) == (FORBIDDEN, True)
        assert says in call.message

    def test_no_value_shows_where_anything_is_written_down(self, relying: tuple[Stage, Mapping[str, Person]]) -> None:
        stage, people = relying
        stage.ended(people[locks.ALICE], a_source("mine", stage.space))

        assert shown(stage) == []

    def test_the_rights_of_the_example_are_enough(self, relying: tuple[Stage, Mapping[str, Person]]) -> None:
        stage, people = relying

        assert stage.ended(people[locks.ALICE], a_source("mine", stage.space)).end == RAN
        assert forbidden(stage) == []


def test_an_operator_that_is_to_rely_on_policies_does_not_start_without_them(kubectl: Kubectl) -> None:
    if admission.NAMES[0] in kubectl("get", "validatingadmissionpolicies", "--output=name"):
        pytest.skip("this cluster has the policies")
    where = {"TOOLCALL_NAMESPACES": kubectl.namespace, "TOOLCALL_OPERATOR_NAMESPACE": kubectl.namespace}

    done = subprocess.run(
        [str(TOOLCALL), "operator", "--credential-consent", "admission"],
        env=os.environ | where,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert done.returncode == 2, done.stderr
    told = " ".join(done.stderr.split())
    assert f"there is no ValidatingAdmissionPolicy {admission.NAMES[0]}" in told
    assert f"apply {admission.FILE}" in told
