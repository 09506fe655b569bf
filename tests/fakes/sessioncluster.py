"""A cluster with sessions, classes and pods that live as tests say, and a clock that only tests move."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from toolcall_operator import errors
from toolcall_operator.api.agentidentity import AgentIdentity, AgentIdentityStatus
from toolcall_operator.api.spiceboxclass import SpiceboxClass, SpiceboxClassStatus
from toolcall_operator.api.spiceboxsession import FINALIZER, SpiceboxSession, SpiceboxSessionStatus
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit, SpiceboxToolkitStatus
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec, SpiceboxToolspecStatus
from toolcall_operator.core.judgeable import Judgeable, JudgedStatus
from toolcall_operator.core.pod.pods import Container, PodView
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.unread import Unread
from toolcall_operator.ports import CallState
from toolcall_operator.sessions.ports import Activity, Greeting

BEGINNING = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
Key = tuple[str, str]

GREETING = Greeting("boot-1", "0.1.0", 7, "Landlock", "Blocked")


class FakeTime:
    """Implements `sessions.ports.Time`: it stands still until it is told to pass."""

    def __init__(self) -> None:
        self._now = BEGINNING
        self._timers: list[tuple[datetime, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    async def wait(self, event: asyncio.Event, until: datetime | None) -> None:
        timer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        alarm = (until or datetime.max.replace(tzinfo=UTC), timer)
        self._timers.append(alarm)
        waiting = asyncio.create_task(event.wait())
        try:
            if until is None or until > self._now:
                either: set[asyncio.Future[Any]] = {timer, waiting}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._timers.remove(alarm)
            waiting.cancel()

    async def leap(self, duration: timedelta) -> None:
        """Let much time pass at once."""
        self._now += duration
        await self.pass_by(timedelta())

    async def pass_by(self, duration: timedelta) -> None:
        """Let time pass, and at each moment for which somebody waits, let them do what they do then."""
        end = self._now + duration
        await settle()
        while due := [until for until, timer in self._timers if until <= end and not timer.done()]:
            self._now = max(self._now, min(due))
            for until, timer in self._timers:
                if until <= self._now and not timer.done():
                    timer.set_result(None)
            await settle()
        self._now = end


async def settle() -> None:
    """Let everybody go on until they wait for something that does not come by itself."""
    for _ in range(60):
        await asyncio.sleep(0)


@dataclass
class FakeSessionCluster:
    """Implements `sessions.ports.SessionCluster`; `wake` is told of each session that changed.

    `faults` holds, by the name of an operation, what its next attempts raise; `always` what each one raises.
    `lingering` pods stay when they are deleted; a `lagging` cache does not show what was reported. `unread` tells which
    sessions cannot be read and why, `unread_classes` and `unread_agents` the same of classes and AgentIdentities,
    `unread_policies` of toolkits and toolspecs by kind and name. Of `uncached` classes and `uncached_agents` only
    asking tells. `log` tells what was made and unmade, in order; `asked` how often each operation was asked for.
    """

    time: FakeTime
    wake: Callable[[Key], None] = lambda _key: None
    wake_class: Callable[[str], None] = lambda _name: None
    wake_toolkit: Callable[[str], None] = lambda _name: None
    wake_toolspec: Callable[[str], None] = lambda _name: None
    wake_agent: Callable[[Key], None] = lambda _key: None
    lingering: bool = False
    lagging: bool = False
    faults: dict[str, list[errors.OperatorError]] = field(default_factory=dict)
    always: dict[str, errors.OperatorError] = field(default_factory=dict)
    objects: dict[Key, SpiceboxSession] = field(default_factory=dict)
    classes: dict[str, SpiceboxClass] = field(default_factory=dict)
    unread: dict[Key, str] = field(default_factory=dict)
    unread_classes: dict[str, str] = field(default_factory=dict)
    toolkits: dict[str, SpiceboxToolkit] = field(default_factory=dict)
    toolspecs: dict[str, SpiceboxToolspec] = field(default_factory=dict)
    unread_policies: dict[tuple[str, str], Unread] = field(default_factory=dict)
    library: Library = field(default_factory=Library)
    agents: dict[Key, AgentIdentity] = field(default_factory=dict)
    unread_agents: dict[Key, str] = field(default_factory=dict)
    uncached_agents: set[Key] = field(default_factory=set)
    uncached: dict[str, SpiceboxClass] = field(default_factory=dict)
    manifests: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    views: dict[str, PodView] = field(default_factory=dict)
    config_maps: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    toolcalls: dict[str, bool] = field(default_factory=dict)
    annotations: dict[str, Mapping[str, str | None]] = field(default_factory=dict)
    reported: list[SpiceboxSessionStatus] = field(default_factory=list)
    reported_classes: list[SpiceboxClassStatus] = field(default_factory=list)
    reported_policies: list[tuple[str, SpiceboxToolkitStatus | SpiceboxToolspecStatus]] = field(default_factory=list)
    reported_agents: list[tuple[str, AgentIdentityStatus]] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)

    # What tests do ------------------------------------------------------------------------------------------------
    def apply(self, session: SpiceboxSession) -> None:
        """A session is made or changed."""
        key = session.metadata.namespace, session.metadata.name
        self.objects[key] = session
        self.wake(key)

    def apply_class(self, session_class: SpiceboxClass) -> None:
        """A class is made or changed."""
        self.classes[session_class.metadata.name] = session_class
        self.wake_class(session_class.metadata.name)

    def remove_class(self, name: str) -> None:
        """A class is deleted."""
        del self.classes[name]
        self.wake_class(name)

    def apply_policy(self, policy: SpiceboxToolkit | SpiceboxToolspec) -> None:
        """A toolkit or a toolspec is made or changed."""
        self.unread_policies.pop((policy.kind, policy.metadata.name), None)
        if isinstance(policy, SpiceboxToolkit):
            self.toolkits[policy.metadata.name] = policy
            self._wake_for(policy, self.library.put_toolkit(policy))
        else:
            self.toolspecs[policy.metadata.name] = policy
            self._wake_for(policy, self.library.put_toolspec(policy))

    def remove_policy(self, policy: SpiceboxToolkit | SpiceboxToolspec) -> None:
        """A toolkit or a toolspec is deleted."""
        name = policy.metadata.name
        if isinstance(policy, SpiceboxToolkit):
            del self.toolkits[name]
            self._wake_for(policy, self.library.drop_toolkit(name))
        else:
            del self.toolspecs[name]
            self._wake_for(policy, self.library.drop_toolspec(name))

    def garble_policy(self, policy: SpiceboxToolkit | SpiceboxToolspec, why: str) -> None:
        """A toolkit or a toolspec comes to be one that cannot be read."""
        name, unread = policy.metadata.name, Unread.of(policy.to_manifest(), (why,))
        self.unread_policies[policy.kind, name] = unread
        if isinstance(policy, SpiceboxToolkit):
            self.toolkits.pop(name, None)
            self._wake_for(policy, self.library.put_unread_toolkit(name, unread))
        else:
            self.toolspecs.pop(name, None)
            self._wake_for(policy, self.library.put_unread_toolspec(name, unread))

    def garble(self, key: Key, why: str = "") -> None:
        """A session comes to be one that cannot be read, or, without a reason for that, can be read again."""
        self.unread[key] = why
        self.wake(key)

    def garble_class(self, name: str, why: str = "") -> None:
        """So does a class."""
        self.unread_classes[name] = why
        self.wake_class(name)

    def apply_agent(self, agent: AgentIdentity) -> None:
        """An AgentIdentity is made or changed."""
        key = agent.metadata.namespace, agent.metadata.name
        self.agents[key] = agent
        self.wake_agent(key)

    def remove_agent(self, key: Key) -> None:
        """An AgentIdentity is deleted."""
        del self.agents[key]
        self.wake_agent(key)

    def garble_agent(self, key: Key, why: str = "") -> None:
        """An AgentIdentity comes to be one that cannot be read, or can be read again."""
        self.unread_agents[key] = why
        self.wake_agent(key)

    def delete(self, key: Key) -> None:
        """Somebody deletes a session."""
        session = self.objects[key]
        if session.metadata.finalizers:
            self._meta(session, deletion_timestamp=self.time.now())
        else:
            self.vanish(key)

    def vanish(self, key: Key) -> None:
        """A session is no more."""
        del self.objects[key]
        self.wake(key)

    def change_pod(self, name: str, **changes: Any) -> None:  # noqa: ANN401 (fields of a pod)
        """Something becomes of a pod."""
        self.views[name] = replace(self.views[name], **changes)
        self._wake_all()

    def run(self, name: str) -> None:
        """The sandbox of a pod begins to run."""
        self.change_pod(name, phase="Running", sandbox=Container("sandbox", is_running=True))

    def kill(self, name: str, reason: str = "Error") -> None:
        """The sandbox of a pod ends."""
        ended = Container("sandbox", ended=True, reason=reason, exit_code=137)
        self.change_pod(name, phase="Failed", sandbox=ended)

    def remove_pod(self, name: str) -> None:
        """A pod is no more."""
        del self.views[name]
        self._wake_all()

    # The port -----------------------------------------------------------------------------------------------------
    def session(self, key: Key) -> SpiceboxSession | None:
        return None if self.unread.get(key) else self.objects.get(key)

    def session_class(self, name: str) -> SpiceboxClass | None:
        return None if self.unread_classes.get(name) else self.classes.get(name)

    def unread_session(self, key: Key) -> Unread | None:
        why, session = self.unread.get(key), self.objects.get(key)
        return Unread.of(session.to_manifest(), (why,)) if why and session else None

    def unread_class(self, name: str) -> Unread | None:
        why, session_class = self.unread_classes.get(name), self.classes.get(name)
        return Unread.of(session_class.to_manifest(), (why,)) if why and session_class else None

    def toolkit(self, name: str) -> SpiceboxToolkit | None:
        return self.toolkits.get(name)

    def toolspec(self, name: str) -> SpiceboxToolspec | None:
        return self.toolspecs.get(name)

    def unread_toolkit(self, name: str) -> Unread | None:
        return self.unread_policies.get(("SpiceboxToolkit", name))

    def unread_toolspec(self, name: str) -> Unread | None:
        return self.unread_policies.get(("SpiceboxToolspec", name))

    def agent(self, key: Key) -> AgentIdentity | None:
        return None if self.unread_agents.get(key) else self.agents.get(key)

    def unread_agent(self, key: Key) -> Unread | None:
        why, agent = self.unread_agents.get(key), self.agents.get(key)
        return Unread.of(agent.to_manifest(), (why,)) if why and agent else None

    async def has_agent(self, key: Key) -> bool:
        self._act("has_agent")
        return key in self.agents or key in self.uncached_agents

    async def live_class(self, name: str) -> SpiceboxClass | None:
        self._act("live_class")
        if why := self.unread_classes.get(name):
            raise errors.Rejected(why)
        return self.uncached.get(name) or self.classes.get(name)

    def pods(self, session: SpiceboxSession) -> tuple[PodView, ...]:
        return tuple(pod for pod in self.views.values() if pod.session_uid == session.metadata.uid)

    async def live_calls(self, namespace: str) -> Mapping[str, bool]:  # noqa: ARG002 (one namespace for every call)
        self._act("live_calls")
        return dict(self.toolcalls)

    async def namespace_labels(self, namespace: str) -> Mapping[str, str]:  # noqa: ARG002 (one namespace)
        self._act("namespace_labels")
        return dict(self.labels)

    async def config_map(self, namespace: str, name: str) -> Mapping[str, Any] | None:  # noqa: ARG002 (one namespace)
        self._act("config_map")
        return self.config_maps.get(name)

    async def report_session(self, session: SpiceboxSession, status: SpiceboxSessionStatus) -> SpiceboxSession:
        self._act("report")
        live = self._live(session)
        self.reported.append(status)
        written = live.model_copy(update={"status": SpiceboxSessionStatus.model_validate(status.to_manifest())})
        if not self.lagging:
            self.apply(written)
        return written

    async def report_judged(self, judged: Judgeable, status: JudgedStatus) -> None:
        self._act("report_judged")
        name = judged.metadata.name
        if isinstance(judged, AgentIdentity):
            self._report_agent(judged, status)
            return
        kept = {**self.classes, **self.toolkits, **self.toolspecs}
        if name not in kept:
            raise errors.Gone(f"no such {judged.kind}")
        if isinstance(status, SpiceboxClassStatus):
            self.reported_classes.append(status)
            self.apply_class(self.classes[name].model_copy(update={"status": status}))
        else:
            assert isinstance(status, SpiceboxToolkitStatus | SpiceboxToolspecStatus)
            self.reported_policies.append((name, status))
            policy = self.toolkits[name] if isinstance(judged, SpiceboxToolkit) else self.toolspecs[name]
            self.apply_policy(policy.model_copy(update={"status": status}))

    async def report_unread(
        self, unread: SpiceboxSession | Judgeable, status: SpiceboxSessionStatus | JudgedStatus
    ) -> None:
        told = {"conditions": status.conditions, "observed_generation": status.observed_generation}
        if isinstance(unread, SpiceboxSession):
            live = self._live(unread)
            await self.report_session(live, (live.status or SpiceboxSessionStatus()).model_copy(update=told))
        elif isinstance(unread, SpiceboxClass):
            kept = self.classes[unread.metadata.name]
            await self.report_judged(kept, (kept.status or SpiceboxClassStatus()).model_copy(update=told))
        elif isinstance(unread, AgentIdentity):
            agent = self.agents[unread.metadata.namespace, unread.metadata.name]
            await self.report_judged(agent, (agent.status or AgentIdentityStatus()).model_copy(update=told))
        else:
            assert isinstance(status, SpiceboxToolkitStatus | SpiceboxToolspecStatus)
            self._act("report_judged")
            self.reported_policies.append((unread.metadata.name, status))
            garbled = self.unread_policies[unread.kind, unread.metadata.name]
            self.garble_policy(unread.model_copy(update={"status": status}), garbled.why)

    async def hold_session(self, session: SpiceboxSession) -> None:
        self._act("hold", tell="hold")
        self._meta(self._live(session), finalizers=(*session.metadata.finalizers, FINALIZER))

    async def release_session(self, session: SpiceboxSession) -> None:
        self._act("release", tell="release")
        with suppress(errors.Gone):
            live = self._live(session)
            left = tuple(each for each in live.metadata.finalizers if each != FINALIZER)
            self._meta(live, finalizers=left)
            if live.metadata.deletion_timestamp and not left:
                self.vanish((live.metadata.namespace, live.metadata.name))

    async def create(self, manifest: Mapping[str, Any]) -> None:
        name = manifest["metadata"]["name"]
        self._act(f"create {manifest['kind']}", tell=f"create {manifest['kind']} {name}")
        if name in self.views:
            return
        self.manifests[name] = manifest
        if manifest["kind"] == "Pod":
            uid = f"uid-of-{name}-{len(self.manifests)}"
            view = PodView.parse({**manifest, "metadata": {**manifest["metadata"], "uid": uid}})
            self.views[name] = replace(view, phase="Pending", created_at=self.time.now())
            self._wake_all()

    async def delete_pod(self, pod: PodView, grace: int | None = None) -> None:  # noqa: ARG002 (they end at once)
        self._act("delete_pod", tell=f"delete Pod {pod.name}")
        if pod.name in self.views and self.views[pod.name].uid == pod.uid:
            if self.lingering:
                self.change_pod(pod.name, deleting=True)
            else:
                self.remove_pod(pod.name)

    async def delete_session(self, session: SpiceboxSession) -> None:
        self._act("delete_session", tell="delete session")
        self.delete((session.metadata.namespace, session.metadata.name))

    async def annotate_pod(self, pod: PodView, annotations: Mapping[str, str | None]) -> None:
        self._act("annotate_pod")
        self.annotations[pod.name] = annotations

    def remark(self, obj: SpiceboxSession | Judgeable, reason: str, message: str) -> None:  # noqa: ARG002 (all in one list)
        self.remarks.append((reason, message))

    def _act(self, operation: str, tell: str = "") -> None:
        self.asked[operation] += 1
        if fault := self.always.get(operation):
            raise fault
        if waiting := self.faults.get(operation):
            raise waiting.pop(0)
        if tell:
            self.log.append(tell)

    def _report_agent(self, agent: AgentIdentity, status: JudgedStatus) -> None:
        assert isinstance(status, AgentIdentityStatus)
        live = self.agents.get((agent.metadata.namespace, agent.metadata.name))
        if live is None or live.metadata.uid != agent.metadata.uid:
            raise errors.Gone("no such AgentIdentity")
        self.reported_agents.append((agent.metadata.name, status))
        self.apply_agent(live.model_copy(update={"status": status}))

    def _live(self, session: SpiceboxSession) -> SpiceboxSession:
        live = self.objects.get((session.metadata.namespace, session.metadata.name))
        if live is None or live.metadata.uid != session.metadata.uid:
            raise errors.Gone("no such session")
        return live

    def _meta(self, session: SpiceboxSession, **update: Any) -> None:  # noqa: ANN401 (fields of metadata)
        self.apply(session.model_copy(update={"metadata": session.metadata.model_copy(update=update)}))

    def _wake_for(self, policy: SpiceboxToolkit | SpiceboxToolspec, toolspecs: frozenset[str]) -> None:
        if isinstance(policy, SpiceboxToolkit):
            self.wake_toolkit(policy.metadata.name)
        for name in toolspecs | ({policy.metadata.name} if isinstance(policy, SpiceboxToolspec) else set()):
            self.wake_toolspec(name)

    def _wake_all(self) -> None:
        for key in list(self.objects):
            self.wake(key)


@dataclass
class FakeSupervisor:
    """Implements `sessions.ports.Supervisor`; calls that are killed end when `obeys`."""

    held: dict[str, str] = field(default_factory=dict)
    obeys: bool = True
    killed: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)

    async def calls(self) -> Mapping[str, str]:
        return dict(self.held)

    async def kill(self, uid: str) -> None:
        self.killed.append(uid)
        if self.obeys:
            self.held[uid] = CallState.EXITED

    async def acknowledge(self, uid: str) -> None:
        if self.held[uid] == CallState.RUNNING:
            raise errors.Unavailable("the call still runs")
        self.acknowledged.append(uid)
        self.held[uid] = CallState.ACKNOWLEDGED


@dataclass
class FakeGreeter:
    """Implements `sessions.ports.Greeter`: every supervisor says `greeting`, those of `silent` pods not yet.

    First `faults` are raised, one by one; `broken` always is.
    """

    greeting: Greeting = GREETING
    faults: list[errors.OperatorError] = field(default_factory=list)
    broken: errors.OperatorError | None = None
    supervisor: FakeSupervisor = field(default_factory=FakeSupervisor)
    silent: set[str] = field(default_factory=set)
    greeted: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    async def greet(self, pod: PodView, session: SpiceboxSession) -> Greeting:  # noqa: ARG002 (the port's)
        self.greeted.append(pod.name)
        if pod.name in self.silent:
            await asyncio.Event().wait()
        if self.broken:
            raise self.broken
        if self.faults:
            raise self.faults.pop(0)
        return self.greeting

    def opened(self, pod: PodView) -> FakeSupervisor:  # noqa: ARG002 (one supervisor for all)
        return self.supervisor

    async def leave(self, pod_uid: str) -> None:
        self.left.append(pod_uid)


@dataclass
class FakeCalls:
    """Implements `sessions.ports.Calls`; calls of a session that ends do so when `obeys`. `waiting`: calls in line."""

    done: Activity = field(default_factory=Activity)
    flying: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    obeys: bool = True
    ended: list[Key] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)

    def activity(self, session: Key, uid: str) -> Activity:  # noqa: ARG002 (one session at a time)
        return replace(self.done, in_flight=len(self.flying), waiting=len(self.waiting))

    async def end_session(self, session: Key) -> None:
        self.ended.append(session)
        if self.obeys:
            self.flying.clear()
        while self.flying:  # noqa: ASYNC110 (a fake has no event of its own)
            await asyncio.sleep(0)

    def knows(self, uid: str) -> bool:
        return uid in self.flying

    def forget(self, session_uid: str) -> None:
        self.forgotten.append(session_uid)
