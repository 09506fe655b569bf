"""Judges AgentIdentities: each one's status says whether all its credentials can be had, as its Secrets are now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.core import identities, unread
from toolcall_operator.core.identities import Judgement
from toolcall_operator.core.session import trouble as sessiontrouble
from toolcall_operator.core.session.actions import Rest
from toolcall_operator.core.session.trouble import Kind, Trouble
from toolcall_operator.sessions.ports import Key, SessionPorts
from toolcall_operator.sessions.secretreads import SecretReads
from toolcall_operator.sessions.verdicts import Judged, Verdicts
from toolcall_operator.sessions.workers import Workers

VALID_PAUSE = timedelta(minutes=5)
"""How often the Secrets of a valid one are looked at again: nobody tells us when they change."""

INVALID_PAUSE = timedelta(seconds=30)
"""The same of one that is not valid: somebody may be about to make what it lacks."""


@dataclass(frozen=True, slots=True)
class Look:
    """What came of a look at the Secrets of one, and until when that counts; None: nothing that is to be told yet.

    `why`: why the identity itself cannot be read; empty if it can.
    """

    uid: str
    generation: int
    why: str
    judgement: Judgement | None
    until: datetime | None = None

    def stands(self, identity: AgentIdentity, why: str, now: datetime) -> bool:
        """Whether it is about the same, and still counts."""
        same = (self.uid, self.generation, self.why) == (identity.metadata.uid, identity.metadata.generation, why)
        return same and (self.until is None or now < self.until)


class Agents:
    """One worker for every AgentIdentity that was touched; it looks again from time to time."""

    def __init__(self, ports: SessionPorts) -> None:
        self._ports = ports
        self._reads = SecretReads(ports.secrets)
        self._workers: Workers[Key] = Workers(self._turn, ports.time)
        self._verdicts: Verdicts[Key, AgentIdentity] = Verdicts(ports)
        self._looks: dict[Key, Look] = {}
        self._troubles: dict[Key, Trouble] = {}

    def touch(self, key: Key) -> None:
        """One is new, has changed or is gone."""
        self._workers.touch(key)

    async def stop(self) -> None:
        """Judge nothing more."""
        await self._workers.stop()

    async def _turn(self, key: Key) -> Rest | None:
        """Judge one, and write that down if it is not known; None when it is gone."""
        identity, why = self._found(key)
        if identity is None:
            self._forget(key)
            return None
        look = self._looks.get(key)
        if look is None or not look.stands(identity, why, self._ports.time.now()):
            look = self._looks[key] = await self._look(key, identity, why)
        if look.judgement is None:
            return Rest(look.until)
        again = await self._verdicts.keep(key, _judged(identity, look.judgement, is_unread=bool(why)))
        return again or Rest(look.until)

    def _found(self, key: Key) -> tuple[AgentIdentity | None, str]:
        """The AgentIdentity, or what stands in its place because it cannot be read, and why."""
        cluster = self._ports.cluster
        if (identity := cluster.agent(key)) is None and (found := cluster.unread_agent(key)):
            return unread.agent(found), found.why
        return identity, ""

    async def _look(self, key: Key, identity: AgentIdentity, why: str) -> Look:
        """Look at the Secrets, and judge by them."""
        uid, generation = identity.metadata.uid, identity.metadata.generation
        if why:
            return Look(uid, generation, why, identities.unread(why))
        secrets = await self._reads.all(identity.metadata.namespace, identities.secrets_of(identity))
        now = self._ports.time.now()
        judgement = identities.judged(identity, secrets, now, consent_required=self._ports.consent_required())
        if judgement.valid is not None:
            self._troubles.pop(key, None)
            pause = now + (VALID_PAUSE if judgement.valid else INVALID_PAUSE)
            return Look(uid, generation, why, judgement, min(judgement.until or pause, pause))
        trouble = sessiontrouble.again(self._troubles.get(key), Kind.RETRYING, judgement.message, now)
        self._troubles[key] = trouble
        return Look(uid, generation, why, judgement if trouble.is_worth_telling(now) else None, trouble.retry_at)

    def _forget(self, key: Key) -> None:
        self._verdicts.forget(key)
        self._looks.pop(key, None)
        self._troubles.pop(key, None)


def _judged(identity: AgentIdentity, judgement: Judgement, *, is_unread: bool) -> Judged[AgentIdentity]:
    return Judged(
        obj=identity,
        status=lambda found, now: identities.status(found, judgement, now),
        objection=(judgement.reason, judgement.message) if judgement.valid is False else None,
        is_unread=is_unread,
    )
