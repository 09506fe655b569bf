"""Standing lines to pods: one each, shared, closed when unused, and told when their pod ends."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from tests.fakes.supervisor import FakeCall, FakeSupervisor
from tests.unit.core import examples
from toolcall_operator import errors
from toolcall_operator.adapters.sandbox import pods
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.pods import PodSandboxes
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcallstatus import Dispatch
from toolcall_operator.core.outcomes import ExecRequest
from toolcall_operator.core.pod.pods import Container, PodView
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.session.known import Greeting

OPERATOR_KEY = b"o" * 32
SESSION, CLASS = examples.session(), examples.session_class()
RUNNING = PodView("default", "work-pod", "pod-1", "session-1", "Running", sandbox=Container("sandbox", is_running=True))
KILLED = replace(RUNNING, phase="Failed", sandbox=Container("sandbox", ended=True, reason="OOMKilled", exit_code=137))
CLAIM = Dispatch(
    pod_name=RUNNING.name, pod_uid=RUNNING.uid, boot_id="boot-1", operator="an earlier one", epoch=0, at=examples.NOW
)
PATIENCE = Patience(
    ping=60, request=0.2, opening=0.3, mending=0.1, retention=0.2, first_pause=0.0001, longest_pause=0.001
)


def call(uid: str = "call") -> ExecRequest:
    return ExecRequest(uid, ("tool",), {}, b"", timedelta(seconds=60), timedelta(), 1 << 20, 8)


@dataclass
class Cluster:
    """One pod and its supervisor, and the operator's lines to it."""

    supervisor: FakeSupervisor
    pod: PodView | None = RUNNING
    epoch: int = 1
    claimed: PodView | errors.OperatorError = RUNNING
    asked: list[Dispatch] = field(default_factory=list)
    sandboxes: PodSandboxes = field(init=False)

    def connect_with(self, idle_seconds: float) -> None:
        self.sandboxes = PodSandboxes(
            lambda _: self.supervisor,
            lambda _: self.pod,
            OPERATOR_KEY,
            lambda: self.epoch,
            claimed=self.look,
            patience=PATIENCE,
            idle_seconds=idle_seconds,
        )

    async def look(self, _session: SpiceboxSession, claim: Dispatch) -> PodView:
        """What the API server says of a claimed pod."""
        self.asked.append(claim)
        if isinstance(self.claimed, errors.OperatorError):
            raise self.claimed
        return self.claimed

    @property
    def open_connections(self) -> int:
        return sum(not connection.broken for connection in self.supervisor.connections)


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    monkeypatch.setattr(pods, "_LAST_WORDS_SECONDS", 0.1)
    key = pods.channel_key(OPERATOR_KEY, RUNNING.session_uid)
    made = Cluster(FakeSupervisor(lambda _: FakeCall(b"said", over=False), key=key))
    made.connect_with(idle_seconds=60)
    yield made
    await made.sandboxes.aclose()


