"""Drives every session: looks at it, decides on one action, does it, and looks again."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

from toolcall_operator import errors
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core import unread
from toolcall_operator.core.session import decision
from toolcall_operator.core.session.actions import Action, Errand, Rest
from toolcall_operator.core.session.known import Known
from toolcall_operator.core.session.trouble import Kind
from toolcall_operator.core.session.view import SessionView
from toolcall_operator.sessions import deeds, workers
from toolcall_operator.sessions.agents import Agents
from toolcall_operator.sessions.case import Case, Underway
from toolcall_operator.sessions.classes import Classes
from toolcall_operator.sessions.policies import Policies
from toolcall_operator.sessions.ports import Key, SessionPorts
from toolcall_operator.sessions.references import References
from toolcall_operator.sessions.workers import Workers

SWEEP = timedelta(seconds=5)
"""How often it is asked what the calls of sessions do."""

MOST_ACTIONS = 50
"""So many actions follow one on another at most, before others are let go first: more would be a bug of ours."""


class SessionController:
    """Makes the sandboxes of sessions, clears them away, and judges what they are made of, while this process leads.

    All it remembers may be lost: whoever leads next reads what matters from the cluster. It counts the calls of this
    process on top of what a session's status said when it was first seen here: make one for a process, and no second.
    """

    def __init__(self, ports: SessionPorts) -> None:
        self._ports = ports
        self._workers: Workers[Key] = Workers(self._turn, ports.time)
        self._classes = Classes(ports)
        self._policies = Policies(ports)
        self._agents = Agents(ports)
        self._cases: dict[Key, Case] = {}
        self._waiting: References[str, Key] = References()
        self._waiting_for_agents: References[Key, Key] = References()
        self._began = ports.time.now()
        self._sweeping: asyncio.Task[None] | None = None

    def touch(self, key: Key) -> None:
        """A session, or one of its pods, is new, has changed or is gone."""
        self._sweeping = self._sweeping or asyncio.create_task(self._sweep(), name="activity of sessions")
        self._workers.touch(key)

    def touch_class(self, name: str) -> None:
        """A class is new, has changed or is gone; the sessions that wait for it look again."""
        self._classes.touch(name)
        for key in self._waiting.to(name):
            self._cases[key].remember(looked_up=None)
            self.touch(key)

    def touch_toolkit(self, name: str) -> None:
        """A toolkit is new, has changed or is gone, or one that it shares a name with."""
        self._policies.touch_toolkit(name)

    def touch_toolspec(self, name: str) -> None:
        """A toolspec is new, has changed or is gone, or its toolkit; the classes that name it are judged anew."""
        self._policies.touch_toolspec(name)
        for named_by in self._classes.naming(name):
            self.touch_class(named_by)

    def touch_agent(self, key: Key) -> None:
        """An AgentIdentity is new, has changed or is gone; the sessions that wait for it look again."""
        self._agents.touch(key)
        for session in self._waiting_for_agents.to(key):
            self._cases[session].remember(has_agent=None)
            self.touch(session)

    async def stop(self) -> None:
        """Do nothing more. Whatever runs goes on, for somebody else to take over."""
        if self._sweeping:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)
        await self._workers.stop()
        await self._classes.stop()
        await self._policies.stop()
        await self._agents.stop()
        for case in self._cases.values():
            await case.give_up_errand()

    async def _turn(self, key: Key) -> Rest | None:
        """Do what there is to do for a session now; None when it is gone."""
        for _ in range(MOST_ACTIONS):
            view = await self._looked_at(key)
            if view is None:
                return None
            action = decision.decide(view, self._ports.time.now())
            if isinstance(action, Rest):
                return action
            try:
                await self._carry_out(action, self._cases[key], view)
            except errors.Gone:
                await self._forget(key)
                return None
        return Rest(self._ports.time.now() + SWEEP)

    async def _looked_at(self, key: Key) -> SessionView | None:
        """The session as it stands; an errand that is not wanted any more is given up."""
        session, _ = self._found(key)
        if key in self._cases and (session is None or session.metadata.uid != self._cases[key].uid):
            await self._forget(key)
        if session is None:
            return None
        view = self._view(key)
        if view and view.errand and view.errand not in decision.wishes(view, self._ports.time.now()):
            await self._cases[key].give_up_errand()
            view = self._view(key)
        return view

    def _found(self, key: Key) -> tuple[SpiceboxSession | None, str]:
        """The session, or what stands in its place because it cannot be read, and why."""
        cluster = self._ports.cluster
        if (session := cluster.session(key)) is None and (found := cluster.unread_session(key)):
            return unread.session(found), found.why
        return session, ""

    def _view(self, key: Key) -> SessionView | None:
        """Everything that decides about the session."""
        cluster, calls = self._ports.cluster, self._ports.calls
        session, why = self._found(key)
        if session is None:
            return None
        uid, counted = session.metadata.uid, session.status.call_count if session.status else None
        case = self._cases.setdefault(key, Case(key, uid, Known(since=self._began, counted=counted or 0)))
        case.look(unread=bool(why))
        case.seen = calls.activity(key, uid)
        if case.known.status:
            session = session.model_copy(update={"status": case.known.status})
        looked_up = case.known.looked_up
        view = SessionView(
            session=session,
            known=case.known,
            session_class=cluster.session_class(session.spec.class_)
            or (looked_up if isinstance(looked_up, SpiceboxClass) else None),
            has_agent=case.known.has_agent or self._has_agent(session),
            pods=cluster.pods(session),
            activity=case.seen,
            errand=case.errand.action if case.errand else None,
            default_image=self._ports.settings.default_image,
            library=cluster.library,
            unread=why,
        )
        self._refer(key, view)
        return view

    def _refer(self, key: Key, view: SessionView) -> None:
        """Have the session looked at when what it waits for changes."""
        spec, waits = view.session.spec, not view.is_bound
        self._waiting.refer(key, (spec.class_,) if waits else ())
        self._waiting_for_agents.refer(key, ((key[0], spec.agent),) if waits and spec.agent else ())

    def _has_agent(self, session: SpiceboxSession) -> bool:
        """Whether the AgentIdentity that a session names is known to be there."""
        cluster, key = self._ports.cluster, (session.metadata.namespace, session.spec.agent or "")
        return cluster.agent(key) is not None or cluster.unread_agent(key) is not None

    async def _carry_out(self, action: Action, case: Case, view: SessionView) -> None:
        """Do it now, or begin to do it."""
        if not isinstance(action, Errand):
            await self._attempt(action, case, view)
            return

        async def run() -> None:
            with workers.told(case.key), suppress(errors.Gone):
                await self._attempt(action, case, view)
            case.errand = None
            self._workers.touch(case.key)

        await case.give_up_errand()
        case.errand = Underway(action, asyncio.create_task(run(), name=f"{type(action).__name__} {case.key}"))

    async def _attempt(self, action: Action, case: Case, view: SessionView) -> None:
        """Do it, and remember whether that worked.

        Raises:
            Gone: the session is no more.
        """
        now = self._ports.time.now
        try:
            await deeds.do(action, case, view, self._ports)
        except errors.Gone:
            raise
        except deeds.Lacking as lacking:
            case.known = case.known.failed(action, Kind.LACKING, str(lacking), now())
        except errors.Rejected as rule:
            case.known = case.known.failed(action, Kind.REJECTED, str(rule), now())
        except (errors.ProtocolBroken, errors.SandboxLost) as broken:
            case.known = case.known.failed(action, Kind.UNREACHABLE, str(broken), now())
        except errors.OperatorError as fault:
            case.known = case.known.failed(action, Kind.RETRYING, str(fault), now())
        except Exception as bug:  # what is done beside the rest would be begun again at once, for ever
            case.known = case.known.failed(action, Kind.RETRYING, f"internal error: {type(bug).__name__}", now())
            raise
        else:
            case.known = case.known.did(action, now())

    async def _forget(self, key: Key) -> None:
        """A session is no more, or another one has its name."""
        if case := self._cases.pop(key, None):
            await case.give_up_errand()
            self._ports.calls.forget(case.uid)
        self._waiting.refer(key, ())
        self._waiting_for_agents.refer(key, ())

    async def _sweep(self) -> None:
        """Wake the sessions whose calls did something."""
        never, time = asyncio.Event(), self._ports.time
        while True:
            await time.wait(never, time.now() + SWEEP)
            for key, case in self._cases.items():
                if self._ports.calls.activity(key, case.uid) != case.seen:
                    self._workers.touch(key)
