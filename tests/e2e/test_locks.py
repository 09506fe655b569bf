"""The policies that are shipped, tried on an API server by people who may make calls and may not read Secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.e2e import apis, locks
from tests.e2e.locks import (
    AGENT,
    OWN,
    POLICIES,
    VICTIM,
    Person,
    a_block,
    a_call,
    a_named,
    a_session,
    a_source,
    an_identity,
)
from tests.e2e.team import until
from tests.integration.pipeline import Object
from tests.kubectl import Kubectl
from toolcall_operator import errors
from toolcall_operator.adapters.cluster import admission
from toolcall_operator.adapters.cluster.admission import MOST_NAMED
from toolcall_operator.core.credentials.secrets import PASSTHROUGH

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds", "policies")]

SPACE = "NAMESPACE"
"""Stands for the namespace of the tests."""

AUDIT = json.dumps({"spec": {"validationActions": ["Audit"]}})
FEDERATED = {"resource": "https://example.com/mcp", "resourceServerURL": "https://example.com/mcp"}
IN_SOURCE, IN_IDENTITY, IN_AGENT = "spec.credentials[0].source.name", "spec.credentials[].identity.name", "spec.agent"
THEIRS, ITS_OWN = f"{VICTIM}{PASSTHROUGH}", f"{OWN}{PASSTHROUGH}"
WAYS: Mapping[str, tuple[Object, str]] = {
    "a key": (a_call(a_source("locked", SPACE)), IN_SOURCE),
    "an access token": (a_call(a_source("locked", SPACE, "oauth")), IN_SOURCE),
    "an identity that is exchanged": (a_call(a_source("locked", SPACE, "federated", **FEDERATED)), IN_SOURCE),
    "a GitHub App": (a_call(a_source("locked", SPACE, "githubApp")), IN_SOURCE),
    "what Helm keeps": (a_call(a_source("sh.helm.release.v1.app.v1", SPACE)), IN_SOURCE),
    "the token of an account": (a_call(a_source("account", SPACE)), IN_SOURCE),
    "the operator's key": (a_call(a_source("toolcall-operator-key", SPACE)), IN_SOURCE),
    "what is for another session": (a_call(a_source(THEIRS, SPACE)), "spec.credentials[].source.name"),
    "what is for its session": (a_call(a_source(ITS_OWN, SPACE)), IN_SOURCE),
    "a Secret that is not there": (a_call(a_source("nowhere", SPACE)), IN_SOURCE),
    "another namespace": (a_call(a_source("any", "kube-system")), "spec.credentials[].source.namespace"),
    "one of two": (a_call(a_named("any"), a_source("locked", SPACE)), "spec.credentials[1].source.name"),
    "an identity": (a_call(a_named(AGENT)), IN_IDENTITY),
    "an identity in its session": (a_call(a_named(AGENT), session=VICTIM), IN_IDENTITY),
    "a session with an identity": (a_session(AGENT), IN_AGENT),
    "an identity with a key": (an_identity(a_block("locked")), "spec.credentials[0]"),
    "an identity with an access token": (an_identity(a_block("locked", "oauth")), "spec.credentials[0]"),
    "an identity with a GitHub App": (an_identity(a_block("locked", "githubApp")), "spec.credentials[0]"),
    "an identity with what is for a session": (an_identity(a_block(THEIRS)), "spec.credentials[0]"),
}
"""What is created by whoever is after a Secret, and the field of which the refusal tells."""


@pytest.fixture(scope="module")
def people(kubectl: Kubectl) -> Mapping[str, Person]:
    return locks.people(kubectl)


@pytest.fixture(scope="module")
def bob(people: Mapping[str, Person]) -> Person:
    return people[locks.BOB]


@pytest.fixture(scope="module")
def alice(people: Mapping[str, Person]) -> Person:
    return people[locks.ALICE]


@pytest.fixture(scope="module")
def carol(people: Mapping[str, Person]) -> Person:
    return people[locks.CAROL]


@pytest.fixture(scope="module")
def policies(bob: Person) -> Iterator[None]:
    """The policies hold."""
    with locks.locked(bob):
        yield


def here(tried: Object, namespace: str) -> Any:  # noqa: ANN401 (an object again)
    """The object, for this namespace."""
    return json.loads(json.dumps(tried).replace(SPACE, namespace))


@pytest.mark.parametrize("way", WAYS)
def test_who_may_not_read_a_secret_cannot_name_it(bob: Person, way: str) -> None:
    tried, field = WAYS[way]

    done = bob.tries("create", here(tried, bob.kubectl.namespace))

    assert done.returncode != 0
    assert "(Forbidden)" in done.stderr
    assert f"denied request: {field}" in done.stderr
    assert bob.kubectl.attempt("get", tried["kind"], tried["metadata"]["name"]).returncode != 0


def test_it_makes_no_difference_how_one_tries(bob: Person) -> None:
    def tried() -> Object:
        return a_call(a_source("locked", bob.kubectl.namespace))

    generated = tried()
    generated["metadata"] = {"generateName": "call-"}

    attempts = [
        bob.tries("apply", tried()),
        bob.tries("apply", tried(), flags=["--server-side"]),
        bob.tries("create", tried(), flags=["--dry-run=server"]),
        bob.tries("create", generated),
    ]

    assert [each.stderr for each in attempts if "must have the right to get it" not in each.stderr] == []


def test_an_identity_cannot_be_changed_to_name_what_one_may_not_read(bob: Person, alice: Person) -> None:
    alice.makes(an_identity(a_block("mine"), name="changed"), an_identity(name="empty"))
    other = {"spec": {"credentials": [a_block("locked")]}}

    attempts = [
        bob.patches("agentidentity/changed", other),
        bob.patches("agentidentity/changed", {"spec": {"description": "of Bob"}}),
        bob.patches("agentidentity/empty", other),
        alice.patches("agentidentity/changed", other),
        bob.tries("apply", an_identity(a_block("locked"), name="empty"), flags=["--server-side"]),
        bob.tries("replace", an_identity(a_block("locked"), name="empty")),
    ]

    assert [each.stderr for each in attempts if "must have the right to get it" not in each.stderr] == []


def test_a_call_that_is_there_cannot_be_given_another_credential(bob: Person) -> None:
    bob.makes(a_call(name="there"))
    [given] = a_call(a_source("locked", bob.kubectl.namespace))["spec"]["credentials"]

    assert "credentials cannot be changed" in bob.patches("toolcall/there", {"spec": {"credentials": [given]}}).stderr


def test_a_session_cannot_be_given_an_identity_that_one_may_not_use(bob: Person) -> None:
    bob.makes(a_session(name="without"))

    attempts = [
        bob.patches("spiceboxsession/without", {"spec": {"agent": AGENT}}),
        bob.tries("apply", a_session(AGENT, "without"), flags=["--server-side", "--force-conflicts"]),
    ]

    assert [each.stderr for each in attempts if "must have the right to use it" not in each.stderr] == []


def test_who_may_read_a_secret_or_use_an_identity_can_name_it(alice: Person) -> None:
    space = alice.kubectl.namespace

    alice.makes(
        an_identity(a_block("mine"), a_block("mine", "oauth", "other"), name="hers"),
        a_session("hers"),
        a_call(a_source("mine", space), a_source("mine", space, "githubApp"), a_named("hers")),
    )

    assert alice.patches("agentidentity/hers", {"spec": {"description": "of Alice"}}).returncode == 0


def test_who_may_read_every_secret_can_name_those_of_the_session_and_no_other_s(carol: Person) -> None:
    space = carol.kubectl.namespace
    carol.makes(a_call(a_source(f"{OWN}{PASSTHROUGH}", space)))

    others = carol.tries("create", a_call(a_source(f"{VICTIM}{PASSTHROUGH}", space)))
    elsewhere = carol.tries("create", a_call(a_source("bootstrap", "kube-system")))

    assert f"that of its own session alone, {OWN}{PASSTHROUGH}" in others.stderr
    assert f"a call uses Secrets of its own namespace alone, {space}" in elsewhere.stderr


def test_one_call_has_one_identity(carol: Person) -> None:
    two = carol.tries("create", a_call(a_named("hers"), a_named("his")))

    assert "a call uses one AgentIdentity, that of its session" in two.stderr


def test_what_needs_no_credential_is_not_asked_about(bob: Person, alice: Person) -> None:
    alice.makes(an_identity(a_block("mine"), name="labelled"), a_session("hers", "used"))

    bob.makes(a_call(name="plain"), a_session(), an_identity())

    for part in ({"metadata": {"labels": {"a": "b"}}}, {"metadata": {"finalizers": ["example.com/a"]}}):
        for what in ("agentidentity/labelled", "spiceboxsession/used"):
            assert bob.patches(what, part).returncode == 0
            assert bob.patches(what, {"metadata": {"finalizers": None}}).returncode == 0
    assert bob.patches("toolcall/plain", {"spec": {"cancel": True}}).returncode == 0
    assert bob.patches("spiceboxsession/used", {"spec": {"idleTTL": "5m"}}).returncode == 0


def test_as_many_secrets_as_the_api_server_can_be_asked_about_can_be_named(alice: Person) -> None:
    many = [f"many-{number}" for number in range(MOST_NAMED)]

    alice.makes(
        a_call(*(a_source(name, alice.kubectl.namespace) for name in many), a_named("hers")),
        an_identity(*(a_block(name, name=name) for name in many)),
    )


def test_of_many_secrets_the_last_one_counts(alice: Person) -> None:
    names = [*(f"many-{number}" for number in range(MOST_NAMED - 1)), "locked"]

    call = alice.tries("create", a_call(*(a_source(name, alice.kubectl.namespace) for name in names)))
    identity = alice.tries("create", an_identity(*(a_block(name, name=name) for name in names)))

    for done in (call, identity):
        assert f"spec.credentials[{MOST_NAMED - 1}]" in done.stderr
        assert f"whoever names Secret {alice.kubectl.namespace}/locked must have the right" in done.stderr


def test_more_can_be_named_by_those_alone_who_may_read_all(alice: Person, carol: Person) -> None:
    space, told = alice.kubectl.namespace, f"whoever names more than {MOST_NAMED} Secrets must have the right"
    call = a_call(*(a_source("mine", space) for _ in range(32)))
    identity = an_identity(*(a_block("mine", name=f"name-{number}") for number in range(64)))

    assert told in alice.tries("create", call).stderr
    assert told in alice.tries("create", identity).stderr
    carol.makes(call, identity)


async def test_an_operator_relies_on_them_as_they_are_shipped_alone(cluster: Kubectl) -> None:
    name = admission.NAMES[0]
    async with apis.opened() as client:
        await admission.require(client)
        cluster("patch", "validatingadmissionpolicybinding", name, "--type=merge", f"--patch={AUDIT}")
        try:
            with pytest.raises(errors.Rejected, match=rf"Binding {name} has another validationActions; apply"):
                await admission.require(client)
        finally:
            cluster("apply", f"--filename={POLICIES}")
        await admission.require(client)


def test_the_api_server_knows_every_field_that_they_name(cluster: Kubectl) -> None:
    def judged() -> list[Object]:
        return [cluster.get("validatingadmissionpolicy", name).get("status") for name in admission.NAMES]

    assert [each["typeChecking"] for each in until(judged, all)] == [{}] * len(admission.NAMES)
