"""Judges classes: each one's status says whether sessions can be made of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from toolcall_operator import errors
from toolcall_operator.api.spiceboxclass import SpiceboxClass, SpiceboxClassStatus
from toolcall_operator.core import classes, classstatus, unread
from toolcall_operator.core.classes import ClassReason, Judgement
from toolcall_operator.core.session import trouble as sessiontrouble
from toolcall_operator.core.session.actions import Rest
from toolcall_operator.core.session.trouble import Kind, Trouble
from toolcall_operator.sessions.ports import SessionPorts
from toolcall_operator.sessions.workers import Workers


@dataclass(frozen=True, slots=True)
class Judged:
    """A class, or what stands in its place because it cannot be read, and the judgement on it."""

    session_class: SpiceboxClass
    judgement: Judgement

    @property
    def is_unread(self) -> bool:
        """Whether something stands in its place."""
        return self.judgement.reason is ClassReason.MALFORMED_OBJECT

    def of_same(self, other: Judged) -> bool:
        """Whether both are of the same class, which could be read both times, or not."""
        same = self.session_class.metadata.uid == other.session_class.metadata.uid
        return same and self.is_unread == other.is_unread

    def reported(self, status: SpiceboxClassStatus) -> Judged:
        """The same, with another status."""
        return replace(self, session_class=self.session_class.model_copy(update={"status": status}))


class Classes:
    """One worker for every class that was touched, until its status says what there is to say."""

    def __init__(self, ports: SessionPorts) -> None:
        self._ports = ports
        self._workers: Workers[str] = Workers(self._turn, ports.time)
        self._reported: dict[str, Judged] = {}
        self._troubles: dict[str, Trouble] = {}

    def touch(self, name: str) -> None:
        """A class is new, has changed or is gone."""
        self._workers.touch(name)

    async def stop(self) -> None:
        """Judge nothing more."""
        await self._workers.stop()

    async def _turn(self, name: str) -> Rest | None:
        """Judge a class, and write that down if it is not known."""
        judged = self._judged(name)
        if judged is None:
            self._reported.pop(name, None)
            self._troubles.pop(name, None)
            return None
        status = classstatus.judged(judged.session_class, judged.judgement, self._ports.time.now())
        if status == judged.session_class.status:
            return None
        return await self._report(name, judged, status)

    def _judged(self, name: str) -> Judged | None:
        """The class, if it is there, with the status that was last written here: the caches may not show it yet."""
        cluster = self._ports.cluster
        if session_class := cluster.session_class(name):
            judged = Judged(session_class, classes.judged(session_class, self._ports.settings.default_image))
        elif found := cluster.unread_class(name):
            judged = Judged(unread.session_class(found), classes.unread(found.why))
        else:
            return None
        known = self._reported.get(name)
        status = known.session_class.status if known and known.of_same(judged) else None
        return judged.reported(status) if status else judged

    async def _report(self, name: str, judged: Judged, status: SpiceboxClassStatus) -> Rest | None:
        cluster, now = self._ports.cluster, self._ports.time.now
        try:
            await (cluster.report_unread if judged.is_unread else cluster.report_class)(judged.session_class, status)
        except errors.Gone:
            return None
        except errors.OperatorError as fault:
            kind = Kind.REJECTED if isinstance(fault, errors.Rejected) else Kind.RETRYING
            trouble = sessiontrouble.again(self._troubles.get(name), kind, str(fault), now())
            self._troubles[name] = trouble
            return Rest(trouble.retry_at)
        self._troubles.pop(name, None)
        self._reported[name] = judged.reported(status)
        if not judged.judgement.valid:
            cluster.remark(judged.session_class, judged.judgement.reason, judged.judgement.message)
        return None
