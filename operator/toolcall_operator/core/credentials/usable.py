"""Whether a call may use a Secret; nothing of what it holds decides."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Protocol

from toolcall_operator.api.base import GROUP, OwnerReference
from toolcall_operator.core.credentials.references import Reference, Requester
from toolcall_operator.core.credentials.secrets import CONSENT, PASSTHROUGH, SecretObject
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason

OPERATOR_SECRET = "toolcall-operator-key"  # noqa: S105 (its name)
"""The key of all channels; whoever has it commands every sandbox."""

_NEVER = ("kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token")
_NEVER_OF = "helm.sh/"
_TYPE_SHOWN = 64  # a type may have any length


class Rules(Protocol):
    """What an operator holds calls to."""

    @property
    def consent_required(self) -> bool:
        """Whether a Secret must carry the label; otherwise an admission policy has judged whoever named it."""
        ...

    @property
    def judged_since(self) -> datetime | None:
        """Since when the policy judges; whoever named a Secret before was not. None: there is no policy."""
        ...


def objection(secret: SecretObject, reference: Reference, requester: Requester, rules: Rules) -> Refused | None:
    """Why a call of this session may not use the Secret; None if it may."""
    since, asked_at = rules.judged_since, requester.asked_at
    unjudged = since is not None and (asked_at is None or asked_at < since)
    words = next(_objections(secret, requester, consent_required=rules.consent_required or unjudged), None)
    return Refused(Reason.CREDENTIAL_SOURCE_FORBIDDEN, f"{reference.path}: {words}", reference.path) if words else None


def never(secret: SecretObject) -> str:
    """Why no call may use a Secret, whoever asks and whoever consents; empty if one may."""
    name = f"Secret {secret.namespace}/{secret.name}"
    if secret.name == OPERATOR_SECRET:
        return f"{name} is the operator's own"
    if secret.type in _NEVER or secret.type.startswith(_NEVER_OF):
        return f"{name} is of type {secret.type[:_TYPE_SHOWN]}, which no call may use"
    return ""


def consents(secret: SecretObject) -> bool:
    """Whether whoever keeps a Secret lets calls use it."""
    return secret.labels.get(CONSENT) == "true"


def _objections(secret: SecretObject, requester: Requester, *, consent_required: bool) -> Iterator[str]:
    name = f"Secret {secret.namespace}/{secret.name}"
    if secret.namespace != requester.namespace:
        yield f"{name} is in another namespace than the call"
    if words := never(secret):
        yield words
    if secret.name.endswith(PASSTHROUGH) and secret.name != requester.session + PASSTHROUGH:
        yield f"{name} is for the calls of another session only"
    if any(_is_session(owner) and not _is(owner, requester) for owner in secret.owners):
        yield f"{name} belongs to another session"
    if consent_required and not consents(secret):
        yield f'{name} does not carry the label {CONSENT}: "true", by which its keeper lets calls use it'


def _is_session(owner: OwnerReference) -> bool:
    return owner.kind == "SpiceboxSession" and owner.api_version.split("/")[0] == GROUP


def _is(owner: OwnerReference, requester: Requester) -> bool:
    return (owner.name, owner.uid) == (requester.session, requester.session_uid)
