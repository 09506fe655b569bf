"""Credentials that are made when they are needed, and kept for as long as they are good."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from toolcall_operator import errors
from toolcall_operator.broker.cache import Cache
from toolcall_operator.broker.flights import Flights
from toolcall_operator.broker.minted import Minted
from toolcall_operator.broker.oauth import REST, OAuth
from toolcall_operator.broker.reading import Reading
from toolcall_operator.core.credentials.references import Kind, Source
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Clock

Minter = Callable[[Source, SecretObject, Hidden | None], Awaitable[Minted | Refused]]
"""Makes a credential of a Secret and, where that is what is exchanged, of the access token in it."""

_Key = tuple[Source, str, str]


class Minting:
    """Makes credentials, each once for all who need it, and again when what it was made of has changed."""

    def __init__(self, reading: Reading, oauth: OAuth, minters: Mapping[Kind, Minter], now: Clock) -> None:
        self._reading = reading
        self._oauth = oauth
        self._minters = minters
        self._now = now
        self._flights: Flights[_Key, Minted | Refused] = Flights()
        self._kept: Cache[_Key, Minted] = Cache()
        self._resting: Cache[_Key, bool] = Cache()

    async def minted(self, source: Source, secret: SecretObject) -> Hidden | Refused:
        """The credential that a Secret that was just read makes; one whose end is near if there is no other.

        Raises:
            Superseded: somebody else changes the Secret: it has to be read anew.
            Gone: it is no more.
            Unavailable: Secrets cannot be read or written now.
        """
        key = _key(source, secret)
        minted = self._good(key) or self._kept_instead_of(await self._made(source, secret), key)
        return minted if isinstance(minted, Refused) else minted.value

    async def _made(self, source: Source, secret: SecretObject) -> Minted | Refused:
        """What was made of the Secret, once what is exchanged for it is current, where that is how it is made."""
        subject = None
        if source.kind is Kind.FEDERATED:
            current = await self._oauth.current(secret, source.early)
            if isinstance(current, Refused):
                return current
            secret, subject = current.secret, current.token
        key = _key(source, secret)
        return self._good(key) or await self._flights.join(key, partial(self._mint, source, secret, subject))

    async def _mint(self, source: Source, secret: SecretObject, subject: Hidden | None) -> Minted | Refused:
        minted = await self._minters[source.kind](source, secret, subject)
        if isinstance(minted, Refused):
            return minted
        if minted.expires_at <= self._now():
            message = f"what was made of Secret {secret.namespace}/{secret.name} had expired when it came"
            return Refused(Reason.CREDENTIAL_UNRESOLVED, message)
        await self._unchanged(secret)
        self._keep(_key(source, secret), minted)
        return minted

    def _kept_instead_of(self, made: Minted | Refused, key: _Key) -> Minted | Refused:
        """The one there was, if that is still good and there is no other."""
        kept = self._kept.get(key, self._now())
        if isinstance(made, Minted) or kept is None:
            return made
        self._keep(key, kept)
        return kept

    async def _unchanged(self, secret: SecretObject) -> None:
        """Return if a Secret is as it was.

        Raises:
            Superseded: it is not.
        """
        now = await self._reading.optional(secret.namespace, secret.name)
        if not isinstance(now, SecretObject) or _version(now) != _version(secret):
            raise errors.Superseded("the Secret was changed meanwhile")

    def _keep(self, key: _Key, minted: Minted) -> None:
        self._kept.keep(key, minted, minted.expires_at)
        self._resting.keep(key, value=True, until=self._now() + REST)

    def _good(self, key: _Key) -> Minted | None:
        """What is kept, unless its end is near and nobody tried to make it anew a moment ago."""
        kept = self._kept.get(key, self._now())
        source, *_ = key
        due = kept is not None and self._now() + source.early >= kept.expires_at
        return None if due and not self._resting.get(key, self._now()) else kept


def _key(source: Source, secret: SecretObject) -> _Key:
    return (source, *_version(secret))


def _version(secret: SecretObject) -> tuple[str, str]:
    return secret.uid, secret.resource_version
