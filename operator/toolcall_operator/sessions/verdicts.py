"""Writes down what objects of a kind are judged to be, and tells people who watch events what speaks against one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from toolcall_operator import errors
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.judgeable import JudgedStatus
from toolcall_operator.core.session import trouble as sessiontrouble
from toolcall_operator.core.session.actions import Rest
from toolcall_operator.core.session.trouble import Kind, Trouble
from toolcall_operator.sessions.ports import SessionPorts

K = TypeVar("K", bound=Hashable)
J = TypeVar("J", SpiceboxClass, SpiceboxToolkit, SpiceboxToolspec, AgentIdentity)


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


class Verdicts(Generic[K, J]):
    """What was written of the objects of a kind, by their key (`K`); nothing is written that is known already."""

    def __init__(self, ports: SessionPorts) -> None:
        self._ports = ports
        self._written: dict[K, Written] = {}
        self._troubles: dict[K, Trouble] = {}

    def forget(self, key: K) -> None:
        """There is no such object any more."""
        self._written.pop(key, None)
        self._troubles.pop(key, None)

    async def keep(self, key: K, judged: Judged[J]) -> Rest | None:
        """Have the status of an object say what it was judged to be; returns when to try again, if that failed."""
        known = self._known(key, judged)
        status = judged.status(judged.obj.model_copy(update={"status": known}), self._ports.time.now())
        return None if status == known else await self._report(key, judged, status)

    def _known(self, key: K, judged: Judged[J]) -> JudgedStatus | None:
        """The status of an object: the one that was written here, as long as the caches show the one before it."""
        obj, written = judged.obj, self._written.get(key)
        if written and (written.uid, written.is_unread, written.before) == (
            obj.metadata.uid,
            judged.is_unread,
            obj.status,
        ):
            return written.status
        self._written.pop(key, None)
        return obj.status

    async def _report(self, key: K, judged: Judged[J], status: JudgedStatus) -> Rest | None:
        cluster, now, obj = self._ports.cluster, self._ports.time.now, judged.obj
        try:
            await (cluster.report_unread if judged.is_unread else cluster.report_judged)(obj, status)
        except errors.Gone:
            return None
        except errors.OperatorError as fault:
            kind = Kind.REJECTED if isinstance(fault, errors.Rejected) else Kind.RETRYING
            trouble = sessiontrouble.again(self._troubles.get(key), kind, str(fault), now())
            self._troubles[key] = trouble
            return Rest(trouble.retry_at)
        self._troubles.pop(key, None)
        self._written[key] = Written(obj.metadata.uid, judged.is_unread, obj.status, status)
        if judged.objection:
            cluster.remark(obj, *judged.objection)
        return None
