"""Whose turn it is to run: in order within a session, fair between namespaces, and within those between sessions."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core.session.activity import Activity
from toolcall_operator.ports import Clock


@dataclass(frozen=True, eq=False, slots=True)
class Turn:
    """Somebody's turn: whether it has come, and whether it is to be the only one of its session."""

    come: asyncio.Future[None]
    alone: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """How many calls run at once: in all, and of one namespace, whose hung calls must leave room for others."""

    total: int
    namespace: int


class Slots:
    """Implements `ports.Slots`, and remembers what each session did."""

    def __init__(self, limits: Limits, now: Clock) -> None:
        self._limits = limits
        self._now = now
        self._running: Counter[str] = Counter()  # by namespace
        self._sessions: dict[str, _Session] = {}
        self._waiting: OrderedDict[str, OrderedDict[str, _Session]] = OrderedDict()  # by namespace, then by UID

    @asynccontextmanager
    async def of(
        self, session: SpiceboxSession, session_class: SpiceboxClass, *, claimed: bool = False, alone: bool = False
    ) -> AsyncIterator[None]:
        """A turn of `session`; a claimed call takes one at once, for its process may be running already.

        One that runs `alone` waits until no other turn of the session is taken, and none is given until it ends.
        """
        namespace, uid = session.metadata.namespace, session.metadata.uid
        mine = self._sessions.setdefault(uid, _Session())
        mine.most = session_class.spec.limits.max_concurrent_calls
        turn = Turn(asyncio.get_running_loop().create_future(), alone)
        if claimed:
            self._take(namespace, mine, turn)
        else:
            await self._stand(namespace, uid, mine, turn)
        mine.last_at = self._now()
        try:
            yield
        finally:
            mine.last_at = self._now()
            self._give_back(namespace, mine, turn)

    def started(self, session_uid: str) -> None:
        """A call of a session that has its turn was claimed: until then it may be canceled, and nothing of it ran."""
        mine = self._sessions.setdefault(session_uid, _Session())
        mine.started += 1
        mine.last_at = self._now()

    def activity(self, session_uid: str) -> Activity:
        """What a session did since this process began."""
        mine = self._sessions.get(session_uid, _Session())
        return Activity(started=mine.started, in_flight=mine.running, last_at=mine.last_at)

    def forget(self, session_uid: str) -> None:
        """Drop what is remembered of a session that is no more, if none of its calls runs or stands in line."""
        if (mine := self._sessions.get(session_uid)) and not (mine.running or mine.line):
            del self._sessions[session_uid]

    async def _stand(self, namespace: str, uid: str, mine: _Session, turn: Turn) -> None:
        """Wait in line; a turn that was granted to somebody who left is given on."""
        mine.line.append(turn)
        self._waiting.setdefault(namespace, OrderedDict())[uid] = mine
        try:
            self._grant()
            await turn.come
        except BaseException:  # whatever it is, nobody may be left in line, or with a turn, who is not there any more
            if turn.come.done() and not turn.come.cancelled():
                self._give_back(namespace, mine, turn)
            else:
                self._leave_line(namespace, uid, mine, turn)
            raise

    def _grant(self) -> None:
        """Give turns away as long as anyone who waits may have one."""
        while self._running.total() < self._limits.total and (found := self._next()):
            namespace, uid, mine = found
            turn = mine.line.popleft()
            self._waiting.move_to_end(namespace)
            self._waiting[namespace].move_to_end(uid)
            self._tidy(namespace, uid, mine)
            if not turn.come.done():
                self._take(namespace, mine, turn)
                turn.come.set_result(None)

    def _next(self) -> tuple[str, str, _Session] | None:
        """Whoever has waited longest since the last turn of its namespace and its session, and has room."""
        for namespace, sessions in self._waiting.items():
            if self._running[namespace] < self._limits.namespace:
                for uid, mine in sessions.items():
                    if mine.has_room:
                        return namespace, uid, mine
        return None

    def _take(self, namespace: str, mine: _Session, turn: Turn) -> None:
        self._running[namespace] += 1
        mine.running += 1
        mine.alone += turn.alone

    def _give_back(self, namespace: str, mine: _Session, turn: Turn) -> None:
        self._running[namespace] -= 1
        if not self._running[namespace]:
            del self._running[namespace]
        mine.running -= 1
        mine.alone -= turn.alone
        self._grant()

    def _leave_line(self, namespace: str, uid: str, mine: _Session, turn: Turn) -> None:
        if turn in mine.line:  # or it was passed over already
            mine.line.remove(turn)
            self._tidy(namespace, uid, mine)
            self._grant()  # to those who stood behind one that was to be alone

    def _tidy(self, namespace: str, uid: str, mine: _Session) -> None:
        if not mine.line:
            del self._waiting[namespace][uid]
        if not self._waiting[namespace]:
            del self._waiting[namespace]


@dataclass(slots=True)
class _Session:
    """What one session does, and may do at once, and who stands in its line."""

    running: int = 0
    alone: int = 0  # of those that run
    most: int = 1
    started: int = 0
    last_at: datetime | None = None
    line: deque[Turn] = field(default_factory=deque)

    @property
    def has_room(self) -> bool:
        """Whether the first in its line may have a turn; whoever wants to be alone is not overtaken."""
        if self.alone or (self.line and self.line[0].alone):
            return not self.running
        return self.running < self.most