class TestOpening:
    async def test_a_session_s_sandbox_runs_calls(self, cluster: Cluster) -> None:
        cluster.supervisor.plan = lambda _: FakeCall(b"said")

        async with cluster.sandboxes.open(SESSION, CLASS) as sandbox, sandbox.start(call()) as execution:
            assert await anext(execution.stdout) == b"said"
            assert (await execution.result()).code == 0
        assert sandbox.boot_id == "boot-1"

    async def test_without_a_pod_there_is_none_yet(self, cluster: Cluster) -> None:
        cluster.pod = None

        with pytest.raises(errors.Unavailable, match="has no sandbox that runs"):
            async with cluster.sandboxes.open(SESSION, CLASS):
                pass

    async def test_all_who_come_share_one_line(self, cluster: Cluster) -> None:
        cluster.supervisor.hello_after = 0.05

        async def use() -> None:
            async with cluster.sandboxes.open(SESSION, CLASS) as sandbox:
                await sandbox.calls()

        await asyncio.gather(*(use() for _ in range(20)), cluster.sandboxes.greet(RUNNING, SESSION))
        await use()

        assert len(cluster.supervisor.connections) == 1

    async def test_a_hello_that_is_held_back_is_waited_for_and_not_for_ever(self, cluster: Cluster) -> None:
        cluster.supervisor.hello_after = 0.2
        assert (await cluster.sandboxes.greet(RUNNING, SESSION)).boot_id == "boot-1"

        await cluster.sandboxes.leave(RUNNING.uid)
        cluster.supervisor.hello_after = 2.0
        with pytest.raises(errors.Unavailable, match=r"did not answer within 0\.3 s"):
            await cluster.sandboxes.greet(RUNNING, SESSION)

    async def test_an_attempt_that_failed_is_told_and_the_next_one_made(self, cluster: Cluster) -> None:
        cluster.supervisor.unreachable = 1

        with pytest.raises(errors.Unavailable, match="unreachable"):
            async with cluster.sandboxes.open(SESSION, CLASS):
                pass
        async with cluster.sandboxes.open(SESSION, CLASS) as sandbox:
            assert await sandbox.calls() == {}

    async def test_a_line_that_broke_and_stays_broken_is_told_of_soon(self, cluster: Cluster) -> None:
        await cluster.sandboxes.greet(RUNNING, SESSION)
        cluster.supervisor.connections[0].cut()
        await asyncio.sleep(0.01)  # that is noticed
        cluster.supervisor.unreachable = 1_000_000

        with pytest.raises(errors.Unavailable, match="could not be reached in time: unreachable"):
            async with asyncio.timeout(PATIENCE.request), cluster.sandboxes.open(SESSION, CLASS):
                pass

    async def test_a_pod_that_is_lost_says_so_each_time(self, cluster: Cluster) -> None:
        cluster.supervisor.gone = True

        for _ in range(2):
            with pytest.raises(errors.SandboxLost):
                async with cluster.sandboxes.open(SESSION, CLASS):
                    pass

    async def test_a_supervisor_with_another_key_is_none_of_ours(self, cluster: Cluster) -> None:
        cluster.supervisor.key = pods.channel_key(OPERATOR_KEY, "session-2")

        with pytest.raises(errors.ProtocolBroken, match="BadKey"):
            await cluster.sandboxes.greet(RUNNING, SESSION)

    @pytest.mark.parametrize("network", (None, "Blocked", "Open"))
    async def test_a_greeting_is_what_the_supervisor_says_of_itself(
        self, cluster: Cluster, network: str | None
    ) -> None:
        cluster.supervisor.network = network

        assert await cluster.sandboxes.greet(RUNNING, SESSION) == Greeting("boot-1", "0", 7, "Landlock", network)

    async def test_a_line_of_an_older_term_is_made_anew_and_left_to_who_uses_it(self, cluster: Cluster) -> None:
        async with cluster.sandboxes.open(SESSION, CLASS) as older:
            cluster.epoch = 2
            async with cluster.sandboxes.open(SESSION, CLASS) as newer:
                await newer.calls()
                await older.calls()
        await cluster.sandboxes.greet(RUNNING, SESSION)

        hellos = [said["epoch"] for said in cluster.supervisor.received if said["type"] == "hello"]
        assert hellos == [1, 2]

    async def test_a_line_that_nobody_uses_ends_with_its_term(self, cluster: Cluster) -> None:
        await cluster.sandboxes.greet(RUNNING, SESSION)
        cluster.epoch = 2
        await cluster.sandboxes.greet(RUNNING, SESSION)
        await asyncio.sleep(0.01)

        assert (len(cluster.supervisor.connections), cluster.open_connections) == (2, 1)


