"""Which Secrets the calls of a session may use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.fakes.secrets import owned_by_session
from tests.unit.core.credentials.examples import MARK, REQUESTER, secret
from toolcall_operator.api.base import OwnerReference
from toolcall_operator.core.credentials import usable
from toolcall_operator.core.credentials.references import Kind, Reference, Source
from toolcall_operator.core.credentials.secrets import CONSENT, SecretObject
from toolcall_operator.core.reasons import Reason

PATH = "spec.credentials[0]"
REFERENCE = Reference(PATH, Source(Kind.STATIC, "default", "github", "token"), env_var="GH_TOKEN")
NEVER = {
    "kubernetes.io/service-account-token": "a token of a service account",
    "bootstrap.kubernetes.io/token": "a token by which nodes join",
    "helm.sh/release.v1": "a release of Helm",
    "helm.sh/": "whatever else Helm keeps",
}


@dataclass(frozen=True)
class Rules:
    """Implements `usable.Rules`."""

    consent_required: bool = True
    judged_since: datetime | None = None


def words(found: SecretObject, *, consent_required: bool = True) -> str:
    """What speaks against it; empty if nothing does. No value shows."""
    objection = usable.objection(found, REFERENCE, REQUESTER, Rules(consent_required))
    if objection is None:
        return ""
    assert (objection.reason, objection.path) == (Reason.CREDENTIAL_SOURCE_FORBIDDEN, PATH)
    assert MARK not in repr(objection)
    assert len(objection.message) <= 1024
    return objection.message


def owner(**fields: str) -> tuple[OwnerReference, ...]:
    """An owner that differs in these fields from the session that asks."""
    (session,) = owned_by_session("work", "uid-of-work")
    return (session.model_copy(update=fields),)


def test_a_secret_of_the_calls_namespace_whose_keeper_consents_may_be_used() -> None:
    assert words(secret()) == ""


def test_a_secret_of_another_namespace_may_not() -> None:
    found = words(secret(namespace="elsewhere"))

    assert found == f"{PATH}: Secret elsewhere/github is in another namespace than the call"


# Consent --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "labels",
    (
        pytest.param({}, id="no label"),
        pytest.param({CONSENT: "false"}, id="the label says no"),
        pytest.param({CONSENT: "True"}, id="the label is spelled in another way"),
        pytest.param({CONSENT: ""}, id="the label is empty"),
        pytest.param({"credential": "true"}, id="the label is of nobody's group"),
    ),
)
def test_without_the_consent_of_its_keeper_a_secret_may_be_used_only_where_admission_judges(
    labels: dict[str, str],
) -> None:
    unlabelled = secret(labels=labels)

    label = f'the label {CONSENT}: "true", by which its keeper lets calls use it'
    assert words(unlabelled) == f"{PATH}: Secret default/github does not carry {label}"
    assert words(unlabelled, consent_required=False) == ""
    assert not usable.consents(unlabelled)


def test_a_keeper_consents_by_a_label() -> None:
    assert usable.consents(secret(labels={CONSENT: "true", "other": "label"}))


# Whatever anybody consents to -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", NEVER, ids=NEVER.values())
def test_secrets_of_some_types_are_used_by_no_call_whoever_consents(kind: str) -> None:
    found = secret(type=kind)

    assert words(found) == f"{PATH}: Secret default/github is of type {kind}, which no call may use"
    assert words(found, consent_required=False) == words(found)
    assert usable.never(found) in words(found)


@pytest.mark.parametrize("kind", ("Opaque", "", "kubernetes.io/basic-auth", "kubernetes.io/tls", "example.com/helm.sh"))
def test_secrets_of_other_types_may_be_used(kind: str) -> None:
    assert words(secret(type=kind)) == usable.never(secret(type=kind)) == ""


def test_a_type_of_any_length_makes_no_long_message() -> None:
    assert len(words(secret(type="helm.sh/" + "x" * 5000, name="n" * 253))) < 600


@pytest.mark.parametrize("namespace", ("default", "toolcall-operator"))
def test_the_operators_own_secret_is_used_by_no_call_wherever_it_is(namespace: str) -> None:
    own = secret(namespace=namespace, name="toolcall-operator-key")

    assert usable.never(own) == f"Secret {namespace}/toolcall-operator-key is the operator's own"
    assert words(own, consent_required=False) != ""


# For one session only -------------------------------------------------------------------------------------------------
def test_the_secret_that_is_passed_through_to_a_session_is_for_its_calls() -> None:
    assert words(secret(name="work-passthrough-creds")) == ""


@pytest.mark.parametrize("name", ("other-passthrough-creds", "more-work-passthrough-creds", "x-passthrough-creds"))
def test_the_secret_that_is_passed_through_to_another_session_is_not(name: str) -> None:
    found = words(secret(name=name), consent_required=False)

    assert found == f"{PATH}: Secret default/{name} is for the calls of another session only"


def test_a_name_that_only_resembles_such_a_secret_is_anybodys() -> None:
    assert words(secret(name="other-passthrough-creds-2")) == ""


OWNERS: dict[str, tuple[tuple[OwnerReference, ...], bool]] = {
    "its session": (owner(), True),
    "its session, by another version of the API": (owner(api_version="agentprimitives.authzed.com/v1"), True),
    "something else": (owner(kind="Deployment", name="x", uid="y"), True),
    "a session of another group": (owner(api_version="example.com/v1", name="other", uid="y"), True),
    "a session of the core group": (owner(api_version="v1", name="other", uid="y"), True),
    "another session": (owner(name="other", uid="uid-of-other"), False),
    "a session of the same name that was before": (owner(uid="uid-of-a-former-one"), False),
    "a session of another name with its UID": (owner(name="other"), False),
    "another session besides its own": (owner() + owner(name="other", uid="uid-of-other"), False),
    "another session, by another version of the API": (
        owner(api_version="agentprimitives.authzed.com/v1", name="other"),
        False,
    ),
}


@pytest.mark.parametrize(("owners", "allowed"), OWNERS.values(), ids=OWNERS.keys())
def test_a_secret_that_belongs_to_another_session_may_not_be_used(
    owners: tuple[OwnerReference, ...], *, allowed: bool
) -> None:
    found = words(secret(owners=owners), consent_required=False)

    assert found == ("" if allowed else f"{PATH}: Secret default/github belongs to another session")


@pytest.mark.parametrize(
    "fields",
    ({"data": {}}, {"data": {"token": b"\xff"}}, {"immutable": True}, {"uid": "other", "resource_version": "9"}),
    ids=("nothing", "what is no text", "for good", "anew"),
)
def test_what_a_secret_holds_decides_nothing(fields: dict[str, Any]) -> None:
    assert words(secret(**fields)) == ""


@pytest.mark.parametrize(
    ("asked_at", "refused"), ((-1, True), (None, True), (1, False)), ids=("before", "nobody knows", "after")
)
def test_who_asked_before_the_policies_judged_needs_the_label(asked_at: int | None, *, refused: bool) -> None:
    since = datetime(2026, 3, 1, tzinfo=UTC)
    at = since + timedelta(seconds=asked_at) if asked_at is not None else None
    requester = replace(REQUESTER, asked_at=at)

    found = usable.objection(secret(labels={}), REFERENCE, requester, Rules(consent_required=False, judged_since=since))

    assert (found is not None) is refused
