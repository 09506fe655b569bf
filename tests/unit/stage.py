"""A stage on which one call, or many, are carried out by fakes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.fakes.artifacts import FakeArtifacts
from tests.fakes.broker import FakeBroker
from tests.fakes.cluster import FakeCluster
from tests.fakes.sandbox import Behaviour, FakeSandbox, FakeSandboxes, Script
from tests.unit.core import examples
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.world import World
from toolcall_operator.ports import Ports
from toolcall_operator.reconcile.reconcile import reconcile
from toolcall_operator.reconcile.record import Stop
from toolcall_operator.slots import Limits, Slots

SESSION = "default/work"
ECHO = "/bin/echo"


def says(text: bytes = b"hello\n", **more: Any) -> Behaviour:  # noqa: ANN401 (fields of a script)
    """A program that writes `text` and ends as `more` says."""
    return lambda _request: Script(stdout=text, **more)


@dataclass
class Stage:
    """Fakes for everything outside, a clock that stands still, and one session of one class."""

    world: World = field(default_factory=examples.world)
    now: datetime = examples.NOW
    calls_at_once: int = 256
    sandboxes: FakeSandboxes = field(default_factory=FakeSandboxes)
    artifacts: FakeArtifacts = field(default_factory=FakeArtifacts)
    broker: FakeBroker = field(default_factory=FakeBroker)

    def __post_init__(self) -> None:
        self.cluster = FakeCluster(self.world)
        self.ports = Ports(
            cluster=self.cluster,
            sandboxes=self.sandboxes,
            broker=self.broker,
            artifacts=self.artifacts,
            slots=Slots(Limits(self.calls_at_once, self.calls_at_once), lambda: self.now),
            now=lambda: self.now,
            operator="test",
            fault_budget=timedelta(minutes=2),
        )

    @property
    def sandbox(self) -> FakeSandbox:
        """The session's sandbox."""
        return self.sandboxes.of(SESSION)

    def runs(self, behaviour: Behaviour) -> Stage:
        """Have the example's program behave so."""
        self.sandbox.behaviours[ECHO] = behaviour
        return self

    async def carry(self, call: ToolCall | None = None, stop: Stop | None = None) -> ToolCall:
        """Carry a call to its end."""
        async with asyncio.timeout(10):
            return await reconcile(call or examples.call(), self.ports, stop or Stop())


def ending(call: ToolCall) -> tuple[str, str, int | None]:
    """How a call ended: the terminal condition, its reason, the exit code."""
    assert call.status is not None
    ends = [each for each in call.status.conditions if each.type in {"Succeeded", "Failed", "Timeout", "Canceled"}]
    assert [each.status for each in ends] == ["True"]
    return ends[0].type, ends[0].reason, call.status.exit_code


async def until(holds: Callable[[], object]) -> None:
    """Return as soon as something holds."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 (what is awaited has no event of its own)
            await asyncio.sleep(0.001)
