"""The ToolCalls of a cluster: what decides about one, its status, and its hold on its object."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from toolcall_operator.adapters.cluster import finalizers, patches
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.events import Events, Subject
from toolcall_operator.adapters.cluster.finalizers import Holdable
from toolcall_operator.adapters.cluster.memory.caches import Caches, Key, Revision
from toolcall_operator.adapters.cluster.memory.shelf import Identity
from toolcall_operator.adapters.cluster.patches import Basis
from toolcall_operator.adapters.cluster.resources import AGENT_IDENTITIES, SESSIONS, TOOLCALLS, Address
from toolcall_operator.api import parsing
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.parsing import Malformed
from toolcall_operator.api.spiceboxclass import ClassMeta, SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import FINALIZER, ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch, ToolCallStatus
from toolcall_operator.core import identities
from toolcall_operator.core import status as statuses
from toolcall_operator.core.policy import panel
from toolcall_operator.core.policy.deciding.candidates import Candidate
from toolcall_operator.core.policy.loading import policystatus
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.unread import Unread
from toolcall_operator.core.world import World
from toolcall_operator.errors import Gone, Rejected, Superseded, Unavailable


class KubernetesCluster:
    """Implements `ports.Cluster`: reads from the caches, writes to the API server.

    `patience` is how long a call waits for its session's sandbox to start.
    """

    def __init__(
        self, client: Client, caches: Caches, events: Events, patience: timedelta = timedelta(minutes=2)
    ) -> None:
        self._client = client
        self._caches = caches
        self._events = events
        self._patience = patience
        self._seen: dict[str, Revision] = {}
        self._worlds: dict[Key, tuple[Revision, World]] = {}

    async def observe(self, call: ToolCall, *, live: bool = False) -> World:
        """The call's session, the class that was frozen in its status, its agent, and what judges its calls.

        `live`: the session is asked for anew, and its AgentIdentity, too, if memory lacks what the call names of it.

        Raises:
            Unavailable: it could not be read.
        """
        key = _session_of(call)
        if live:
            await self._refresh(key)
            await self._refresh_agent(call, key)
        self._see(call.metadata.uid, key)
        return self._world(key)

    async def changed(self, call: ToolCall) -> None:
        """Return when the call's session is not what it was when it was last observed, or a toolspec of it is not."""
        await self._caches.session_changed(_session_of(call), self._seen.get(call.metadata.uid, ()))

    async def report(self, call: ToolCall, status: ToolCallStatus) -> ToolCall:
        """Keep `status` by one patch, whose answer is not read, and return the call that carries it.

        Raises:
            Unavailable: it could not be kept, as far as anyone knows; the same report may be made again.
            Rejected: it will not be kept as it is.
            Gone: the call is no more.
            Superseded: somebody else has claimed or ended the call.
        """
        uid = call.metadata.uid
        if status.finished:
            self._caches.unfinished.settle(uid)  # before it lands: the watch may tell of it before the answer does
        try:
            kept = await self._write(call, status)
        except BaseException:
            self._caches.unfinished.unsettle(uid)
            raise
        self._caches.unfinished.reported(kept)
        if status.finished:
            self._seen.pop(uid, None)
        return kept

    async def reread(self, call: ToolCall) -> ToolCall:
        """The call as it stands.

        Raises:
            Unavailable: it could not be read.
            Gone: the call is no more.
        """
        address, metadata = _address(call), call.metadata
        manifest = await self._client.get(address)
        if Identity.of(manifest).uid != metadata.uid:
            raise Gone(f"{address} is another one by now")
        try:
            live = parsing.parse(manifest)
        except Malformed as malformed:
            raise Unavailable(f"{address} cannot be read: {malformed.problems[0]}") from None
        if not isinstance(live, ToolCall):
            raise Unavailable(f"{address} is no ToolCall")
        return live

    async def hold(self, call: ToolCall) -> None:
        """Keep the call's object until it is released.

        Raises:
            Unavailable: it may be deleted at any time.
            Gone: the call is no more, or is being deleted already.
            Superseded: somebody has ended it.
        """
        await finalizers.hold(self._client, _holdable(call))

    async def release(self, call: ToolCall) -> None:
        """Let the call's object go; one that is not held, or is gone, is fine.

        Raises:
            Unavailable: it may still be held.
        """
        await finalizers.release(self._client, _holdable(call))

    def remark(self, call: ToolCall, reason: Reason, message: str) -> None:
        """Have a Warning Event written about the call, if that is possible."""
        self._events.warn(Subject.of(call), reason, message)

    async def end_unread(self, unread: Unread, now: datetime) -> None:
        """Write down that a call cannot be read: that is its end, and it is let go.

        Raises:
            Unavailable: it could not be written.
            Rejected: it will not be.
        """
        identity = Identity.of(unread.manifest)
        address = TOOLCALLS.named(identity.name, identity.namespace)
        basis = Basis.OPEN if unread.manifest.get("status") else Basis.NONE
        ended = statuses.malformed(unread.manifest, unread.problems, now)
        self._caches.unfinished.settle(identity.uid)
        try:
            await self._client.patch(address.part("status"), patches.status(identity.uid, ended, basis))
        except Gone:
            self._caches.unfinished.drop(identity.uid)
            return
        except BaseException:
            self._caches.unfinished.unsettle(identity.uid)
            raise
        subject = Subject("ToolCall", identity.namespace, identity.name, identity.uid)
        self._events.warn(subject, Reason.MALFORMED_OBJECT, unread.why)
        held = Holdable.of(address, unread.manifest, FINALIZER)
        if FINALIZER in held.finalizers:
            with suppress(Unavailable):  # it has ended all the same: the next sweep lets go of it
                await finalizers.release(self._client, held)

    async def _write(self, call: ToolCall, status: ToolCallStatus) -> ToolCall:
        """Write a status over the one the call had; if that is no longer there, what is there decides."""
        try:
            return await self._patch(call, call, status)
        except Rejected as refused:
            live = await self.reread(call)
            if _is_ours(live, status):
                return live  # it landed before, and nobody heard of it
            if statuses.is_finished(live) and not statuses.is_finished(call):
                raise Superseded(f"{_address(call)} has ended already") from refused
            if not _same_claim(_claim(live.status), _claim(status)) and _claim(live.status):
                raise Superseded(f"{_address(call)} was claimed by somebody else") from refused
            if _basis(live) is _basis(call):
                raise
            return await self._patch(call, live, status)

    async def _patch(self, call: ToolCall, basis: ToolCall, status: ToolCallStatus) -> ToolCall:
        body = patches.status(call.metadata.uid, status, _basis(basis))
        await self._client.patch(_address(call).part("status"), body)
        return call.model_copy(update={"status": status})

    def _world(self, key: Key) -> World:
        """The world of a session's calls: the same one until something in it changes: it remembers what it found."""
        session, revision = self._caches.sessions.get(key), self._caches.session_revision(key)
        if session is None:
            self._worlds.pop(key, None)
            return self._new_world(None, None, self._caches.unread_sessions.get(key))
        known, world = self._worlds.get(key, ((), None))
        if world is not None and known == revision:
            return world
        frozen = frozen_class(session)
        if frozen is None:
            return self._new_world(session, None, self._caches.unread_classes.get(session.spec.class_))
        world = self._new_world(session, frozen)
        self._worlds[key] = revision, world
        return world

    def _new_world(
        self, session: SpiceboxSession | None, session_class: SpiceboxClass | None, unread: Unread | None = None
    ) -> World:
        why = unread.why if unread else ""
        toolspecs = self._judging(session, session_class) if session and session_class else None
        return World(
            session,
            session_class,
            unread=why,
            on_demand=False,
            patience=self._patience,
            toolspecs=toolspecs,
            identity=self._identity(session),
        )

    def _identity(self, session: SpiceboxSession | None) -> AgentIdentity | None:
        """The AgentIdentity of a session, if there is one that can be read."""
        name = identities.named_by(session) if session else ""
        return self._caches.agents.get((session.metadata.namespace, name)) if session and name else None

    def _judging(self, session: SpiceboxSession, session_class: SpiceboxClass) -> tuple[Candidate, ...] | None:
        """What judges the calls of a session that has its class; None if they are not judged."""
        if not session_class.spec.toolspecs and session.spec.toolspecs is None:
            return None
        names, policies = session.status.effective_toolspecs if session.status else (), self._caches.policies
        return panel.of(names, policies.toolspecs.values, policies.library, policystatus.is_valid)

    async def _refresh(self, key: Key) -> None:
        """Ask for a session, and have the caches know."""
        namespace, name = key
        await self._ask("SpiceboxSession", SESSIONS.named(name, namespace), self._caches.held_session(key))

    async def _refresh_agent(self, call: ToolCall, session: Key) -> None:
        """Ask for the AgentIdentity of a session, unless it is known to have all that the call names."""
        wanted = {each.identity.credential for each in call.spec.credentials if each.identity}
        key = self._caches.agent_of(session)
        if not wanted or key is None:
            return
        known = self._caches.agents.get(key)
        if known is None or not wanted <= {each.name for each in known.spec.credentials}:
            namespace, name = key
            await self._ask("AgentIdentity", AGENT_IDENTITIES.named(name, namespace), self._caches.held_agent(key))

    async def _ask(self, kind: str, address: Address, held: Identity | None) -> None:
        """Have the caches know an object as it is now; one that is made anew after it was `held` is not gone."""
        try:
            self._caches.put(await self._client.get(address))
        except Gone:
            if held:
                self._caches.drop(kind, held)

    def _see(self, uid: str, key: Key) -> None:
        """Remember what was observed; of calls and sessions that are no more, nothing is remembered for long."""
        if len(self._seen) > 2 * len(self._caches.calls) + 100:
            self._seen = {known: revision for known, revision in self._seen.items() if known in self._caches.calls}
        if len(self._worlds) > 2 * len(self._caches.sessions) + 100:
            self._worlds = {known: world for known, world in self._worlds.items() if known in self._caches.sessions}
        self._seen[uid] = self._caches.session_revision(key)


