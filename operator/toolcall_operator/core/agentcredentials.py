"""One credential of an AgentIdentity, held against the Secrets it is kept in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from toolcall_operator.api.agentidentity import AgentCredential
from toolcall_operator.core.credentials import layouts, usable
from toolcall_operator.core.credentials.layouts import GitHubApp, OAuthToken, RefreshMaterial
from toolcall_operator.core.credentials.secrets import CONSENT, PASSTHROUGH, REFRESH_MATERIAL, SecretObject
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason

_SIBLING = "-refresh"
_GITHUB_APP_KEYS = ("app-id", "private-key", "installation-id")
# What the textual encoding of a private key looks like: https://www.rfc-editor.org/rfc/rfc7468#section-2
_PRIVATE_KEY = re.compile(r"-----BEGIN ((?:RSA )?PRIVATE KEY)-----\s[\sA-Za-z0-9+/=]+-----END \1-----")


class IdentityReason(StrEnum):
    """Why an AgentIdentity is valid, or is not."""

    ALL_REFERENCES_RESOLVE = "AllReferencesResolve"
    SPEC_INVALID = "SpecInvalid"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 (the name of a reason)
    SECRET_KEY_MISSING = "SecretKeyMissing"  # noqa: S105 (likewise)
    SECRET_UNREADABLE = "SecretUnreadable"  # noqa: S105 (likewise)
    CREDENTIAL_EMPTY = "CredentialEmpty"
    CREDENTIAL_EXPIRED = "AgentCredentialExpired"
    CREDENTIAL_SHAPE_MISMATCH = "CredentialShapeMismatch"
    CREDENTIAL_SOURCE_FORBIDDEN = "CredentialSourceForbidden"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that nobody knows, as a Secret cannot be read; the message says why."""

    message: str


Found = SecretObject | Unreadable | None
"""What came of reading a Secret; None: it is not there."""


@dataclass(frozen=True, slots=True)
class Objection:
    """What speaks against a credential."""

    reason: IdentityReason
    message: str


@dataclass(frozen=True, slots=True)
class Good:
    """A credential that can be had; `until`: when that has to be found out anew, because a token ends."""

    until: datetime | None = None


Outcome = Good | Objection | Unreadable


@dataclass(frozen=True, slots=True)
class Holdings:
    """The Secrets of a namespace by name, as they are now, and whether their label has to say that they may be used."""

    namespace: str
    secrets: Mapping[str, Found]
    now: datetime
    consent_required: bool


def secret_of(credential: AgentCredential) -> str:
    """The name of the Secret that a credential is kept in."""
    for block in (credential.static, credential.oauth, credential.github_app):
        if block:
            return block.secret_ref.name
    raise LookupError("a credential has the block of its type")  # its model sees to that


def sibling_of(credential: AgentCredential) -> str:
    """The name of the Secret that what renews a token may be kept in; empty if there is nothing to renew."""
    return secret_of(credential) + _SIBLING if credential.oauth else ""


def examined(path: str, credential: AgentCredential, holdings: Holdings) -> Outcome:
    """Whether a credential, which stands at `path`, can be had."""
    secret = holdings.secrets.get(secret_of(credential))
    if isinstance(secret, Unreadable):
        return secret
    if secret is None:
        words = f"{path} names Secret {holdings.namespace}/{secret_of(credential)}, which is not there"
        return Objection(IdentityReason.SECRET_MISSING, words)
    objection = next(_objections(credential, secret, consent_required=holdings.consent_required), None)
    outcome = objection or _in_time(credential, secret, holdings)
    if isinstance(outcome, Objection):
        return Objection(outcome.reason, f"{path}: {outcome.message}")
    return outcome


def _objections(credential: AgentCredential, secret: SecretObject, *, consent_required: bool) -> Iterator[Objection]:
    """What speaks against a Secret at whatever time it is."""
    if words := usable.never(secret):
        yield Objection(IdentityReason.CREDENTIAL_SOURCE_FORBIDDEN, words)
    if secret.name.endswith(PASSTHROUGH):
        words = f"{_name(secret)} is for the calls of one session only"
        yield Objection(IdentityReason.CREDENTIAL_SOURCE_FORBIDDEN, words)
    if consent_required and not usable.consents(secret):
        yield _without_consent(secret, "by which its keeper lets calls use it")
    for key in _keys(credential):
        if key not in secret.data:
            yield Objection(IdentityReason.SECRET_KEY_MISSING, f"{_name(secret)} has no key {key}")
        elif not secret.data[key].rstrip(b"\r\n"):
            yield Objection(IdentityReason.CREDENTIAL_EMPTY, f"{_name(secret)} key {key} is empty")
    if words := _misshapen(credential, secret):
        yield Objection(IdentityReason.CREDENTIAL_SHAPE_MISMATCH, words)


