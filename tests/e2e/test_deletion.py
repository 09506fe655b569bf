"""Calls, sessions and namespaces that are deleted or canceled: what ran is dead, what waited is told, nothing hangs."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.contract.pod import Images
from tests.e2e.operators import Operator
from tests.e2e.proxy import Proxy
from tests.e2e.scene import Scene, finalizers, soon
from tests.integration.pipeline import Ended, Object
from tests.kubectl import Kubectl

pytestmark = pytest.mark.cluster

GONE_SECONDS = 15.0
NAMESPACE_SECONDS = 90.0
CALLS = 50
LONG = "10m"
"""A timeout that ends no call of a test."""
FINALIZER = "agentprimitives.authzed.com/toolcall"
TREE = "(trap '' TERM; sleep {0}) & sleep {0}"
"""A process and its child, which does not mind being told to end; the seconds tell one test's from another's."""


@dataclass
class Watcher:
    """What `kubectl get --watch` shows of the calls of a namespace."""

    seen: list[Object] = field(default_factory=list)

    def of(self, name: str) -> list[Object]:
        """All that was seen of one call, in order."""
        return [each for each in self.seen if each["metadata"]["name"] == name]


@contextmanager
def watching(kubectl: Kubectl) -> Iterator[Watcher]:
    """A watcher of the namespace's calls, while the context is open."""
    command = [kubectl.program, f"--namespace={kubectl.namespace}", "get", "toolcalls", "--watch", "--output=json"]
    watcher = Watcher()

    def read(text: Any) -> None:  # noqa: ANN401 (a pipe)
        decoder, rest = json.JSONDecoder(), ""
        for line in text:
            rest += line
            with suppress(json.JSONDecodeError):  # not all of it yet
                seen, _ = decoder.raw_decode(rest)
                watcher.seen.append(seen)
                rest = ""

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        reading = threading.Thread(target=read, args=(process.stdout,))
        reading.start()
        yield watcher
        process.terminate()
        reading.join()


@pytest.fixture(scope="module")
def victims(cluster: Kubectl, kubectl: Kubectl) -> Iterator[tuple[Kubectl, Kubectl]]:
    """Two more namespaces, which the tests delete."""
    both = Kubectl(kubectl.program, f"{kubectl.namespace}-a"), Kubectl(kubectl.program, f"{kubectl.namespace}-b")
    for each in both:
        cluster("create", "namespace", each.namespace)
    yield both
    cluster("delete", "namespace", *(each.namespace for each in both), "--ignore-not-found", "--wait=false")


@pytest.fixture(scope="module")
def proxy(kubectl: Kubectl) -> Iterator[Proxy]:  # noqa: ARG001 (no cluster, no proxy)
    with Proxy.running() as running:
        yield running


@pytest.fixture(scope="module")
def operator(  # noqa: PLR0913, PLR0917 (fixtures)
    kubectl: Kubectl,
    victims: tuple[Kubectl, Kubectl],
    crds: None,
    images: Images,
    proxy: Proxy,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Operator]:
    """An operator of three namespaces, which has the API server at the other end of the proxy."""
    assert crds is None
    folder = tmp_path_factory.mktemp("operator")
    settings = {
        "TOOLCALL_KUBECONFIG": proxy.kubeconfig(folder),
        "TOOLCALL_NAMESPACES": ",".join(each.namespace for each in (kubectl, *victims)),
    }
    running = Operator(kubectl, images, folder, settings).start()
    yield running
    running.clear()
    running.stop()


@pytest.fixture(scope="module")
def scene(kubectl: Kubectl, operator: Operator) -> Iterator[Scene]:
    assert operator.process
    with Scene.made(kubectl) as made:
        yield made


@pytest.fixture(scope="module")
def crowds(victims: tuple[Kubectl, Kubectl], operator: Operator) -> Iterator[tuple[Scene, Scene]]:
    """The two namespaces, each with a session in which so many calls run."""
    assert operator.process
    with ExitStack() as held:
        both = held.enter_context(Scene.made(victims[0])), held.enter_context(Scene.made(victims[1]))
        for each in both:
            each.calls(*(each.a_call(f"sleeper-{number}", "sleep 300", timeout=LONG) for number in range(CALLS)))
        soon(lambda: all(running(each) == CALLS for each in both))
        yield both


def running(scene: Scene) -> int:
    """How many calls run, as people see it."""
    return scene.kubectl("get", "toolcalls").count("Started")


def delete_namespace(kubectl: Kubectl) -> None:
    kubectl("delete", "namespace", kubectl.namespace, "--wait=false")


def uid(scene: Scene, name: str) -> str:
    found: str = scene.kubectl.get("toolcall", name)["metadata"]["uid"]
    return found


def is_gone(kubectl: Kubectl, kind: str, name: str) -> bool:
    return not kubectl("get", kind, name, "--ignore-not-found", "--output=name")


# One call -------------------------------------------------------------------------------------------------------------
def test_a_call_that_is_deleted_while_it_runs_is_seen_to_be_canceled_and_is_gone(scene: Scene) -> None:
    scene.call("deleted", TREE.format(3001), timeout=LONG)
    soon(lambda: FINALIZER in finalizers(scene.kubectl, "toolcall", "deleted"))
    with watching(scene.kubectl) as watcher:
        soon(lambda: watcher.of("deleted"))
        scene.kubectl("delete", "toolcall", "deleted", f"--timeout={GONE_SECONDS:.0f}s")
        soon(lambda: [each for each in watcher.of("deleted") if each.get("status", {}).get("finished")])

    (ended, *_) = (Ended(each) for each in watcher.of("deleted") if each["status"].get("finished"))
    assert ended.end == "Canceled/UserDelete"
    assert ended.object["metadata"]["deletionTimestamp"]
    assert not scene.processes("sleep 3001")


