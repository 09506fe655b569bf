"""What an AgentIdentity is worth with the Secrets it names, in every state of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.fakes.secrets import FakeSecrets, owned_by_session
from tests.unit.core.examples import NOW, session
from toolcall_operator.api import times
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.spiceboxsession import SpiceboxSessionStatus
from toolcall_operator.core import identities
from toolcall_operator.core.agentcredentials import Found, IdentityReason, Unreadable
from toolcall_operator.core.credentials.secrets import CONSENT, REFRESH_MATERIAL
from toolcall_operator.core.identities import Judgement

VALUE = "hunter2-hunter2"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{'hunter2' * 8}\n-----END RSA PRIVATE KEY-----\n"
STATIC = {"name": "forge", "type": "static", "static": {"secretRef": {"name": "forge", "key": "token"}}}
OAUTH = {"name": "mail", "type": "oauth", "oauth": {"secretRef": {"name": "mail"}}}
APP = {"name": "app", "type": "githubApp", "githubApp": {"secretRef": {"name": "app"}}}

EARLIER, LATER = times.render(NOW - timedelta(seconds=1)), times.render(NOW + timedelta(minutes=2))
ENDED = {"access_token": VALUE, "expires_at": EARLIER}
MATERIAL = {"token_endpoint": "https://idp.example/token", "refresh_token": VALUE}
KEYED = {"app-id": "1", "installation-id": "2", "private-key": PEM}
CONSENTED, MARKED = {CONSENT: "true"}, {CONSENT: "true", REFRESH_MATERIAL: "true"}


def identity(*credentials: Mapping[str, Any], generation: int = 3) -> AgentIdentity:
    """The AgentIdentity `bot` with these credentials."""
    about = {"name": "bot", "namespace": "agents", "uid": "uid-of-bot", "generation": generation}
    return AgentIdentity.model_validate({"metadata": about, "spec": {"credentials": credentials}})


def kept(name: str, data: Mapping[str, str | bytes], **fields: Any) -> Mapping[str, Found]:  # noqa: ANN401 (fields of a Secret)
    """A Secret that consents to its use, unless its fields say otherwise."""
    return {name: FakeSecrets().put(f"agents/{name}", data, **{"labels": CONSENTED, **fields})}


def judged(
    credentials: Iterable[Mapping[str, Any]],
    *secrets: Mapping[str, Found],
    now: datetime = NOW,
    consent_required: bool = True,
) -> Judgement:
    """What an identity with these credentials is worth, with these Secrets; no secret shows in that."""
    found = {name: secret for each in secrets for name, secret in each.items()}
    judgement = identities.judged(identity(*credentials), found, now, consent_required=consent_required)
    assert "hunter2" not in repr(judgement)
    assert len(judgement.message) > 0
    return judgement


FORGE = kept("forge", {"token": VALUE})

VALID: tuple[tuple[str, Mapping[str, Any], tuple[Mapping[str, Found], ...]], ...] = (
    ("a static value", STATIC, (FORGE,)),
    ("one with a line feed at its end", STATIC, (kept("forge", {"token": f"{VALUE}\n"}),)),
    ("beside other keys, whatever they are", STATIC, (kept("forge", {"token": VALUE, "other": b"\xff\0"}),)),
    ("a Secret of another type", STATIC, (kept("forge", {"token": VALUE}, type="kubernetes.io/basic-auth"),)),
    ("a Secret of some session", STATIC, (kept("forge", {"token": VALUE}, owners=owned_by_session("work", "1")),)),
    ("a token without an end", OAUTH, (kept("mail", {"access_token": VALUE}),)),
    ("a token whose end is left empty", OAUTH, (kept("mail", {"access_token": VALUE, "expires_at": ""}),)),
    ("a token that ends later", OAUTH, (kept("mail", {"access_token": VALUE, "expires_at": LATER}),)),
    ("an ended token with what renews it", OAUTH, (kept("mail", {**ENDED, **MATERIAL}),)),
    ("with that in its sibling", OAUTH, (kept("mail", ENDED), kept("mail-refresh", MATERIAL, labels=MARKED))),
    (
        "with the refresh token beside it, and the rest in its sibling, which is only read",
        OAUTH,
        (
            kept("mail", {**ENDED, "refresh_token": VALUE}),
            kept("mail-refresh", {"token_endpoint": "https://idp.example/token"}, labels={REFRESH_MATERIAL: ""}),
        ),
    ),
    ("a token that has not ended, although its sibling cannot be read", OAUTH, (
        kept("mail", {"access_token": VALUE}), {"mail-refresh": Unreadable("away")},
    )),
    ("an installation of an App", APP, (kept("app", KEYED),)),
    ("with another form of its key", APP, (kept("app", {**KEYED, "private-key": PEM.replace("RSA ", "")}),)),
)  # fmt: skip


@pytest.mark.parametrize(("credential", "secrets"), [row[1:] for row in VALID], ids=[row[0] for row in VALID])
def test_a_credential_that_can_be_had_resolves(
    credential: Mapping[str, Any], secrets: tuple[Mapping[str, Found], ...]
) -> None:
    judgement = judged([credential], *secrets)

    assert (judgement.valid, judgement.reason) == (True, "AllReferencesResolve")


INVALID: tuple[tuple[str, Mapping[str, Any], tuple[Mapping[str, Found], ...], str, str], ...] = (
    ("the Secret is not there", STATIC, ({"forge": None},), "SecretMissing",
     "spec.credentials[0] names Secret agents/forge, which is not there"),
    ("it lacks the key", STATIC, (kept("forge", {"other": VALUE}),), "SecretKeyMissing",
     "spec.credentials[0]: Secret agents/forge has no key token"),
    ("it lacks the access token", OAUTH, (kept("mail", {"expires_at": LATER}),), "SecretKeyMissing",
     "has no key access_token"),
    *(
        (f"it lacks {key}", APP, (kept("app", {name: text for name, text in KEYED.items() if name != key}),),
         "SecretKeyMissing", f"Secret agents/app has no key {key}")
        for key in KEYED
    ),
    ("the value is empty", STATIC, (kept("forge", {"token": ""}),), "CredentialEmpty",
     "spec.credentials[0]: Secret agents/forge key token is empty"),
    ("the value is a line feed", STATIC, (kept("forge", {"token": "\r\n"}),), "CredentialEmpty", "key token is empty"),
    ("the access token is empty", OAUTH, (kept("mail", {"access_token": ""}),), "CredentialEmpty", "key access_token"),
    ("the installation is empty", APP, (kept("app", {**KEYED, "installation-id": ""}),), "CredentialEmpty",
     "key installation-id is empty"),
    ("the value is no text", STATIC, (kept("forge", {"token": b"hunter2\xff"}),), "CredentialShapeMismatch",
     "key token is not UTF-8 text"),
    ("the value has two lines", STATIC, (kept("forge", {"token": "hunter2\nhunter2"}),), "CredentialShapeMismatch",
     "key token has control characters"),
    ("the value is too long", STATIC, (kept("forge", {"token": "x" * 65_537}),), "CredentialShapeMismatch",
     "may have 65536"),
    ("the end is no time", OAUTH, (kept("mail", {"access_token": VALUE, "expires_at": "hunter2"}),),
     "CredentialShapeMismatch", "key expires_at is no time"),
    ("the end names no offset", OAUTH, (kept("mail", {"access_token": VALUE, "expires_at": "2026-03-01T12:00:00"}),),
     "CredentialShapeMismatch", "key expires_at"),
    ("the key is no key", APP, (kept("app", {**KEYED, "private-key": "hunter2"}),), "CredentialShapeMismatch",
     "key private-key is no RSA key in PEM"),
    ("the key has no end", APP, (kept("app", {**KEYED, "private-key": PEM.partition("-----END")[0]}),),
     "CredentialShapeMismatch", "key private-key"),
    ("the key is no text", APP, (kept("app", {**KEYED, "private-key": b"hunter2\xff"}),), "CredentialShapeMismatch",
     "key private-key"),
    ("nobody consented", STATIC, (kept("forge", {"token": VALUE}, labels={}),), "CredentialSourceForbidden",
     f"Secret agents/forge does not carry the label {CONSENT}"),
    ("somebody did not consent", STATIC, (kept("forge", {"token": VALUE}, labels={CONSENT: "false"}),),
     "CredentialSourceForbidden", "does not carry the label"),
    ("it is a token of the cluster", STATIC,
     (kept("forge", {"token": VALUE}, type="kubernetes.io/service-account-token"),),
     "CredentialSourceForbidden", "which no call may use"),
    ("it is a release", STATIC, (kept("forge", {"token": VALUE}, type="helm.sh/release.v1"),),
     "CredentialSourceForbidden", "helm.sh/release.v1"),
    ("the token has ended", OAUTH, (kept("mail", ENDED),), "AgentCredentialExpired",
     ("spec.credentials[0]: the access token of Secret agents/mail has expired, and Secret agents/mail has no "
      "token_endpoint to renew it at")),
    ("it can be renewed nowhere", OAUTH, (kept("mail", {**ENDED, "refresh_token": VALUE}),), "AgentCredentialExpired",
     "has no token_endpoint"),
    ("it can be renewed with nothing", OAUTH, (kept("mail", {**ENDED, "token_endpoint": "https://idp.example"}),),
     "AgentCredentialExpired", "there is no refresh_token"),
    ("the sibling is not marked as one", OAUTH, (kept("mail", ENDED), kept("mail-refresh", MATERIAL)),
     "AgentCredentialExpired", "Secret agents/mail has no token_endpoint"),
    ("the sibling holds another place than the Secret", OAUTH,
     (kept("mail", {**ENDED, "token_endpoint": MATERIAL["token_endpoint"]}),
      kept("mail-refresh", {"refresh_token": VALUE}, labels=MARKED)),
     "AgentCredentialExpired", "Secret agents/mail-refresh has no token_endpoint"),
    ("what renews it is no text", OAUTH, (kept("mail", {**ENDED, **MATERIAL, "client_id": b"hunter2\xff"}),),
     "CredentialShapeMismatch", "key client_id"),
    ("the same in the Secret, with the rest in its sibling", OAUTH,
     (kept("mail", {**ENDED, "refresh_token": b"hunter2\xff"}), kept("mail-refresh", MATERIAL, labels=MARKED)),
     "CredentialShapeMismatch", "Secret agents/mail key refresh_token"),
    ("the sibling is of no use to calls", OAUTH,
     (kept("mail", ENDED), kept("mail-refresh", MATERIAL, labels=MARKED, type="helm.sh/release.v1")),
     "CredentialSourceForbidden", "Secret agents/mail-refresh is of type"),
    ("the sibling that would be written to does not consent", OAUTH,
     (kept("mail", ENDED), kept("mail-refresh", MATERIAL, labels={REFRESH_MATERIAL: ""})),
     "CredentialSourceForbidden", "Secret agents/mail-refresh does not carry the label"),
    ("the Secret cannot be written to", OAUTH, (kept("mail", {**ENDED, **MATERIAL}, immutable=True),),
     "AgentCredentialExpired", "Secret agents/mail, where another would be kept, is immutable"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("credential", "secrets", "reason", "words"), [row[1:] for row in INVALID], ids=[row[0] for row in INVALID]
)
def test_one_that_cannot_be_had_says_why_and_where(
    credential: Mapping[str, Any], secrets: tuple[Mapping[str, Found], ...], reason: str, words: str
) -> None:
    judgement = judged([credential], *secrets)

    assert (judgement.valid, judgement.reason) == (False, reason)
    assert words in judgement.message
    assert judgement.message.startswith("spec.credentials[0]")


def test_every_reason_there_is_can_be_had() -> None:
    produced = {row[3] for row in INVALID} | {"AllReferencesResolve", "SecretUnreadable", "SpecInvalid"}

    assert produced == set(IdentityReason)


def test_an_identity_without_credentials_is_valid() -> None:
    assert judged([]).valid is True


def test_all_that_is_wrong_is_told_and_the_first_is_the_reason() -> None:
    judgement = judged([OAUTH, STATIC, APP], {"mail": None}, FORGE, {"app": None})

    assert judgement.reason == "SecretMissing"
    assert judgement.message == (
        "spec.credentials[0] names Secret agents/mail, which is not there; "
        "spec.credentials[2] names Secret agents/app, which is not there"
    )


def test_where_a_policy_watches_over_secrets_no_label_is_needed_but_for_writing() -> None:
    unmarked = kept("forge", {"token": VALUE}, labels={})
    ended = kept("mail", {**ENDED, **MATERIAL}, labels={})

    assert judged([STATIC], unmarked, consent_required=False).valid is True
    judgement = judged([OAUTH], ended, consent_required=False)
    assert judgement.reason == "CredentialSourceForbidden"
    assert "without which nothing is written to it" in judgement.message


def test_what_nobody_knows_is_neither_valid_nor_not() -> None:
    away = {"forge": Unreadable("Secret agents/forge cannot be read: away")}

    judgement = judged([STATIC, APP], away, kept("app", KEYED))

    assert (judgement.valid, judgement.reason, judgement.message) == (None, "SecretUnreadable", away["forge"].message)


def test_what_is_known_to_be_wrong_counts_before_that() -> None:
    assert judged([STATIC, APP], {"forge": Unreadable("away")}, {"app": None}).reason == "SecretMissing"


def test_of_a_token_that_has_ended_nobody_knows_whether_it_can_be_renewed_if_its_sibling_cannot_be_read() -> None:
    judgement = judged([OAUTH], kept("mail", {**ENDED, **MATERIAL}), {"mail-refresh": Unreadable("away")})

    assert judgement.valid is None


def test_a_token_ends_at_its_very_end_and_the_first_that_does_tells_when_to_look_again() -> None:
    ends = NOW + timedelta(minutes=2)
    other = {"name": "post", "type": "oauth", "oauth": {"secretRef": {"name": "post"}}}
    secrets = kept("mail", {"access_token": VALUE, "expires_at": LATER}), kept("post", {"access_token": VALUE})
    much_later = kept("post", {"access_token": VALUE, "expires_at": times.render(NOW + timedelta(hours=2))})

    assert judged([OAUTH, other], *secrets).until == ends
    assert judged([OAUTH, other], secrets[0], much_later).until == ends
    assert judged([OAUTH], secrets[0], now=ends).reason == "AgentCredentialExpired"
    assert judged([STATIC], FORGE).until is None


# Names ----------------------------------------------------------------------------------------------------------------
def test_the_secrets_of_an_identity_are_named_once_and_those_that_may_be_missing_last() -> None:
    again = {**STATIC, "name": "again"}

    assert identities.secrets_of(identity(OAUTH, STATIC, APP, again)) == ("mail", "forge", "app", "mail-refresh")


def test_the_agent_of_a_session_is_the_one_it_was_bound_to_or_else_the_one_it_names() -> None:
    bound = session(agent="bot").model_copy(update={"status": SpiceboxSessionStatus(resolved_agent="kept")})

    assert [identities.named_by(each) for each in (session(), session(agent="bot"), bound)] == ["", "bot", "kept"]


# Status ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("valid", "status"), ((True, "True"), (False, "False"), (None, "Unknown")))
def test_the_status_tells_the_verdict_and_of_which_generation(*, valid: bool | None, status: str) -> None:
    told = identities.status(identity(), Judgement(valid, IdentityReason.SECRET_MISSING, "it is not there"), NOW)

    (condition,) = told.conditions
    assert (condition.type, condition.status, condition.reason, condition.message) == (
        *("Valid", status, "SecretMissing", "it is not there"),
    )
    assert (told.observed_generation, condition.observed_generation, condition.last_transition_time) == (3, 3, NOW)


def test_the_same_verdict_later_is_the_same_status() -> None:
    verdict = judged([STATIC], {"forge": None})
    first = identities.status(identity(STATIC), verdict, NOW)
    shown = identity(STATIC).model_copy(update={"status": first})

    assert identities.status(shown, verdict, NOW + timedelta(minutes=5)) == first


def test_a_message_without_end_is_cut_before_it_is_kept() -> None:
    credentials = [{**STATIC, "name": f"c{number}"} for number in range(64)]

    told = identities.status(identity(), judged(credentials, {"forge": None}), NOW)

    assert len(told.conditions[0].message) <= 1024


def test_one_that_cannot_be_read_is_told_so() -> None:
    verdict = identities.unread("spec.credentials[0].type is required")

    assert (verdict.valid, verdict.reason) == (False, "SpecInvalid")