def _keys(credential: AgentCredential) -> tuple[str, ...]:
    """The keys that a Secret must have."""
    if credential.static:
        return (credential.static.secret_ref.key,)
    return ("access_token",) if credential.oauth else _GITHUB_APP_KEYS


def _misshapen(credential: AgentCredential, secret: SecretObject) -> str:
    """In which way what a Secret holds cannot be used; empty if it can."""
    if credential.static:
        found: object = layouts.static(secret, credential.static.secret_ref.key)
    elif credential.oauth:
        found = layouts.oauth(secret)
    else:
        found = _github_app(secret)
    return found.message if isinstance(found, Refused) else ""


def _github_app(secret: SecretObject) -> GitHubApp | Refused:
    """What a Secret holds of a GitHub App, if its key looks like one."""
    app = layouts.github_app(secret)
    if isinstance(app, GitHubApp) and _PRIVATE_KEY.search(app.private_key.reveal()) is None:
        return Refused(Reason.CREDENTIAL_INVALID, f"{_name(secret)} key private-key is no RSA key in PEM")
    return app


# Time -----------------------------------------------------------------------------------------------------------------
def _in_time(credential: AgentCredential, secret: SecretObject, holdings: Holdings) -> Outcome:
    """Whether the token of a Secret, if it is one that ends, still counts, or can be renewed."""
    token = layouts.oauth(secret) if credential.oauth else None
    if not isinstance(token, OAuthToken) or token.expires_at is None:
        return Good()
    if holdings.now < token.expires_at:
        return Good(token.expires_at)
    sibling = holdings.secrets.get(sibling_of(credential))
    if isinstance(sibling, Unreadable):
        return sibling
    return next(_against_renewal(secret, sibling), Good())


def _against_renewal(secret: SecretObject, sibling: SecretObject | None) -> Iterator[Objection]:
    """What keeps an access token from being renewed with what its Secret holds, or the sibling of that."""
    own = layouts.refresh_material(secret)
    whole = isinstance(own, RefreshMaterial) and own.whole
    holder = sibling if sibling and REFRESH_MATERIAL in sibling.labels and not whole else secret
    material = layouts.refresh_material(holder)
    if words := usable.never(holder):
        yield Objection(IdentityReason.CREDENTIAL_SOURCE_FORBIDDEN, words)
    elif isinstance(material, Refused):
        yield Objection(IdentityReason.CREDENTIAL_SHAPE_MISMATCH, material.message)
    elif isinstance(own, Refused):
        yield Objection(IdentityReason.CREDENTIAL_SHAPE_MISMATCH, own.message)
    else:
        keeper = holder if material.refresh_token else secret
        yield from _missing(secret, holder, material, own)
        yield from _unwritable(secret, {secret.name: secret, keeper.name: keeper}.values())


def _missing(
    secret: SecretObject, holder: SecretObject, material: RefreshMaterial, own: RefreshMaterial
) -> Iterator[Objection]:
    """What a renewal lacks: the refresh token may be in either Secret, all else is in one of them."""
    if not material.token_endpoint:
        words = f"{_expired(secret)}, and {_name(holder)} has no token_endpoint to renew it at"
        yield Objection(IdentityReason.CREDENTIAL_EXPIRED, words)
    if not (material.refresh_token or own.refresh_token):
        words = f"{_expired(secret)}, and there is no refresh_token to renew it with"
        yield Objection(IdentityReason.CREDENTIAL_EXPIRED, words)


def _unwritable(secret: SecretObject, keepers: Iterable[SecretObject]) -> Iterator[Objection]:
    """Why what comes of a renewal cannot be kept."""
    for keeper in keepers:
        if not usable.consents(keeper):
            yield _without_consent(keeper, f"without which nothing is written to it, and {_expired(secret)}")
        if keeper.immutable:
            words = f"{_expired(secret)}, and {_name(keeper)}, where another would be kept, is immutable"
            yield Objection(IdentityReason.CREDENTIAL_EXPIRED, words)


def _expired(secret: SecretObject) -> str:
    return f"the access token of {_name(secret)} has expired"


def _without_consent(secret: SecretObject, words: str) -> Objection:
    message = f'{_name(secret)} does not carry the label {CONSENT}: "true", {words}'
    return Objection(IdentityReason.CREDENTIAL_SOURCE_FORBIDDEN, message)


def _name(secret: SecretObject) -> str:
    return f"Secret {secret.namespace}/{secret.name}"
