"""Whatever dies or breaks between a call and its status: it runs once, and its end is the truth."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import pytest

from tests.contract.pod import Images
from tests.e2e.moments import Point, Then
from tests.e2e.operators import Operator
from tests.e2e.proxy import Proxy
from tests.e2e.scene import Scene, finalizers, soon
from tests.integration.pipeline import Ended
from tests.kubectl import Kubectl

pytestmark = pytest.mark.cluster

OUTPUT = "".join(f"{number}\n" for number in range(1, 100_001)).encode()
SETTINGS = {"TOOLCALL_FAULT_BUDGET": "4s"}
GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}
BROKEN = {"type": "ERROR", "object": {"kind": "Status", "code": 500, "reason": "InternalError", "message": "broken"}}


def writes_and_fails(seconds: float) -> str:
    """A script that notes its start in a ledger, writes `OUTPUT`, takes its time, and fails with 7."""
    return f"echo $0 >>/workspace/$0; seq 100000; sleep {seconds}; exit 7"


@pytest.fixture(scope="module")
def proxy(kubectl: Kubectl) -> Iterator[Proxy]:  # noqa: ARG001 (no cluster, no proxy)
    with Proxy.running() as running:
        yield running


@pytest.fixture(scope="module")
def leader(
    kubectl: Kubectl, crds: None, images: Images, proxy: Proxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    """An operator that has the API server at the other end of the proxy."""
    assert crds is None
    folder = tmp_path_factory.mktemp("operator")
    through = {"TOOLCALL_KUBECONFIG": proxy.kubeconfig(folder)}
    operator = Operator(kubectl, images, folder, SETTINGS | through).start()
    yield operator
    again(operator)
    operator.clear()
    operator.stop()


@pytest.fixture(scope="module")
def scene(kubectl: Kubectl, leader: Operator) -> Iterator[Scene]:
    assert leader.process
    with Scene.made(kubectl) as made:
        yield made


@pytest.fixture
def operator(leader: Operator) -> Operator:
    """The operator, which leads, whatever the test before did to it."""
    return again(leader)


def again(operator: Operator) -> Operator:
    """Have an operator that died lead anew, without the wait for the lead of the dead one to run out."""
    assert operator.process
    if operator.process.poll() is not None:
        operator.kubectl("delete", "lease", "toolcall-operator", "--ignore-not-found")
        operator.start()
    return operator


def ran_once_and_whole(name: str, scene: Scene, proxy: Proxy) -> Ended:
    """A call of `writes_and_fails`, once it has ended as it must."""
    ended = scene.ended(name)
    assert (ended.end, ended.status["exitCode"]) == ("Failed/NonZeroExit", 7)
    assert scene.ledger(name) == [name]
    assert ended.output() == OUTPUT
    assert len(proxy.dispatches(name)) == 1
    soon(lambda: not finalizers(scene.kubectl, "toolcall", name))
    return ended


# The operator dies ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def dead(leader: Operator, scene: Scene, proxy: Proxy) -> str:
    """The name of an operator that died with a call at each point of its way; another one leads now."""
    ends = [proxy.at(point, Then.WAIT, named(point)) for point in (Point.END_ASKED, Point.END_KEPT)]
    claims = [proxy.at(point, Then.WAIT, named(point)) for point in (Point.CLAIM_ASKED, Point.CLAIM_KEPT)]
    early, late = writes_and_fails(0), writes_and_fails(3)
    scene.call("exit-untold", f"until test -e /workspace/finally; do sleep 0.1; done; {early}")
    scene.calls(*(scene.a_call(named(moment.place.point), early) for moment in ends))
    scene.calls(*(scene.a_call(named(moment.place.point), late) for moment in claims))
    for moment in (*ends, *claims):
        moment.wait()
    half = proxy.at(Point.HALF_TOLD, Then.WAIT)
    scene.call(named(Point.HALF_TOLD), late)
    half.wait()  # from here on the operator hears nothing of the sandbox
    start = proxy.at(Point.START_SENT, Then.WAIT)
    scene.call(named(Point.START_SENT), late)
    start.wait()
    scene.inside("touch", "/workspace/finally")
    soon(lambda: scene.ledger("exit-untold") and not scene.processes("exit-untold"))

    assert leader.process
    leader.kill()
    for moment in (*ends, *claims, half, start):
        moment.drop()
    name = f"{platform.node()}/{leader.process.pid}"
    again(leader)
    return name


def named(point: Point) -> str:
    """A call is named for the point that it comes to."""
    return point.name.lower().replace("_", "-")


@pytest.mark.parametrize(
    ("name", "claimed"),
    (
        pytest.param("claim-asked", False, id="before its claim reached the API server"),
        pytest.param("claim-kept", True, id="after its claim was kept and before it knew"),
        pytest.param("start-sent", True, id="after it asked for the start"),
        pytest.param("half-told", True, id="with half of the output stored"),
        pytest.param("exit-untold", True, id="after the exit and before it knew"),
        pytest.param("end-asked", True, id="before the end reached the API server"),
        pytest.param("end-kept", True, id="after the end was kept and before it knew"),
    ),
)
def test_a_call_outlives_its_operator(name: str, claimed: bool, dead: str, scene: Scene, proxy: Proxy) -> None:  # noqa: FBT001 (a column of the table)
    ended = ran_once_and_whole(name, scene, proxy)

    assert (ended.status["dispatch"]["operator"] == dead) is claimed


# The stream breaks ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "point",
    (
        pytest.param(Point.START_ASKED, id="before the start reached the sandbox"),
        pytest.param(Point.START_SENT, id="after the start reached the sandbox"),
        pytest.param(Point.HALF_TOLD, id="in the middle of the output"),
    ),
)
def test_a_broken_stream_costs_no_call_and_no_byte(
    point: Point, operator: Operator, scene: Scene, proxy: Proxy
) -> None:
    name = f"broken-{named(point)}"
    moment = proxy.at(point, Then.BREAK)
    scene.call(name, writes_and_fails(1))
    moment.wait()

    ran_once_and_whole(name, scene, proxy)

    assert operator.process
    assert operator.process.poll() is None


def test_a_sandbox_that_cannot_be_reached_is_tried_again_and_given_up_in_time(
    operator: Operator, scene: Scene, proxy: Proxy
) -> None:
    assert operator.process
    with proxy.refusing(403, "/exec$"):
        proxy.cut()
        scene.call("unreached", writes_and_fails(0))
        scene.awaited("unreached", "ReconcileRetrying")
        ended = scene.ended("unreached")

    assert ended.end == "Failed/ReconcileFailed"
    assert "exec" in ended.message
    assert "403" in ended.message
    assert ended.conditions["ReconcileRetrying"]["status"] == "False"
    assert not {"dispatch", "startedAt", "exitCode"} & set(ended.status)


def test_a_sandbox_that_can_be_reached_again_runs_the_call(operator: Operator, scene: Scene, proxy: Proxy) -> None:
    assert operator.process
    with proxy.refusing(403, "/exec$"):
        proxy.cut()
        scene.call("reached", writes_and_fails(0))
        scene.awaited("reached", "ReconcileRetrying")

    ended = ran_once_and_whole("reached", scene, proxy)

    assert ended.conditions["ReconcileRetrying"]["reason"] == "ReconcileRecovered"


# The API server is away -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("status", (500, 429))
def test_a_call_that_ends_while_the_api_server_refuses_everything_has_its_end_written_later(
    status: int, operator: Operator, scene: Scene, proxy: Proxy
) -> None:
    name = f"away-{status}"
    scene.call(name, writes_and_fails(1.5))
    scene.awaited(name, "Running")
    with proxy.refusing(status):
        soon(lambda: any(path.endswith(f"/{name}/status") for path in proxy.refused))

    ran_once_and_whole(name, scene, proxy)

    assert operator.process
    assert operator.process.poll() is None


# The watch breaks -----------------------------------------------------------------------------------------------------
def test_an_operator_whose_watch_is_too_old_lists_anew_and_goes_on(
    operator: Operator, scene: Scene, proxy: Proxy
) -> None:
    proxy.say("toolcalls", GONE)
    scene.call("listed", writes_and_fails(0))

    ran_once_and_whole("listed", scene, proxy)

    assert operator.process
    assert operator.process.poll() is None


def test_an_operator_whose_watch_breaks_ends_and_the_next_one_goes_on(
    operator: Operator, scene: Scene, proxy: Proxy
) -> None:
    assert operator.process
    scene.call("watched", writes_and_fails(3))
    scene.awaited("watched", "Running")

    proxy.say("toolcalls", BROKEN)

    assert operator.process.wait(10) == 1
    again(operator)
    ran_once_and_whole("watched", scene, proxy)