def frozen_class(session: SpiceboxSession) -> SpiceboxClass | None:
    """The class of a session as it was when its sandbox was made; None until then."""
    spec = session.status.resolved_class if session.status else None
    return SpiceboxClass(metadata=ClassMeta(name=session.spec.class_), spec=spec) if spec else None


def _is_ours(live: ToolCall, status: ToolCallStatus) -> bool:
    """Whether a status, or the claim in it, is what stands there.

    A claim that is made again for want of an answer is of another moment, and the same one all the same.
    """
    there = live.status
    if there is None:
        return False
    if there.finished or status.finished:
        return there.to_manifest() == status.to_manifest()
    claim = _claim(status)
    return claim is not None and _same_claim(_claim(there), claim)


def _same_claim(one: Dispatch | None, other: Dispatch | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.model_copy(update={"at": other.at}) == other


def _claim(status: ToolCallStatus | None) -> Dispatch | None:
    return status.dispatch if status else None


def _basis(call: ToolCall) -> Basis:
    if call.status is None:
        return Basis.NONE
    return Basis.ENDED if call.status.finished else Basis.OPEN


def _holdable(call: ToolCall) -> Holdable:
    finalizers, unended = call.metadata.finalizers, call.status is not None
    return Holdable(_address(call), call.metadata.uid, finalizers, FINALIZER, unended)


def _address(call: ToolCall) -> Address:
    return TOOLCALLS.named(call.metadata.name, call.metadata.namespace)


def _session_of(call: ToolCall) -> Key:
    return call.metadata.namespace, call.spec.session