class TestClaims:
    """A call that was given to a pod is answered for by that pod alone."""

    async def test_it_is_reached_although_it_ends_and_another_is_newer(self, cluster: Cluster) -> None:
        cluster.supervisor.plan = lambda _: FakeCall(b"said", code=7)
        cluster.pod = replace(RUNNING, name="work-pod-1", uid="pod-2")
        cluster.claimed = replace(RUNNING, deleting=True)

        async with cluster.sandboxes.open(SESSION, CLASS, claim=CLAIM) as sandbox, sandbox.start(call()) as execution:
            assert await anext(execution.stdout) == b"said"
            assert (await execution.result()).code == 7
            await cluster.sandboxes.leave("pod-2")
            assert cluster.open_connections == 1

    @pytest.mark.parametrize("newer", (None, replace(RUNNING, uid="pod-2")), ids=("with none", "with another"))
    async def test_when_it_is_gone_it_is_lost_and_no_other_is_asked(
        self, cluster: Cluster, newer: PodView | None
    ) -> None:
        cluster.pod = newer
        cluster.claimed = errors.SandboxLost(Reason.SANDBOX_GONE, "gone")

        with pytest.raises(errors.SandboxLost) as lost:
            async with cluster.sandboxes.open(SESSION, CLASS, claim=CLAIM):
                pass

        assert (lost.value.reason, cluster.supervisor.connections) == (Reason.SANDBOX_GONE, [])

    async def test_it_is_not_asked_for_while_there_is_a_line_to_it(self, cluster: Cluster) -> None:
        await cluster.sandboxes.greet(RUNNING, SESSION)

        async with cluster.sandboxes.open(SESSION, CLASS, claim=CLAIM) as sandbox:
            await sandbox.calls()

        assert (cluster.asked, len(cluster.supervisor.connections)) == ([], 1)

    async def test_a_claim_that_names_no_pod_is_answered_for_by_the_newest(self, cluster: Cluster) -> None:
        unnamed = CLAIM.model_copy(update={"pod_name": None, "pod_uid": None})

        async with cluster.sandboxes.open(SESSION, CLASS, claim=unnamed) as sandbox:
            await sandbox.calls()

        assert cluster.asked == []


class TestRest:
    async def test_a_line_that_nobody_used_for_long_is_closed_and_made_again(self, cluster: Cluster) -> None:
        cluster.connect_with(idle_seconds=0.05)
        await cluster.sandboxes.greet(RUNNING, SESSION)
        await asyncio.sleep(0.15)
        assert cluster.open_connections == 0

        await cluster.sandboxes.opened(RUNNING).calls()
        assert cluster.open_connections == 1
        await cluster.sandboxes.aclose()

    async def test_a_line_in_use_is_kept(self, cluster: Cluster) -> None:
        cluster.connect_with(idle_seconds=0.05)
        async with cluster.sandboxes.open(SESSION, CLASS) as sandbox:
            await asyncio.sleep(0.2)
            await sandbox.calls()

        assert len(cluster.supervisor.connections) == 1
        await cluster.sandboxes.aclose()

    async def test_leaving_closes_the_line_of_nobody(self, cluster: Cluster) -> None:
        await cluster.sandboxes.leave(RUNNING.uid)
        await cluster.sandboxes.greet(RUNNING, SESSION)
        await cluster.sandboxes.leave(RUNNING.uid)

        assert cluster.open_connections == 0

    async def test_leaving_takes_the_line_from_no_call(self, cluster: Cluster) -> None:
        async with cluster.sandboxes.open(SESSION, CLASS) as sandbox:
            await cluster.sandboxes.leave(RUNNING.uid)
            await sandbox.calls()

        assert len(cluster.supervisor.connections) == 1

    async def test_closing_lets_go_of_every_pod(self, cluster: Cluster) -> None:
        await cluster.sandboxes.greet(RUNNING, SESSION)

        await cluster.sandboxes.aclose()

        assert cluster.open_connections == 0


