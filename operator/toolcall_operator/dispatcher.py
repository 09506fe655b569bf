"""Knows which calls are in flight, and carries each in a task of its own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.session.activity import Activity
from toolcall_operator.ports import Ports
from toolcall_operator.reconcile.reconcile import reconcile
from toolcall_operator.reconcile.record import Stop

Key = tuple[str, str]
"""The namespace and the name of a session."""


@dataclass(frozen=True, slots=True)
class Flight:
    """A call on its way."""

    call: ToolCall
    task: asyncio.Task[ToolCall]
    stop: Stop = field(repr=False)

    @property
    def session(self) -> Key:
        """The namespace and the name of its session."""
        return self.call.metadata.namespace, self.call.spec.session


class Dispatcher:
    """Carries every submitted call to its end; none waits for another, but for its turn."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._flights: dict[str, Flight] = {}
        self._of: dict[Key, dict[str, Flight]] = {}  # the same, by session
        self._ending: set[Key] = set()

    def submit(self, call: ToolCall) -> None:
        """Begin to carry `call`; one that is in flight already is told what has changed: canceled, or being deleted."""
        uid = call.metadata.uid
        flight = self._flights.get(uid) or self._begin(call)
        if call.metadata.deletion_timestamp:
            flight.stop.ask(Reason.USER_DELETE, call.metadata.generation)
        elif call.spec.cancel:
            flight.stop.ask(Reason.USER_CANCEL, call.metadata.generation)

    def gone(self, uid: str) -> None:
        """The object of a call is no more: whatever runs of it is ended."""
        if flight := self._flights.get(uid):
            flight.stop.ask(Reason.USER_DELETE)

    def knows(self, uid: str) -> bool:
        """Whether a call is in flight here."""
        return uid in self._flights

    def activity(self, session: Key, uid: str) -> Activity:
        """What the calls of a session, by namespace and name and by its UID, did since this process began."""
        done = self._ports.slots.activity(uid)
        return replace(done, waiting=max(len(self._of.get(session, ())) - done.in_flight, 0))

    def forget(self, session_uid: str) -> None:
        """Drop what is remembered of a session that is no more."""
        self._ports.slots.forget(session_uid)

    async def end_session(self, session: Key) -> None:
        """Have every call of a session end, for the session does; also those that come meanwhile.

        Returns when none is in flight.
        """
        self._ending.add(session)
        try:
            while flights := self._of.get(session):
                for flight in flights.values():
                    flight.stop.ask(Reason.SESSION_TERMINATED)
                await asyncio.wait([flight.task for flight in flights.values()])
        finally:
            self._ending.discard(session)

    def stop_all(self, reason: Reason) -> None:
        """Ask every call in flight to end."""
        for flight in self._flights.values():
            flight.stop.ask(reason)

    async def join(self) -> None:
        """Return when no call is in flight."""
        while self._flights:
            await asyncio.wait([flight.task for flight in self._flights.values()])

    async def detach(self) -> None:
        """Follow no call any further, and end none: somebody else will take them over."""
        for flight in self._flights.values():
            flight.task.cancel()
        await self.join()

    def _begin(self, call: ToolCall) -> Flight:
        uid, stop = call.metadata.uid, Stop()
        task = asyncio.create_task(reconcile(call, self._ports, stop), name=f"toolcall {uid}")
        flight = self._flights[uid] = Flight(call, task, stop)
        self._of.setdefault(flight.session, {})[uid] = flight
        task.add_done_callback(lambda _: self._ended(uid))
        if flight.session in self._ending:
            stop.ask(Reason.SESSION_TERMINATED)
        return flight

    def _ended(self, uid: str) -> None:
        session = self._flights.pop(uid).session
        del self._of[session][uid]
        if not self._of[session]:
            del self._of[session]
