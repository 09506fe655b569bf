"""Renewed tokens on their way into the Secrets they came from, kept here until they are there."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from toolcall_operator import errors
from toolcall_operator.broker.cache import ROOM
from toolcall_operator.broker.reading import Reading
from toolcall_operator.core.credentials import usable
from toolcall_operator.core.credentials.secrets import CONSENT, SecretObject
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Secrets

log = logging.getLogger(__name__)

_ATTEMPTS = 2
_ACCESS_TOKEN, _REFRESH_TOKEN = "access_token", "refresh_token"
_Identity = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Writing:
    """What is to change in a Secret, which is `into` as it was when the tokens in it were used; None: the key goes."""

    into: SecretObject
    data: Mapping[str, bytes | None] = field(repr=False)


class WriteBack:
    """Writes renewed tokens. What replaces a token that is used up is owed until it is written, or not needed."""

    def __init__(self, secrets: Secrets, reading: Reading) -> None:
        self._secrets = secrets
        self._reading = reading
        self._owed: OrderedDict[_Identity, tuple[Writing, ...]] = OrderedDict()

    def owes(self, secret: SecretObject) -> bool:
        """Whether something that belongs to this Secret is not written yet."""
        return identity(secret) in self._owed

    def owe(self, secret: SecretObject, writings: Sequence[Writing]) -> None:
        """From now on these are to be written, in this order, before `secret`, which is the last, is used again."""
        self._owed[identity(secret)] = tuple(writings)
        while len(self._owed) > ROOM:
            _, (lost, *_) = self._owed.popitem(last=False)
            log.error("A renewed token of Secret %s was never written, and is given up", _name(lost.into))

    async def settle(self, secret: SecretObject) -> SecretObject | Refused:
        """Write what is owed for `secret`; it is then as returned. Whoever wrote other tokens meanwhile keeps them.

        Raises:
            Unavailable: something may not be written; it stays owed.
            Gone: the Secret is no more, and nothing is owed for it.
        """
        who = identity(secret)
        while owed := self._owed.get(who):
            first, *rest = owed
            try:
                now = await self._written(first)
            except errors.Gone:
                self._done(who, rest)
                if identity(first.into) == who:
                    raise
                continue
            if isinstance(now, Refused):
                log.warning("A renewed token of Secret %s is kept until it can be written", _name(first.into))
                return now
            self._done(who, rest)
            secret = now
        return secret

    async def settle_all(self) -> None:
        """Write what is owed for any Secret; what cannot be written now stays owed."""
        for writings in tuple(self._owed.values()):
            with suppress(errors.OperatorError):
                await self.settle(writings[-1].into)

    def _done(self, who: _Identity, rest: Sequence[Writing]) -> None:
        if rest:
            self._owed[who] = tuple(rest)
        else:
            self._owed.pop(who, None)

    async def _written(self, writing: Writing) -> SecretObject | Refused:
        """The Secret with its tokens, ours or somebody else's.

        Raises:
            Unavailable: it may or may not be written.
            Gone: there is no such Secret any more.
        """
        now, name = writing.into, _name(writing.into)
        for _ in range(_ATTEMPTS):
            try:
                return await self._secrets.write(now, _wanted(writing, now))
            except errors.Rejected:
                return _refused(f"the operator may not write Secret {name}, where a renewed token belongs")
            except errors.Superseded:
                found = await self._reading.optional(now.namespace, now.name)
            if isinstance(found, Refused):
                return found
            if found is None or identity(found) != identity(now):
                raise errors.Gone(f"Secret {name} is no more")
            if not _wanted(writing, found):
                return found
            if not usable.consents(found):
                message = f"Secret {name} lost the label {CONSENT}, so that a renewed token is not written"
                return Refused(Reason.CREDENTIAL_SOURCE_FORBIDDEN, message)
            now = found
        return _refused(f"Secret {name} changed again and again, so that a renewed token could not be written")


def identity(secret: SecretObject) -> _Identity:
    """What tells a Secret from all others, also from a later one of its name."""
    return secret.namespace, secret.name, secret.uid


def _wanted(writing: Writing, now: SecretObject) -> Mapping[str, bytes | None]:
    """What is still to be written: whoever wrote tokens meanwhile wins, but no token that is used up stays."""
    then = writing.into
    if now.data.get(_REFRESH_TOKEN) != then.data.get(_REFRESH_TOKEN):
        return {}
    if now.data.get(_ACCESS_TOKEN) != then.data.get(_ACCESS_TOKEN):
        return {key: value for key, value in writing.data.items() if key == _REFRESH_TOKEN}
    return writing.data


def _name(secret: SecretObject) -> str:
    return f"{secret.namespace}/{secret.name}"


def _refused(message: str) -> Refused:
    return Refused(Reason.CREDENTIAL_UNRESOLVED, message)