class TestEnds:
    @pytest.mark.parametrize(
        ("pod", "gone", "reason"),
        (
            pytest.param(KILLED, False, Reason.SANDBOX_OOM_KILLED, id="its container was killed"),
            pytest.param(KILLED, True, Reason.SANDBOX_OOM_KILLED, id="it is gone, and why is known"),
            pytest.param(RUNNING, True, Reason.SANDBOX_GONE, id="it is gone"),
        ),
    )
    async def test_a_call_ends_for_the_reason_its_pod_ended(
        self, cluster: Cluster, pod: PodView, reason: Reason, *, gone: bool
    ) -> None:
        async with cluster.sandboxes.open(SESSION, CLASS) as sandbox, sandbox.start(call()) as execution:
            cluster.sandboxes.pod_changed(pod, gone=gone)
            with pytest.raises(errors.SandboxLost) as lost:
                async with asyncio.timeout(1):
                    await execution.result()

            assert lost.value.reason is reason
            with pytest.raises(errors.SandboxLost):
                await sandbox.calls()

    async def test_a_node_that_is_dead_keeps_no_call(self, cluster: Cluster) -> None:
        async with cluster.sandboxes.open(SESSION, CLASS) as sandbox, sandbox.start(call()) as execution:
            cluster.supervisor.unreachable = 1_000_000
            cluster.supervisor.connections[0].cut()
            cluster.sandboxes.pod_changed(RUNNING, gone=True)
            with pytest.raises(errors.SandboxLost) as lost:
                async with asyncio.timeout(1):
                    await execution.result()

        assert lost.value.reason is Reason.SANDBOX_GONE

    async def test_what_the_supervisor_says_last_is_heard(self, cluster: Cluster) -> None:
        async with cluster.sandboxes.open(SESSION, CLASS) as sandbox, sandbox.start(call()) as execution:
            cluster.sandboxes.pod_changed(KILLED, gone=False)
            await asyncio.sleep(0.02)
            cluster.supervisor.finish("call")

            assert (await execution.result()).code == 0

    @pytest.mark.parametrize("pod", (RUNNING, replace(RUNNING, deleting=True)), ids=("as before", "being deleted"))
    async def test_a_pod_whose_sandbox_runs_is_left_alone(self, cluster: Cluster, pod: PodView) -> None:
        async with cluster.sandboxes.open(SESSION, CLASS) as sandbox, sandbox.start(call()) as execution:
            cluster.sandboxes.pod_changed(pod, gone=False)
            await asyncio.sleep(0.2)
            cluster.supervisor.finish("call")

            assert (await execution.result()).code == 0

    async def test_who_waits_for_a_first_hello_is_told_too(self, cluster: Cluster) -> None:
        cluster.supervisor.hello_after = 10.0
        waiting = asyncio.create_task(cluster.sandboxes.greet(RUNNING, SESSION))
        await asyncio.sleep(0.01)

        cluster.sandboxes.pod_changed(KILLED, gone=False)

        with pytest.raises(errors.SandboxLost) as lost:
            await waiting
        assert lost.value.reason is Reason.SANDBOX_OOM_KILLED

    async def test_a_pod_to_which_there_is_no_line_may_change_as_it_likes(self, cluster: Cluster) -> None:
        cluster.sandboxes.pod_changed(KILLED, gone=True)

        assert cluster.supervisor.connections == []


class TestKeys:
    def test_each_session_has_a_key_of_its_own(self) -> None:
        assert pods.channel_key(OPERATOR_KEY, "a") == hmac.new(OPERATOR_KEY, b"a", hashlib.sha256).digest()
        assert pods.channel_key(OPERATOR_KEY, "a") != pods.channel_key(OPERATOR_KEY, "b")

    def test_a_pod_sees_no_more_than_its_hash(self) -> None:
        key = pods.channel_key(OPERATOR_KEY, "a")

        assert pods.key_hash(OPERATOR_KEY, "a") == hashlib.sha256(key).hexdigest()


async def test_many_who_connect_at_once_do_not_come_at_the_same_moment() -> None:
    crowd, loop = pods.Crowd(), asyncio.get_running_loop()
    supervisor, came = FakeSupervisor(), []
    connectors = [pods.Paced(supervisor, crowd) for _ in range(50)]
    began = loop.time()

    async def connect(connector: pods.Paced) -> None:
        await (await connector.connect()).close()
        came.append(loop.time() - began)

    await connect(connectors[0])
    await asyncio.gather(*map(connect, connectors))

    assert came[0] < 0.05
    assert 0.1 < max(came) < 1
    assert crowd.size == 0
