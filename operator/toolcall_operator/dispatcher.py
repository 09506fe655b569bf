"""Knows which calls are in flight, and lets only so many of them run at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Ports
from toolcall_operator.reconcile import Stop, reconcile


class Slots:
    """Turns to run: first in, first out in a session, which competes with others only for what it may run at once."""

    def __init__(self, limit: int) -> None:
        self._all = asyncio.Semaphore(limit)
        self._sessions: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def of(self, session: SpiceboxSession, session_class: SpiceboxClass) -> AsyncIterator[None]:
        """One turn of `session`, held as long as the context is."""
        most = session_class.spec.limits.max_concurrent_calls
        mine = self._sessions.setdefault(session.metadata.uid, asyncio.Semaphore(most))
        async with mine, self._all:
            yield


class Dispatcher:
    """Carries every submitted call to its end, each in a task of its own."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._stops: dict[str, Stop] = {}
        self._tasks: dict[str, asyncio.Task[ToolCall]] = {}

    def submit(self, call: ToolCall) -> None:
        """Begin to carry `call`; a call that is in flight already is not begun again."""
        uid = call.metadata.uid
        if uid in self._tasks:
            return
        stop = self._stops[uid] = Stop()
        if call.spec.cancel:
            stop.ask(Reason.USER_CANCEL)
        task = self._tasks[uid] = asyncio.create_task(reconcile(call, self._ports, stop), name=f"toolcall {uid}")
        task.add_done_callback(lambda _: self._forget(uid))

    def stop_all(self, reason: Reason) -> None:
        """Ask every call in flight to end."""
        for stop in self._stops.values():
            stop.ask(reason)

    async def join(self) -> None:
        """Return when no call is in flight."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    def _forget(self, uid: str) -> None:
        del self._stops[uid], self._tasks[uid]
