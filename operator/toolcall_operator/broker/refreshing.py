"""Redeems refresh tokens: what a token endpoint grants for one, and what of that belongs into which Secret."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from toolcall_operator.api import times
from toolcall_operator.broker import tokenendpoint
from toolcall_operator.broker.cache import Cache
from toolcall_operator.broker.flights import Flights
from toolcall_operator.broker.reading import Reading
from toolcall_operator.broker.tokenendpoint import Grant, Trouble
from toolcall_operator.broker.writeback import Writing
from toolcall_operator.core.credentials import layouts, usable
from toolcall_operator.core.credentials.layouts import RefreshMaterial
from toolcall_operator.core.credentials.secrets import CONSENT, REFRESH_MATERIAL, SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Clock, Egress

MEMORY = timedelta(seconds=10)
"""So long a grant is remembered for others that hold the same refresh token, which may be good for one use only."""

_SIBLING = "-refresh"


@dataclass(frozen=True, slots=True)
class Means:
    """What an access token is renewed with: `keeper` holds the refresh token, `holder` all the rest."""

    refresh_token: Hidden
    keeper: SecretObject
    material: RefreshMaterial
    holder: SecretObject


@dataclass(frozen=True, slots=True)
class Redeemed:
    """What was granted, and when its access token ends, if anybody knows."""

    grant: Grant
    expires_at: datetime | None


class Refreshing:
    """Redeems refresh tokens, each once for all who hold it at the same time."""

    def __init__(self, egress: Egress, reading: Reading, now: Clock) -> None:
        self._egress = egress
        self._reading = reading
        self._now = now
        self._flights: Flights[str, Redeemed | Trouble] = Flights()
        self._remembered: Cache[str, Redeemed] = Cache()

    async def redeemed(self, secret: SecretObject) -> tuple[Writing, ...] | Refused:
        """What the refresh token of a Secret was redeemed for: it is to be written now, in this order.

        Nothing is redeemed that nobody could write.

        Raises:
            Unavailable: nobody knows what it is redeemed with.
        """
        means = await self._means(secret)
        if isinstance(means, Refused):
            return means
        if objection := _unwritable(secret) or _unwritable(means.keeper):
            return objection
        redeemed = await self._redeem(means)
        if isinstance(redeemed, Trouble):
            reason = Reason.CREDENTIAL_EXPIRED if redeemed.final else Reason.CREDENTIAL_UNRESOLVED
            return Refused(reason, f"{_expired(secret)}, and {redeemed.message}")
        return _writings(secret, means, redeemed)

    async def _means(self, secret: SecretObject) -> Means | Refused:
        """What is in the Secret itself, if it is all there, else in its sibling; the refresh token may be in either.

        The rest is never put together of both, and nobody's sibling counts beside a Secret that needs none: whoever may
        make one could have what is in the Secret sent to an endpoint of his own.
        """
        alone = layouts.refresh_material(secret)
        if isinstance(alone, RefreshMaterial) and alone.whole:
            return _complete(secret, secret, alone, alone)
        sibling = await self._reading.optional(secret.namespace, secret.name + _SIBLING)
        if isinstance(sibling, Refused):
            return sibling
        holder = sibling if sibling and REFRESH_MATERIAL in sibling.labels else secret
        if words := usable.never(holder):
            return Refused(Reason.CREDENTIAL_SOURCE_FORBIDDEN, words)
        material = layouts.refresh_material(holder)
        own = material if holder is secret else layouts.refresh_material(secret)
        if isinstance(material, Refused):
            return material
        if isinstance(own, Refused):
            return own
        return _complete(secret, holder, material, own)

    async def _redeem(self, means: Means) -> Redeemed | Trouble:
        """What is granted, or was a moment ago."""
        key = _fingerprint(means)
        if remembered := self._remembered.get(key, self._now()):
            return remembered
        return await self._flights.join(key, partial(self._ask, key, means))

    async def _ask(self, key: str, means: Means) -> Redeemed | Trouble:
        asked_at = self._now()  # the life of the token begins no earlier
        what = f"the token endpoint of Secret {_name(means.holder)}"
        grant = await tokenendpoint.ask(self._egress, means.material.token_endpoint, _form(means), what)
        if isinstance(grant, Trouble):
            return grant
        expires_at = asked_at + timedelta(seconds=grant.expires_in) if grant.expires_in else None
        redeemed = Redeemed(grant, expires_at)
        until = self._now() + MEMORY
        self._remembered.keep(key, redeemed, min(until, expires_at) if expires_at else until)
        return redeemed


def _complete(
    secret: SecretObject, holder: SecretObject, material: RefreshMaterial, own: RefreshMaterial
) -> Means | Refused:
    """Everything that is needed, or what is missing."""
    if not material.token_endpoint:
        words = f"{_expired(secret)}, and Secret {_name(holder)} has no token_endpoint to renew it at"
        return Refused(Reason.CREDENTIAL_EXPIRED, words)
    if material.refresh_token:
        return Means(material.refresh_token, holder, material, holder)
    if own.refresh_token:
        return Means(own.refresh_token, secret, material, holder)
    return Refused(Reason.CREDENTIAL_EXPIRED, f"{_expired(secret)}, and there is no refresh_token to renew it with")


def _unwritable(secret: SecretObject) -> Refused | None:
    """Why nobody may write a renewed token to a Secret, if that is so."""
    words = f"a token is not renewed, because Secret {_name(secret)}"
    if not usable.consents(secret):
        message = f'{words} does not carry the label {CONSENT}: "true", without which nothing is written to it'
        return Refused(Reason.CREDENTIAL_SOURCE_FORBIDDEN, message)
    if secret.immutable:
        return Refused(Reason.CREDENTIAL_EXPIRED, f"{words}, where it would be kept, cannot be written to")
    return None


def _writings(secret: SecretObject, means: Means, redeemed: Redeemed) -> tuple[Writing, ...]:
    """The refresh token goes first: it is the one that cannot be had again."""
    grant, expires_at = redeemed.grant, redeemed.expires_at
    data: dict[str, bytes | None] = {
        "access_token": grant.access_token.reveal().encode(),
        "expires_at": times.render(expires_at).encode() if expires_at else None,
    }
    if grant.id_token and "id_token" in secret.data:  # it ends as the access token does, and is of no use then
        data["id_token"] = grant.id_token.reveal().encode()
    if grant.refresh_token is None or grant.refresh_token == means.refresh_token:
        return (Writing(secret, data),)
    rotated = {"refresh_token": grant.refresh_token.reveal().encode()}
    if means.keeper is secret:
        return (Writing(secret, data | rotated),)
    return Writing(means.keeper, rotated), Writing(secret, data)


def _form(means: Means) -> Mapping[str, str | Hidden]:
    """The fields of https://www.rfc-editor.org/rfc/rfc6749#section-6, without those that nothing is known for."""
    material = means.material
    optional = {"client_id": material.client_id, "client_secret": material.client_secret, "scope": material.scope}
    known = {key: value for key, value in optional.items() if value}
    return {"grant_type": "refresh_token", "refresh_token": means.refresh_token, **known}


def _fingerprint(means: Means) -> str:
    """Names a refresh token without telling it."""
    material = means.material
    client_secret = material.client_secret.reveal() if material.client_secret else ""
    parts = (
        material.token_endpoint,
        material.client_id,
        client_secret,
        material.scope,
        means.refresh_token.reveal(),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _expired(secret: SecretObject) -> str:
    return f"the access token of Secret {_name(secret)} has expired"


def _name(secret: SecretObject) -> str:
    return f"{secret.namespace}/{secret.name}"
