"""Whatever happens to a session, it has a sandbox in the end, and leaves nothing behind."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.fakes.sessioncluster import GREETING, FakeCalls, settle
from tests.unit.sessions.stage import KEY, SessionStage, session, session_class
from toolcall_operator import errors
from toolcall_operator.sessions.ports import Activity

OPERATIONS = ("report", "hold", "create Pod", "create NetworkPolicy", "delete_pod", "annotate_pod", "live_calls")
AWAY = errors.Unavailable("away")


class Weather:
    """Does things to a cluster that happen to clusters; `seed` says which."""

    def __init__(self, stage: SessionStage, seed: int) -> None:
        self.stage = stage
        self.chance = random.Random(seed)  # noqa: S311 (a test is to be repeated)

    async def strikes(self) -> None:
        """One thing happens."""
        kinds: tuple[Callable[[], None], ...] = (
            self.a_pod_runs,
            self.a_pod_ends,
            self.a_pod_vanishes,
            self.a_pod_is_deleted,
            self.the_api_server_stumbles,
            self.a_quota_strikes,
            self.a_call_runs,
            self.the_network_opens,
            self.an_old_call_turns_up,
            self.the_session_is_edited,
        )
        self.chance.choice(kinds)()
        if self.chance.random() < 0.1:
            await self.stage.another_leads(FakeCalls(done=Activity(started=1, last_at=self.stage.time.now())))
        await self.stage.passes(seconds=self.chance.choice((0, 0, 1, 7, 70)))

    def clears(self) -> None:
        """From now on, everything works; calls end."""
        self.stage.cluster.always.clear()
        self.stage.cluster.faults.clear()
        self.stage.greeter.greeting = GREETING
        self.stage.greeter.faults.clear()
        self.stage.calls.flying.clear()

    def a_pod(self) -> str | None:
        return self.chance.choice([*self.stage.cluster.views, None])

    def a_pod_runs(self) -> None:
        for name, view in list(self.stage.cluster.views.items()):
            if view.phase == "Pending" and not view.deleting:
                self.stage.cluster.run(name)

    def a_pod_ends(self) -> None:
        if name := self.a_pod():
            self.stage.cluster.kill(name)

    def a_pod_vanishes(self) -> None:
        if name := self.a_pod():
            self.stage.cluster.remove_pod(name)

    def a_pod_is_deleted(self) -> None:
        if name := self.a_pod():
            self.stage.cluster.change_pod(name, deleting=True)

    def the_api_server_stumbles(self) -> None:
        self.stage.cluster.faults[self.chance.choice(OPERATIONS)] = [AWAY] * self.chance.randrange(1, 6)
        self.stage.greeter.faults = [AWAY] * self.chance.randrange(3)

    def a_quota_strikes(self) -> None:
        self.stage.cluster.faults["create Pod"] = [errors.Rejected("exceeded quota")] * self.chance.randrange(1, 4)

    def a_call_runs(self) -> None:
        self.stage.calls.flying ^= {"call"}

    def the_network_opens(self) -> None:
        self.stage.greeter.greeting = replace(GREETING, network=self.chance.choice(("Open", "Blocked")))

    def an_old_call_turns_up(self) -> None:
        self.stage.greeter.supervisor.held["old"] = "Running"

    def the_session_is_edited(self) -> None:
        held = self.stage.cluster.objects[KEY]
        toolspecs = self.chance.choice((None, ()))
        spec = held.spec.model_copy(update={"toolspecs": toolspecs})
        self.stage.cluster.apply(held.model_copy(update={"spec": spec}))


@pytest.mark.parametrize("seed", range(25))
async def test_a_session_survives_what_happens_and_leaves_nothing(stage: SessionStage, seed: int) -> None:
    weather = Weather(stage, seed)
    stage.cluster.apply_class(session_class())
    stage.cluster.apply(session(idleTTL="0s", maxDuration="0s"))
    for _ in range(30):
        await weather.strikes()

    weather.clears()
    held = stage.cluster.objects[KEY]
    stage.cluster.apply(held.model_copy(update={"spec": held.spec.model_copy(update={"toolspecs": None})}))
    for _ in range(10):
        weather.a_pod_runs()
        await stage.passes(seconds=30)

    assert stage.says("Ready") == "True/SandboxReady"
    living = [pod.name for pod in stage.cluster.views.values() if not pod.deleting]
    assert living == [stage.status().pod_name]
    writes = len(stage.cluster.reported)
    await stage.passes(minutes=5)
    assert len(stage.cluster.reported) == writes

    stage.cluster.delete(KEY)
    await settle()
    await stage.passes(minutes=2)
    assert stage.cluster.objects == {}
    assert not [pod for pod in stage.cluster.views.values() if not pod.deleting]
