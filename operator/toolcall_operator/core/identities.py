"""What the status of an AgentIdentity says: whether all its credentials can be had, as its Secrets are now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from toolcall_operator.api.agentidentity import AgentIdentity, AgentIdentityStatus
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core import agentcredentials, conditions
from toolcall_operator.core.agentcredentials import Found, Good, Holdings, IdentityReason, Objection, Unreadable
from toolcall_operator.core.conditions import Look

_ALL_RESOLVE = "every Secret and key is there, and may be used"


class IdentityCondition(StrEnum):
    """What conditions tell of an AgentIdentity."""

    VALID = "Valid"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether an AgentIdentity is valid, and why; None is that nobody knows, as its Secrets cannot be read.

    `until`: when that may change by itself, because a token ends.
    """

    valid: bool | None
    reason: IdentityReason
    message: str
    until: datetime | None = None


def named_by(session: SpiceboxSession) -> str:
    """The name of the AgentIdentity whose credentials a session's calls may use; empty if there is none."""
    return (session.status.resolved_agent if session.status else None) or session.spec.agent or ""


def secrets_of(identity: AgentIdentity) -> tuple[str, ...]:
    """The names of the Secrets that decide about an identity, those first without which nothing can be had."""
    credentials = identity.spec.credentials
    names = (*map(agentcredentials.secret_of, credentials), *map(agentcredentials.sibling_of, credentials))
    return tuple(dict.fromkeys(filter(None, names)))


def judged(
    identity: AgentIdentity, secrets: Mapping[str, Found], now: datetime, *, consent_required: bool
) -> Judgement:
    """What an identity is worth with its Secrets, by name, as they are.

    What is known to be wrong counts before what is not known.
    """
    holdings = Holdings(identity.metadata.namespace, secrets, now, consent_required)
    found = [
        agentcredentials.examined(f"spec.credentials[{index}]", credential, holdings)
        for index, credential in enumerate(identity.spec.credentials)
    ]
    wrong = [each for each in found if isinstance(each, Objection)]
    unknown = [each for each in found if isinstance(each, Unreadable)]
    ends = [each.until for each in found if isinstance(each, Good) and each.until]
    if wrong:
        return Judgement(False, wrong[0].reason, "; ".join(each.message for each in wrong), min(ends, default=None))
    if unknown:
        return Judgement(None, IdentityReason.SECRET_UNREADABLE, unknown[0].message)
    return Judgement(True, IdentityReason.ALL_REFERENCES_RESOLVE, _ALL_RESOLVE, min(ends, default=None))


def unread(why: str) -> Judgement:
    """An identity that cannot be read."""
    return Judgement(False, IdentityReason.SPEC_INVALID, why)


def status(identity: AgentIdentity, judgement: Judgement, now: datetime) -> AgentIdentityStatus:
    """The status of an identity that was judged so; the same one if nothing is new."""
    before = identity.status or AgentIdentityStatus()
    look = Look(identity.metadata.generation, now)
    found = look.condition(IdentityCondition.VALID, judgement.reason, judgement.message, holds=judgement.valid is True)
    if judgement.valid is None:
        found = found.model_copy(update={"status": "Unknown"})
    kept = conditions.set_condition(before.conditions, found)
    return before.model_copy(update={"conditions": kept, "observed_generation": look.generation})
