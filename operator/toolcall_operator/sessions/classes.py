"""Judges classes: each one's status says whether sessions can be made of it."""

from __future__ import annotations

from toolcall_operator import errors
from toolcall_operator.api.spiceboxclass import SpiceboxClass, SpiceboxClassStatus
from toolcall_operator.core import classes, classstatus, sessiontrouble
from toolcall_operator.core.sessionactions import Rest
from toolcall_operator.core.sessiontrouble import Kind, Trouble
from toolcall_operator.sessionports import SessionPorts
from toolcall_operator.sessions.workers import Workers


class Classes:
    """One worker for every class that was touched, until its status says what there is to say."""

    def __init__(self, ports: SessionPorts) -> None:
        self._ports = ports
        self._workers: Workers[str] = Workers(self._turn, ports.time)
        self._written: dict[str, tuple[str, SpiceboxClassStatus]] = {}
        self._troubles: dict[str, Trouble] = {}

    def touch(self, name: str) -> None:
        """A class is new, has changed or is gone."""
        self._workers.touch(name)

    async def stop(self) -> None:
        """Judge nothing more."""
        await self._workers.stop()

    async def _turn(self, name: str) -> Rest | None:
        """Judge a class, and write that down if it is not known."""
        session_class = self._ports.cluster.session_class(name)
        if session_class is None:
            self._written.pop(name, None)
            self._troubles.pop(name, None)
            return None
        session_class = self._newest(session_class)
        judgement = classes.judged(session_class, self._ports.settings.default_image)
        status = classstatus.judged(session_class, judgement, self._ports.time.now())
        if status == session_class.status:
            return None
        return await self._report(session_class, status, judgement)

    def _newest(self, session_class: SpiceboxClass) -> SpiceboxClass:
        """The class with the status that was last written here, which the caches may not show yet."""
        uid, status = self._written.get(session_class.metadata.name, ("", None))
        return (
            session_class.model_copy(update={"status": status}) if uid == session_class.metadata.uid else session_class
        )

    async def _report(
        self, session_class: SpiceboxClass, status: SpiceboxClassStatus, judgement: classes.Judgement
    ) -> Rest | None:
        name, now = session_class.metadata.name, self._ports.time.now
        try:
            await self._ports.cluster.report_class(session_class, status)
        except errors.Gone:
            return None
        except errors.OperatorError as fault:
            kind = Kind.REJECTED if isinstance(fault, errors.Rejected) else Kind.RETRYING
            trouble = sessiontrouble.again(self._troubles.get(name), kind, str(fault), now())
            self._troubles[name] = trouble
            return Rest(trouble.retry_at)
        self._troubles.pop(name, None)
        self._written[name] = session_class.metadata.uid, status
        if not judgement.valid:
            self._ports.cluster.remark(session_class, judgement.reason, judgement.message)
        return None
