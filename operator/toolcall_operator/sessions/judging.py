"""Writes down what objects of a kind are judged to be: each one's status comes to say what there is to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from toolcall_operator import errors
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.judgeable import JudgedStatus
from toolcall_operator.core.session import trouble as sessiontrouble
from toolcall_operator.core.session.actions import Rest
from toolcall_operator.core.session.trouble import Kind, Trouble
from toolcall_operator.sessions.ports import SessionPorts
from toolcall_operator.sessions.workers import Workers

J = TypeVar("J", SpiceboxClass, SpiceboxToolkit, SpiceboxToolspec)


@dataclass(frozen=True, slots=True)
class Judged(Generic[J]):
    """An object, or what stands in its place because it cannot be read, and what there is to say of it.

    `status` makes its status of the one it has. `objection` is what speaks against it: a reason and a message.
    """

    obj: J
    status: Callable[[J, datetime], JudgedStatus]
    objection: tuple[str, str] | None = None
    is_unread: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A status that was written here, in the place of which one; of which object, and whether that could be read."""

    uid: str
    is_unread: bool
    before: JudgedStatus | None
    status: JudgedStatus


class Judges(Generic[J]):
    """One worker for every object that was touched; `look` judges the one of a name, None if it is not there."""

    def __init__(self, ports: SessionPorts, look: Callable[[str], Judged[J] | None]) -> None:
        self._ports = ports
        self._look: Callable[[str], Judged[J] | None] = look
        self._workers: Workers[str] = Workers(self._turn, ports.time)
        self._written: dict[str, Written] = {}
        self._troubles: dict[str, Trouble] = {}

    def touch(self, name: str) -> None:
        """An object is new, has changed or is gone, or something that decides about it."""
        self._workers.touch(name)

    async def stop(self) -> None:
        """Judge nothing more."""
        await self._workers.stop()

    async def _turn(self, name: str) -> Rest | None:
        """Judge an object, and write that down if it is not known."""
        judged = self._look(name)
        if judged is None:
            self._written.pop(name, None)
            self._troubles.pop(name, None)
            return None
        known = self._known(name, judged)
        status = judged.status(judged.obj.model_copy(update={"status": known}), self._ports.time.now())
        return None if status == known else await self._report(name, judged, status)

    def _known(self, name: str, judged: Judged[J]) -> JudgedStatus | None:
        """The status of an object: the one that was written here, as long as the caches show the one before it."""
        obj, written = judged.obj, self._written.get(name)
        if written and (written.uid, written.is_unread, written.before) == (
            obj.metadata.uid,
            judged.is_unread,
            obj.status,
        ):
            return written.status
        self._written.pop(name, None)
        return obj.status

    async def _report(self, name: str, judged: Judged[J], status: JudgedStatus) -> Rest | None:
        cluster, now, obj = self._ports.cluster, self._ports.time.now, judged.obj
        try:
            await (cluster.report_unread if judged.is_unread else cluster.report_judged)(obj, status)
        except errors.Gone:
            return None
        except errors.OperatorError as fault:
            kind = Kind.REJECTED if isinstance(fault, errors.Rejected) else Kind.RETRYING
            trouble = sessiontrouble.again(self._troubles.get(name), kind, str(fault), now())
            self._troubles[name] = trouble
            return Rest(trouble.retry_at)
        self._troubles.pop(name, None)
        self._written[name] = Written(obj.metadata.uid, judged.is_unread, obj.status, status)
        if judged.objection:
            cluster.remark(obj, *judged.objection)
        return None
