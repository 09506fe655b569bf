"""A stage on which sessions are looked after by the controller, while everything outside is a fake."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tests.fakes.secrets import FakeSecrets
from tests.fakes.sessioncluster import BEGINNING, FakeCalls, FakeGreeter, FakeSessionCluster, FakeTime, settle
from tests.unit.core import examples
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession, SpiceboxSessionStatus
from toolcall_operator.core import conditions
from toolcall_operator.core.pod.podspec import SandboxSettings
from toolcall_operator.sessions import SessionController
from toolcall_operator.sessions.ports import SessionPorts

KEY = ("default", "work")
POD = "work-pod"
BOT = ("default", "bot")


def session(
    name: str = "work",
    *,
    uid: str = "",
    meta: Mapping[str, Any] | None = None,
    **spec: Any,  # noqa: ANN401 (fields of a manifest)
) -> SpiceboxSession:
    """A session of class `plain`."""
    about = {"name": name, "uid": uid or f"uid-of-{name}", "generation": 1, "creationTimestamp": BEGINNING}
    return SpiceboxSession.model_validate({"metadata": {**about, **(meta or {})}, "spec": {"class_": "plain", **spec}})


def session_class(**spec: Any) -> SpiceboxClass:  # noqa: ANN401 (fields of a manifest)
    """Class `plain`, which is valid."""
    made = examples.session_class(**{"image": "tools:1", **spec})
    return made.model_copy(
        update={"metadata": made.metadata.model_copy(update={"uid": "uid-of-plain", "generation": 1})}
    )


def agent(
    name: str = "bot",
    *,
    namespace: str = "default",
    generation: int = 1,
    **spec: Any,  # noqa: ANN401 (fields of a manifest)
) -> AgentIdentity:
    """An AgentIdentity without credentials."""
    about = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}", "generation": generation}
    return AgentIdentity.model_validate({"metadata": about, "spec": spec})


@dataclass
class SessionStage:
    """Fakes for everything outside, and a controller that is woken by every change."""

    time: FakeTime = field(default_factory=FakeTime)
    greeter: FakeGreeter = field(default_factory=FakeGreeter)
    calls: FakeCalls = field(default_factory=FakeCalls)
    secrets: FakeSecrets = field(default_factory=FakeSecrets)

    def __post_init__(self) -> None:
        self.cluster = FakeSessionCluster(self.time)
        self.controller = self._controller()

    def _controller(self, *, consent_required: bool = True) -> SessionController:
        settings = SandboxSettings(supervisor_image="supervisor:1", default_image="default:1")
        ports = SessionPorts(
            cluster=self.cluster,
            greeter=self.greeter,
            calls=self.calls,
            time=self.time,
            settings=settings,
            key_hash=lambda uid: f"hash-of-{uid}",
            secrets=self.secrets,
            consent_required=lambda: consent_required,
        )
        controller = SessionController(ports)
        self.cluster.wake, self.cluster.wake_class = controller.touch, controller.touch_class
        self.cluster.wake_toolkit, self.cluster.wake_toolspec = controller.touch_toolkit, controller.touch_toolspec
        self.cluster.wake_agent = controller.touch_agent
        return controller

    async def another_leads(self, calls: FakeCalls | None = None, *, consent_required: bool = True) -> None:
        """Another process takes over: it remembers nothing."""
        await self.controller.stop()
        self.calls = calls or FakeCalls()
        self.controller = self._controller(consent_required=consent_required)
        for toolkit in self.cluster.toolkits:
            self.controller.touch_toolkit(toolkit)
        for toolspec in self.cluster.toolspecs:
            self.controller.touch_toolspec(toolspec)
        for name in self.cluster.classes:
            self.controller.touch_class(name)
        for agent in self.cluster.agents:
            self.controller.touch_agent(agent)
        for key in self.cluster.objects:
            self.controller.touch(key)
        await settle()

    async def passes(self, **duration: float) -> None:
        """Let time pass."""
        async with asyncio.timeout(10):
            await self.time.pass_by(timedelta(**duration))

    async def leaps(self, **duration: float) -> None:
        """Let much time pass at once."""
        async with asyncio.timeout(10):
            await self.time.leap(timedelta(**duration))

    async def is_ready(self, *sessions: SpiceboxSession) -> None:
        """Have a session whose sandbox is ready."""
        if "plain" not in self.cluster.classes:
            self.cluster.apply_class(session_class())
        for each in sessions or (session(),):
            self.cluster.apply(each)
            await settle()
            self.cluster.run(f"{each.metadata.name}-pod")
        await settle()

    def status(self, name: str = "work") -> SpiceboxSessionStatus:
        """The status of a session, as anyone can read it."""
        status = self.cluster.objects["default", name].status
        assert status is not None
        return status

    def condition(self, kind: str, name: str = "work") -> Condition | None:
        """A condition of a session."""
        return conditions.find(self.status(name).conditions, kind)

    def says(self, kind: str, name: str = "work") -> str:
        """A condition as `Status/Reason`; empty if it is not there."""
        found = self.condition(kind, name)
        return f"{found.status}/{found.reason}" if found else ""
