"""The broker: each reference of a call becomes a credential, or the reason why not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Protocol

from toolcall_operator import errors
from toolcall_operator.broker import githubapp, stored
from toolcall_operator.broker.federated import Federation
from toolcall_operator.broker.minting import Minter, Minting
from toolcall_operator.broker.oauth import OAuth
from toolcall_operator.broker.reading import Reading
from toolcall_operator.broker.refreshing import Refreshing
from toolcall_operator.broker.writeback import WriteBack
from toolcall_operator.core.credentials import usable
from toolcall_operator.core.credentials.references import Kind, Reference, Requester, Source
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Clock, Egress, Secrets

ATTEMPTS = 3
"""So often a credential is made anew because its Secret changed while it was being made."""

CLOSING_SECONDS = 5.0
"""So long a broker that is closed waits for renewals that are under way: what they are granted would be lost."""

_Maker = Callable[[Source, SecretObject], Awaitable[Hidden | Refused]]


class Rules(usable.Rules, Protocol):
    """Who may use what: which Secrets calls may use, which issuers of authorization servers are trusted."""

    @property
    def trusted_issuers(self) -> tuple[str, ...]:
        """The issuers, exactly as they write themselves."""
        ...


@dataclass(frozen=True, slots=True)
class FixedRules:
    """Rules that stay as they are."""

    consent_required: bool = True
    trusted_issuers: tuple[str, ...] = ()
    judged_since: datetime | None = None


class TokenBroker:
    """Implements `ports.Broker` with Secrets and the servers they name."""

    def __init__(self, secrets: Secrets, egress: Egress, now: Clock, rules: Rules) -> None:
        self._rules = rules
        self._reading = Reading(secrets)
        self._writeback = WriteBack(secrets, self._reading)
        self._oauth = OAuth(self._reading, Refreshing(egress, self._reading, now), self._writeback, now)
        minters: dict[Kind, Minter] = {
            Kind.FEDERATED: Federation(egress, now, rules.trusted_issuers).minted,
            Kind.GITHUB_APP: partial(githubapp.minted, egress=egress, now=now),
        }
        self._minting = Minting(self._reading, self._oauth, minters, now)
        self._makers: Mapping[Kind, _Maker] = {
            Kind.STATIC: stored.value,
            Kind.OAUTH: self._access_token,
            Kind.FEDERATED: self._minting.minted,
            Kind.GITHUB_APP: self._minting.minted,
        }

    async def resolve(self, references: Sequence[Reference], requester: Requester) -> tuple[Hidden, ...] | Refused:
        """The credentials, one for each reference and in their order; or why the first that cannot be had cannot.

        Raises:
            Unavailable: Secrets cannot be read or written now.
        """
        found = await asyncio.gather(*(self._credential(each, requester) for each in references))
        values = tuple(each for each in found if isinstance(each, Hidden))
        return next((each for each in found if isinstance(each, Refused)), values)

    async def aclose(self) -> None:
        """Let renewals that are under way come to their end, and write what is owed, as far as that works in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                await self._oauth.landed()
                await self._writeback.settle_all()

    async def _credential(self, reference: Reference, requester: Requester) -> Hidden | Refused:
        found = await self._made(reference, requester)
        if isinstance(found, Hidden) or found.path:
            return found
        return replace(found, message=f"{reference.path}: {found.message}", path=reference.path)

    async def _made(self, reference: Reference, requester: Requester) -> Hidden | Refused:
        source = reference.source
        if source.namespace != requester.namespace:  # it is not even read
            message = f"Secret {source.namespace}/{source.secret} is in another namespace than the call"
            return Refused(Reason.CREDENTIAL_SOURCE_FORBIDDEN, message)
        for _ in range(ATTEMPTS):
            with suppress(errors.Superseded, errors.Gone):
                secret = await self._reading.needed(source.namespace, source.secret)
                if isinstance(secret, Refused):
                    return secret
                if objection := usable.objection(secret, reference, requester, self._rules):
                    return objection
                return await self._makers[source.kind](source, secret)
        message = f"Secret {source.namespace}/{source.secret} changed again and again while it was used"
        return Refused(Reason.CREDENTIAL_UNRESOLVED, message)

    async def _access_token(self, source: Source, secret: SecretObject) -> Hidden | Refused:
        current = await self._oauth.current(secret, source.early)
        return current if isinstance(current, Refused) else current.token
