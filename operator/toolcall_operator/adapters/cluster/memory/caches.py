"""What the cluster was last seen to hold: calls that have not ended, sessions and what they are made of, pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Protocol

from toolcall_operator.adapters.cluster.memory.policies import Changed, Policies
from toolcall_operator.adapters.cluster.memory.shelf import HasIdentity, Identity, Manifest, Shelf, reader
from toolcall_operator.adapters.cluster.memory.unfinished import Calls
from toolcall_operator.adapters.cluster.memory.wakes import Asleep, Wakes
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import identities
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.unread import Unread

Key = tuple[str, str]
"""A namespace and a name."""

Revision = tuple[int, ...]
"""Numbers that are not what they were once something is not what it was."""


class Kept(Protocol):
    """What is kept of one kind."""

    def __iter__(self) -> Iterator[HasIdentity]:
        """All of it."""
        ...

    def holds(self, identity: Identity) -> bool:
        """Whether this very object is among it."""
        ...

    def is_news(self, manifest: Manifest) -> bool:
        """Whether an object, or the metadata of one, tells something that is not known yet."""
        ...


class Caches:
    """The objects that matter here, as the watches last told; `wakes` is told of every change, once it stands here.

    An object that cannot be read is kept as such, and disturbs no other.
    """

    def __init__(self, wakes: Wakes | None = None) -> None:
        self.wakes: Wakes = wakes or Asleep()
        self.unfinished = Calls()
        self.policies = Policies()
        self._sessions: Shelf[Key, SpiceboxSession] = Shelf(lambda identity: identity.key, reader(SpiceboxSession))
        self._classes: Shelf[str, SpiceboxClass] = Shelf(lambda identity: identity.name, reader(SpiceboxClass))
        self._agents: Shelf[Key, AgentIdentity] = Shelf(lambda identity: identity.key, reader(AgentIdentity))
        self._pods: Shelf[Key, PodView] = Shelf(lambda identity: identity.key, PodView.parse)
        self._kept: Mapping[str, Kept] = {
            "ToolCall": self.unfinished,
            "SpiceboxSession": self._sessions,
            "SpiceboxClass": self._classes,
            **self.policies.shelves,
            "AgentIdentity": self._agents,
            "Pod": self._pods,
        }
        self._pods_of: dict[str, dict[Key, PodView]] = {}
        self._waiting: dict[Key, set[asyncio.Future[None]]] = {}

    @property
    def calls(self) -> Mapping[str, ToolCall]:
        """The calls that have not ended and can be read, by UID."""
        return self.unfinished.values

    @property
    def sessions(self) -> Mapping[Key, SpiceboxSession]:
        """The sessions that can be read."""
        return self._sessions.values

    @property
    def classes(self) -> Mapping[str, SpiceboxClass]:
        """The classes that can be read, by name."""
        return self._classes.values

    @property
    def agents(self) -> Mapping[Key, AgentIdentity]:
        """The AgentIdentities that can be read."""
        return self._agents.values

    @property
    def pods(self) -> Mapping[Key, PodView]:
        """The pods of sandboxes."""
        return self._pods.values

    def pods_of(self, session_uid: str) -> tuple[PodView, ...]:
        """The pods whose controller is the session with this UID."""
        return tuple(self._pods_of.get(session_uid, {}).values())

    @property
    def unread_sessions(self) -> Mapping[Key, Unread]:
        """The sessions that are there and cannot be read."""
        return self._sessions.unread

    @property
    def unread_classes(self) -> Mapping[str, Unread]:
        """The classes that are there and cannot be read, by name."""
        return self._classes.unread

    @property
    def unread_agents(self) -> Mapping[Key, Unread]:
        """The AgentIdentities that are there and cannot be read."""
        return self._agents.unread

    def held_session(self, key: Key) -> Identity | None:
        """Which session is under a key, whether it can be read or not."""
        held = self._sessions.get(key)
        return held.identity if held else None

    def held_agent(self, key: Key) -> Identity | None:
        """Which AgentIdentity is under a key, whether it can be read or not."""
        held = self._agents.get(key)
        return held.identity if held else None

    def agent_of(self, session: Key) -> Key | None:
        """The key of the AgentIdentity of a session, if that names one and can be read."""
        found = self.sessions.get(session)
        name = identities.named_by(found) if found else ""
        return (session[0], name) if name else None

    def identities(self, kind: str) -> tuple[Identity, ...]:
        """Everything that is kept of a kind."""
        return tuple(held.identity for held in self._kept[kind])

    def holds(self, kind: str, identity: Identity) -> bool:
        """Whether this very object is kept."""
        return self._kept[kind].holds(identity)

    def is_news(self, manifest: Manifest) -> bool:
        """Whether an object, or the metadata of one, tells something that is not known yet."""
        return self._kept[manifest["kind"]].is_news(manifest)

    def put(self, manifest: Manifest) -> None:
        """Keep an object as it is now, and wake whom it concerns if that is news."""
        match manifest.get("kind"):
            case "ToolCall":
                self._put_call(manifest)
            case "SpiceboxSession":
                if held := self._sessions.put(manifest):
                    self._touch(held.identity.key)
            case "SpiceboxClass":
                if held_class := self._classes.put(manifest):
                    self.wakes.session_class(held_class.identity.name)
            case "SpiceboxToolkit" | "SpiceboxToolspec":
                self._tell_of(self.policies.put(manifest))
            case "AgentIdentity":
                if held_agent := self._agents.put(manifest):
                    self._touch_agent(held_agent.identity.key)
            case "Pod":
                self._put_pod(manifest)

    def drop(self, kind: str, identity: Identity) -> None:
        """Forget an object that is no more, and wake whom it concerns."""
        match kind:
            case "ToolCall":
                self._drop_call(identity)
            case "SpiceboxSession":
                if held := self._sessions.drop(identity):
                    self._touch(held.identity.key)
            case "SpiceboxClass":
                if held_class := self._classes.drop(identity):
                    self.wakes.session_class(held_class.identity.name)
            case "SpiceboxToolkit" | "SpiceboxToolspec":
                self._tell_of(self.policies.drop(kind, identity))
            case "AgentIdentity":
                if held_agent := self._agents.drop(identity):
                    self._touch_agent(held_agent.identity.key)
            case "Pod":
                self._drop_pod(identity)

    def amend(self, session: SpiceboxSession) -> None:
        """Keep the status of a session that was written here, and wake who waits for it; its echo will come, too."""
        key = (session.metadata.namespace, session.metadata.name)
        if self._sessions.amend(key, session.metadata.uid, session):
            self._wake_waiting(key)

    def amend_toolspec(self, toolspec: SpiceboxToolspec) -> None:
        """Keep the status of a toolspec that was written here, and wake the calls that wait for it."""
        if changed := self.policies.amend(toolspec):
            self._wake_judged_by(changed)

    def replay(self) -> None:
        """Tell `wakes` of everything that is there: it has just come."""
        self._replay_calls()
        for toolkit in self.policies.toolkits:
            self.wakes.toolkit(toolkit.identity.name)
        for toolspec in self.policies.toolspecs:
            self.wakes.toolspec(toolspec.identity.name)
        for held_class in self._classes:
            self.wakes.session_class(held_class.identity.name)
        for held_agent in self._agents:
            self.wakes.agent(held_agent.identity.key)
        for held in self._sessions:
            self.wakes.session(held.identity.key)
        for pod in list(self.pods.values()):
            self.wakes.pod(pod, gone=False)

    def session_revision(self, key: Key) -> Revision:
        """What is another one whenever the session under `key` is, its absence, its agent, or what judges for it."""
        agent = self.agent_of(key)
        of_agent = self._agents.revision(agent) if agent else 0
        return (self._sessions.revision(key), of_agent, *map(self.policies.revision, self._toolspecs_of(key)))

    async def session_changed(self, key: Key, since: Revision) -> None:
        """Return when `session_revision` is not `since` any more."""
        while self.session_revision(key) == since:
            change = asyncio.get_running_loop().create_future()
            waiting = self._waiting.setdefault(key, set())
            waiting.add(change)
            try:
                await change
            finally:
                waiting.discard(change)
                if not waiting and self._waiting.get(key) is waiting:
                    del self._waiting[key]

    def _replay_calls(self) -> None:
        for uid, call in list(self.calls.items()):
            if not self.unfinished.is_settling(uid):  # it has ended; the watch has yet to say so
                self.wakes.call(call)
        for uid, unread in list(self.unfinished.unread.items()):
            if not self.unfinished.is_settling(uid):
                self.wakes.call_unread(unread)

    def _put_call(self, manifest: Manifest) -> None:
        match self.unfinished.put(manifest):
            case ToolCall() as call:
                self.wakes.call(call)
            case Unread() as unread:
                self.wakes.call_unread(unread)

    def _drop_call(self, identity: Identity) -> None:
        if self.unfinished.drop(identity.uid):
            self.wakes.call_gone(identity.uid)

    def _put_pod(self, manifest: Manifest) -> None:
        before = self._pods.get(Identity.of(manifest).key)
        held = self._pods.put(manifest)
        if held is None or isinstance(held.value, Unread):
            return
        if before and not isinstance(before.value, Unread):
            self._unlink(before.identity.key, before.value)
            if before.identity.uid != held.identity.uid:
                self.wakes.pod(before.value, gone=True)
        self._pods_of.setdefault(held.value.session_uid, {})[held.identity.key] = held.value
        self.wakes.pod(held.value, gone=False)
        self._wake_session_of(held.value)

    def _drop_pod(self, identity: Identity) -> None:
        held = self._pods.drop(identity)
        if held and not isinstance(held.value, Unread):
            self._unlink(identity.key, held.value)
            self.wakes.pod(held.value, gone=True)
            self._wake_session_of(held.value)

    def _unlink(self, key: Key, pod: PodView) -> None:
        linked = self._pods_of.get(pod.session_uid, {})
        linked.pop(key, None)
        if not linked:
            self._pods_of.pop(pod.session_uid, None)

    def _wake_session_of(self, pod: PodView) -> None:
        for held in self._sessions:
            if held.identity.uid == pod.session_uid:
                self.wakes.session(held.identity.key)
                return

    def _touch(self, key: Key) -> None:
        """A session changed: wake those who wait for that, and its controller."""
        self._wake_waiting(key)
        self.wakes.session(key)

    def _touch_agent(self, agent: Key) -> None:
        """An AgentIdentity changed: wake those who wait for a session of it, and its controller."""
        for key in [key for key in self._waiting if self.agent_of(key) == agent]:
            self._wake_waiting(key)
        self.wakes.agent(agent)

    def _tell_of(self, changed: Changed | None) -> None:
        """Toolkits and toolspecs changed: wake who waits for that, and their controllers."""
        if changed:
            self._wake_judged_by(changed)
            for name in sorted(changed.toolkits):
                self.wakes.toolkit(name)
            for name in sorted(changed.toolspecs):
                self.wakes.toolspec(name)

    def _wake_judged_by(self, changed: Changed) -> None:
        for key in [key for key in self._waiting if not changed.toolspecs.isdisjoint(self._toolspecs_of(key))]:
            self._wake_waiting(key)

    def _toolspecs_of(self, key: Key) -> tuple[str, ...]:
        """The toolspecs that judge the calls of a session."""
        session = self.sessions.get(key)
        return session.status.effective_toolspecs if session and session.status else ()

    def _wake_waiting(self, key: Key) -> None:
        for change in self._waiting.pop(key, ()):
            if not change.done():
                change.set_result(None)
