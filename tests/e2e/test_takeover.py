"""Two operators in one namespace: one leads, the other waits, and whatever becomes of the first harms no call."""

from __future__ import annotations

import platform
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.contract.pod import Images
from tests.e2e.moments import Point, Then
from tests.e2e.operators import Operator
from tests.e2e.proxy import Proxy
from tests.e2e.scene import Scene, soon
from tests.e2e.traffic import Write
from tests.kubectl import Kubectl

pytestmark = pytest.mark.cluster

STOPS_SECONDS = 5.0
"""What an operator promises that is told to end."""
LOST = "the lead was lost"
SCRIPT = "echo $0 >>/workspace/$0; sleep {}; echo the end; exit 7"
NO_CHANGE = ("/leases", "/events", "reviews")
"""Words in the paths of writes that change nothing of anybody's work."""


@dataclass(frozen=True)
class Candidate:
    """An operator, and what it says to the API server."""

    operator: Operator
    proxy: Proxy

    @property
    def pid(self) -> int:
        assert self.operator.process
        return self.operator.process.pid

    @property
    def leads(self) -> bool:
        """Whether it says so, and has not lost the lead since."""
        return self.operator.process is not None and "leading" in self.operator.said.rpartition(LOST)[2]

    @property
    def identity(self) -> str:
        """What it calls itself."""
        return f"{platform.node()}/{self.pid}"

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.operator.process
        self.operator.process.send_signal(number)

    @property
    def changes(self) -> list[Write]:
        """What it changed in the cluster, or may have."""
        return [
            write
            for write in self.proxy.written
            if not (write.is_refused or any(words in write.path for words in NO_CHANGE))
        ]


@dataclass(frozen=True)
class Duo:
    """Two operators of which the first leads."""

    first: Candidate
    second: Candidate


@pytest.fixture(scope="module")
def candidates(
    kubectl: Kubectl, crds: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Candidate, Candidate]]:
    """Two operators that do not run yet."""
    assert crds is None

    def candidate(proxy: Proxy) -> Candidate:
        folder = tmp_path_factory.mktemp("operator")
        through = {"TOOLCALL_KUBECONFIG": proxy.kubeconfig(folder)}
        return Candidate(Operator(kubectl, images, folder, through), proxy)

    with Proxy.running() as one, Proxy.running() as other:
        both = candidate(one), candidate(other)
        yield both
        running = [each.operator for each in both if each.operator.process and each.operator.process.poll() is None]
        running[0].leads().clear()
        for operator in running:
            operator.stop()


@pytest.fixture
def duo(candidates: tuple[Candidate, Candidate]) -> Duo:
    """Both run, and whoever leads is the first."""
    for candidate in candidates:
        if candidate.operator.process is None or candidate.operator.process.poll() is not None:
            candidate.operator.launch()
    soon(lambda: any(candidate.leads for candidate in candidates))
    first, second = sorted(candidates, key=lambda candidate: not candidate.leads)
    return Duo(first, second)


@pytest.fixture(scope="module")
def scene(kubectl: Kubectl, candidates: tuple[Candidate, Candidate]) -> Iterator[Scene]:
    candidates[0].operator.start()
    with Scene.made(kubectl) as made:
        yield made


def test_an_operator_without_the_lead_changes_nothing(scene: Scene, duo: Duo) -> None:
    soon(lambda: any("/leases" in path for path in duo.second.proxy.read))  # it is there, and wants to lead
    scene.call("led", SCRIPT.format(0))
    scene.ended("led")

    assert not duo.second.leads
    assert not duo.second.changes
    assert not duo.second.proxy.told
    assert scene.ledger("led") == ["led"]


def test_an_operator_that_is_told_to_end_does_so_in_time_and_the_next_one_takes_its_calls_over(
    scene: Scene, duo: Duo
) -> None:
    scene.call("handed-over", SCRIPT.format(4))
    scene.awaited("handed-over", "Running")

    seconds = duo.first.operator.terminate()

    assert seconds <= STOPS_SECONDS
    assert duo.first.operator.process
    assert duo.first.operator.process.returncode == 0
    duo.second.operator.leads()
    ended = scene.ended("handed-over")
    assert (ended.end, ended.status["exitCode"]) == ("Failed/NonZeroExit", 7)
    assert ended.output() == b"the end\n"
    assert scene.ledger("handed-over") == ["handed-over"]


def test_a_leader_that_sleeps_until_another_one_leads_does_no_harm_when_it_wakes(scene: Scene, duo: Duo) -> None:
    claim = duo.first.proxy.at(Point.CLAIM_ASKED, Then.WAIT, "old-claim")
    scene.call("old-claim", SCRIPT.format(0))
    claim.wait()
    start = duo.first.proxy.at(Point.START_ASKED, Then.WAIT)
    scene.call("old-start", SCRIPT.format(0))
    start.wait()
    duo.first.signal(signal.SIGSTOP)
    duo.second.operator.leads()
    ends = [scene.ended(name) for name in ("old-claim", "old-start")]
    before = duo.first.changes

    claim.pass_on()
    start.pass_on()
    soon(lambda: ("refused", "StaleEpoch") in duo.first.proxy.heard)
    soon(lambda: [write.answer for write in duo.first.proxy.written if write.call == "old-claim"] == [422])
    duo.first.signal(signal.SIGCONT)

    soon(
        lambda: f"waiting for the lead, which {duo.second.identity} holds" in duo.first.operator.said.partition(LOST)[2]
    )
    assert all(change in before for change in duo.first.changes)
    assert [ended.end for ended in ends] == ["Failed/NonZeroExit"] * 2
    assert [scene.stored(name).status for name in ("old-claim", "old-start")] == [ended.status for ended in ends]
    assert [scene.ledger(name) for name in ("old-claim", "old-start")] == [["old-claim"], ["old-start"]]


def test_a_lead_that_is_lost_ends_no_process_and_what_ran_is_taken_over_by_one_of_them(scene: Scene, duo: Duo) -> None:
    scene.call("carried-on", SCRIPT.format(12))
    scene.awaited("carried-on", "Running")
    pids = [duo.first.pid, duo.second.pid]

    with duo.first.proxy.refusing(503, "/leases"), duo.second.proxy.refusing(503, "/leases"):
        soon(lambda: not duo.first.leads)
    soon(lambda: duo.first.leads or duo.second.leads)

    ended = scene.ended("carried-on")
    assert (ended.end, ended.status["exitCode"]) == ("Failed/NonZeroExit", 7)
    assert scene.ledger("carried-on") == ["carried-on"]
    assert all(each.operator.process and each.operator.process.poll() is None for each in (duo.first, duo.second))
    assert pids == [duo.first.pid, duo.second.pid]