@pytest.mark.parametrize("stalled", (False, True), ids=("the watch tells", "the watch is silent"))
def test_a_call_that_is_deleted_before_it_is_held_is_killed(stalled: bool, scene: Scene, proxy: Proxy) -> None:  # noqa: FBT001 (a column of the table)
    name = f"early-{stalled}".lower()
    sleeps = TREE.format(3002 + stalled)
    with ExitStack() as silence:
        with proxy.refusing(500, f"^PATCH .*/toolcalls/{name}$"):
            scene.call(name, sleeps, timeout=LONG)
            soon(lambda: scene.processes(sleeps[-10:]))
            if stalled:
                silence.enter_context(proxy.stalling("toolcalls"))
            scene.kubectl("delete", "toolcall", name)

        soon(lambda: not scene.processes(sleeps[-10:]), GONE_SECONDS)


def test_a_call_that_is_canceled_says_so_and_is_dead(scene: Scene) -> None:
    scene.call("canceled", TREE.format(3004), timeout=LONG)
    scene.awaited("canceled", "Running")

    scene.kubectl("patch", "toolcall", "canceled", "--type=merge", '--patch={"spec":{"cancel":true}}')

    assert scene.ended("canceled").end == "Canceled/UserCancel"
    assert not scene.processes("sleep 3004")


# While nobody is there ------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def unseen(scene: Scene, crowds: tuple[Scene, Scene], operator: Operator, proxy: Proxy) -> dict[str, str]:
    """The UIDs of calls to which something happened while there was no operator; there is one again.

    The second namespace was deleted then, too; the first one, as soon as there was one again.
    """
    with proxy.refusing(500, "^PATCH .*/toolcalls/unheld$"):
        scene.call("unheld", TREE.format(3005), timeout=LONG)
        scene.call("held", TREE.format(3006), timeout=LONG)
        scene.call("finished", "exit 0")
        scene.ended("finished")
        soon(lambda: FINALIZER in finalizers(scene.kubectl, "toolcall", "held"))
        uids = {name: uid(scene, name) for name in ("unheld", "held", "finished")}
        operator.kill()
    scene.kubectl("delete", "toolcall", "unheld", "held", "--wait=false")
    hold = json.dumps({"metadata": {"finalizers": [FINALIZER]}})
    scene.kubectl("patch", "toolcall", "finished", "--type=merge", f"--patch={hold}")
    delete_namespace(crowds[1].kubectl)
    assert is_gone(scene.kubectl, "toolcall", "unheld")
    assert not is_gone(scene.kubectl, "toolcall", "held")
    assert scene.processes("sleep 3005")
    soon(lambda: all("deletionTimestamp" in pod["metadata"] for pod in crowds[1].kubectl.get("pods")["items"]))

    # Without the wait for the lead of the dead one to run out.
    operator.kubectl("delete", "lease", "toolcall-operator")
    operator.start()
    delete_namespace(crowds[0].kubectl)
    return uids


def test_a_call_that_went_unseen_is_killed_and_acknowledged(unseen: dict[str, str], scene: Scene, proxy: Proxy) -> None:
    soon(lambda: ("acknowledge", unseen["unheld"]) in proxy.told)

    assert ("kill", unseen["unheld"]) in proxy.told
    assert not scene.processes("sleep 3005")


def test_a_call_whose_deletion_went_unseen_is_killed_and_let_go(unseen: dict[str, str], scene: Scene) -> None:
    assert unseen["held"]

    soon(lambda: is_gone(scene.kubectl, "toolcall", "held"), GONE_SECONDS)

    assert not scene.processes("sleep 3006")


def test_a_finished_call_that_is_still_held_is_let_go(unseen: dict[str, str], scene: Scene) -> None:
    assert unseen["finished"]

    soon(lambda: FINALIZER not in finalizers(scene.kubectl, "toolcall", "finished"), GONE_SECONDS)


# A session ------------------------------------------------------------------------------------------------------------
def test_a_session_that_is_deleted_ends_its_calls_and_its_pod(kubectl: Kubectl, operator: Operator) -> None:
    assert operator.process
    with Scene.made(kubectl, session=f"{kubectl.namespace}-one", limits={"maxConcurrentCalls": 1}) as scene:
        scene.call("in-flight", "sleep 300", timeout=LONG)
        scene.awaited("in-flight", "Running")
        scene.call("waiting", "exit 0")
        soon(lambda: "Queued" in kubectl("get", "toolcall", "waiting", "--output=yaml"))
        pod = scene.pod

        kubectl("delete", "spiceboxsession", scene.name, "--timeout=50s")

        assert scene.stored("in-flight").end == "Canceled/SessionTerminated"
        assert scene.stored("waiting").end == "Failed/SessionGone"
        assert not finalizers(kubectl, "toolcall", "in-flight")
        soon(lambda: is_gone(kubectl, "pod", pod))


# A namespace ----------------------------------------------------------------------------------------------------------
def test_a_namespace_with_many_running_calls_ends(
    crowds: tuple[Scene, Scene], unseen: dict[str, str], cluster: Kubectl
) -> None:
    assert unseen

    soon(lambda: is_gone(cluster, "namespace", crowds[0].kubectl.namespace), NAMESPACE_SECONDS)


def test_a_namespace_that_was_deleted_while_no_operator_was_there_ends_when_there_is_one(
    crowds: tuple[Scene, Scene], unseen: dict[str, str], cluster: Kubectl
) -> None:
    assert unseen

    soon(lambda: is_gone(cluster, "namespace", crowds[1].kubectl.namespace), NAMESPACE_SECONDS)
