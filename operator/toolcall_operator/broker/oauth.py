"""Access tokens that expire: the one in the Secret, renewed when its end is near."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from toolcall_operator import errors
from toolcall_operator.broker.cache import Cache
from toolcall_operator.broker.flights import Flights
from toolcall_operator.broker.reading import Reading
from toolcall_operator.broker.refreshing import Refreshing
from toolcall_operator.broker.writeback import WriteBack, identity
from toolcall_operator.core.credentials import layouts
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.ports import Clock

REST = timedelta(seconds=15)
"""So long a token that is still good is not renewed once more, if that did not work or gave no better one.

No call waits for an endpoint in trouble then, and one whose tokens never last long enough is not asked by every call.
"""


@dataclass(frozen=True, slots=True)
class Current:
    """An access token, when it ends if it does, and its Secret as it stands."""

    secret: SecretObject
    token: Hidden
    expires_at: datetime | None


class OAuth:
    """Gives out access tokens. All who need one of a Secret to be renewed at the same time wait for one renewal."""

    def __init__(self, reading: Reading, refreshing: Refreshing, writeback: WriteBack, now: Clock) -> None:
        self._reading = reading
        self._refreshing = refreshing
        self._writeback = writeback
        self._now = now
        self._flights: Flights[tuple[str, str, str], Current | Refused] = Flights()
        self._resting: Cache[tuple[str, str], bool] = Cache()

    async def current(self, secret: SecretObject, early: timedelta) -> Current | Refused:
        """The access token of a Secret that was just read, renewed if it ends within `early`.

        Raises:
            Superseded: somebody else changes the Secret: it has to be read anew.
            Gone: it is no more.
            Unavailable: Secrets cannot be read or written now.
        """
        found = _current(secret)
        if isinstance(found, Refused) or not (self._writeback.owes(secret) or self._is_due(found, early)):
            return found
        return await self._flights.join(identity(secret), partial(self._renewed, secret, early))

    async def landed(self) -> None:
        """Return once nothing is being renewed."""
        await self._flights.landed()

    async def _renewed(self, earlier: SecretObject, early: timedelta) -> Current | Refused:
        secret = await self._settled(earlier)
        found = secret if isinstance(secret, Refused) else _current(secret)
        if isinstance(found, Refused) or not self._is_due(found, early):
            return found
        writings = await self._refreshing.redeemed(found.secret)
        if isinstance(writings, Refused):
            return self._made_do(found) or writings
        self._writeback.owe(found.secret, writings)
        written = await self._writeback.settle(found.secret)
        renewed = written if isinstance(written, Refused) else _current(written)
        if isinstance(renewed, Refused):
            return renewed
        if self._is_over(renewed):
            raise errors.Superseded("the Secret holds another token, which has expired")
        _demand_same_terms(renewed.secret, earlier)
        self._rest(renewed)
        return renewed

    async def _settled(self, earlier: SecretObject) -> SecretObject | Refused:
        """The Secret as it is now, which may have been renewed since it was read, with what is owed for it."""
        secret = await self._reading.needed(earlier.namespace, earlier.name)
        if isinstance(secret, Refused):
            return secret
        settled = await self._writeback.settle(secret)
        if isinstance(settled, SecretObject):
            _demand_same_terms(settled, earlier)
        return settled

    def _made_do(self, found: Current) -> Current | None:
        """The token that could not be renewed, if it is still good."""
        if self._is_over(found):
            return None
        self._rest(found)
        return found

    def _rest(self, found: Current) -> None:
        self._resting.keep((found.secret.uid, found.secret.resource_version), value=True, until=self._now() + REST)

    def _is_due(self, found: Current, early: timedelta) -> bool:
        if found.expires_at is None or self._now() + early < found.expires_at:
            return False
        resting = self._resting.get((found.secret.uid, found.secret.resource_version), self._now())
        return self._is_over(found) or not resting

    def _is_over(self, found: Current) -> bool:
        return found.expires_at is not None and self._now() >= found.expires_at


def _current(secret: SecretObject) -> Current | Refused:
    found = layouts.oauth(secret)
    return found if isinstance(found, Refused) else Current(secret, found.access_token, found.expires_at)


def _demand_same_terms(now: SecretObject, then: SecretObject) -> None:
    """Whoever asked was found to be allowed what there was then; of another Secret that is to be found out anew.

    Raises:
        Superseded: it is another Secret, or for others.
    """
    if _terms(now) != _terms(then):
        raise errors.Superseded("it may have changed who may use the Secret")


def _terms(secret: SecretObject) -> tuple[object, ...]:
    return identity(secret), secret.type, secret.labels, secret.owners
