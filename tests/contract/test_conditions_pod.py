"""What only a pod of a real cluster shows: when its network is shut off, a limit that nobody sees, archives to read."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import itertools
import tarfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract import harness, pod, pods
from tests.contract.harness import Limits
from tests.contract.pod import ClusterHarness, ClusterPod, Images
from tests.contract.programs import Programs
from tests.kubectl import Kubectl
from toolcall_operator import errors
from toolcall_operator.core.outcomes import Cause

pytestmark = pytest.mark.cluster
_NUMBERS = itertools.count(1)
_MANY = 128  # Go programs at once: with their shims they have more threads than a pod may
_TASKS = 1024  # what the cluster's kubelet allows a pod
_SHUT = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "shut"},
    "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
}


@pytest.fixture(scope="module")
def images(cluster: Kubectl, programs: Programs) -> Images:  # noqa: ARG001 - no cluster, no images
    return pod.loaded(programs)


@dataclass(frozen=True, slots=True)
class Recipe(pod.Recipe):
    """A recipe with more flags for serve, and a claim on much memory."""

    flags: tuple[str, ...] = ()

    def manifest(self, name: str) -> dict[str, Any]:
        """The pod."""
        manifest = pod.Recipe.manifest(self, name)
        sandbox = manifest["spec"]["containers"][0]
        sandbox["command"] += self.flags
        sandbox["resources"]["limits"]["memory"] = "1536Mi"
        return manifest


@asynccontextmanager
async def running(kubectl: Kubectl, recipe: pod.Recipe) -> AsyncIterator[ClusterHarness]:
    """A pod of its own and a connection to it; it is gone afterwards."""
    made = ClusterPod(kubectl, recipe, f"conditions-{next(_NUMBERS)}")
    try:
        async with pod.connected(made) as box:
            yield box
    finally:
        made.remove()


async def greeting(box: ClusterHarness) -> str | None:
    """What a new connection is told of the network."""
    async with box.other(pods.OURS) as sandbox:
        return sandbox.hello.network


async def told(box: ClusterHarness, network: str) -> None:
    """Waits until new connections are told this of the network."""
    began = time.monotonic()
    while await greeting(box) != network:
        assert time.monotonic() - began < 30
        await asyncio.sleep(0.5)


@pytest.fixture
def shut(kubectl: Kubectl) -> Iterator[Kubectl]:
    """A namespace whose pods reach nothing."""
    kubectl.apply(_SHUT)
    yield kubectl
    kubectl("delete", "networkpolicy", "shut")


@pytest.fixture
def api_server(kubectl: Kubectl) -> str:
    spec = kubectl.get("service", "kubernetes", "--namespace=default")["spec"]
    return f"{spec['clusterIP']}:{spec['ports'][0]['port']}"


async def test_a_sandbox_that_is_shut_off_says_so_and_works(images: Images, shut: Kubectl, api_server: str) -> None:
    async with running(shut, Recipe(images.supervisor, images.tool, flags=("--blocked", api_server))) as box:
        assert await greeting(box) == "Blocked"
        assert (await box.run("echo", "well")).stdout == b"well\n"


async def test_an_open_sandbox_says_so_and_starts_nothing_until_it_is_shut_off(
    images: Images, kubectl: Kubectl, api_server: str
) -> None:
    flags = ("--blocked", api_server, "--blocked-patience", "2s")
    async with running(kubectl, Recipe(images.supervisor, images.tool, flags=flags)) as box:
        assert await greeting(box) == "Open"
        with pytest.raises(errors.Unavailable, match=api_server):
            await box.run("echo", "too early")

        kubectl.apply(_SHUT)
        await told(box, "Blocked")

        assert (await box.run("echo", "well")).stdout == b"well\n"
        kubectl("delete", "networkpolicy", "shut")


async def test_a_sandbox_whose_policy_is_taken_away_starts_nothing_until_it_is_made_again(
    images: Images, kubectl: Kubectl, api_server: str
) -> None:
    kubectl.apply(_SHUT)
    async with running(kubectl, Recipe(images.supervisor, images.tool, flags=("--blocked", api_server))) as box:
        assert await greeting(box) == "Blocked"
        kubectl("delete", "networkpolicy", "shut")
        await told(box, "Open")
        with pytest.raises(errors.Unavailable, match=api_server):
            await box.run("echo", "too late")

        kubectl.apply(_SHUT)
        await told(box, "Blocked")

        assert (await box.run("echo", "well")).stdout == b"well\n"
        kubectl("delete", "networkpolicy", "shut")


async def test_more_calls_at_once_than_the_kubelet_allows_harm_neither_the_sandbox_nor_each_other(
    images: Images, kubectl: Kubectl
) -> None:
    recipe = Recipe(images.supervisor, images.tool, flags=("--tasks", str(_TASKS)))
    async with running(kubectl, recipe) as box:
        ends = await asyncio.gather(*(box.run("sleep", "4s") for _ in range(_MANY)), return_exceptions=True)
        after = await box.run("echo", "well")

    refused = [end for end in ends if isinstance(end, errors.Unavailable)]
    ran = [end for end in ends if isinstance(end, harness.Ran)]
    assert len(refused) + len(ran) == _MANY
    assert len(ran) >= 40
    assert {(end.result.cause, end.result.code) for end in ran} == {(Cause.EXITED, 0)}
    assert after.stdout == b"well\n"


async def test_a_call_that_takes_all_processes_of_its_pod_is_killed_and_the_others_live(
    images: Images, kubectl: Kubectl
) -> None:
    recipe = Recipe(images.supervisor, images.tool, flags=("--tasks", str(_TASKS)))
    async with running(kubectl, recipe) as box:
        small = box.call("ignore-term", "60s", limits=Limits(grace=0))
        async with box.sandbox.start(small) as execution:
            await harness.ready(execution)
            big = await box.run("fork-bomb", "2000", limits=Limits(timeout=30, pids=4000))
            await box.sandbox.kill(small.uid)
            survivor = await harness.ended(execution)
        after = await box.run("echo", "well")

    assert (big.result.cause, survivor.result.cause) == (Cause.TOO_MANY_PROCESSES, Cause.KILLED)
    assert after.stdout == b"well\n"


def _archive() -> bytes:
    """A gzipped tar archive with one file in a folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo("notes/today")
        entry.size = len(b"written by hand")
        tar.addfile(entry, io.BytesIO(b"written by hand"))
    return packed.getvalue()


ARCHIVE = _archive()
DIGEST = f"sha256:{hashlib.sha256(ARCHIVE).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Mounted(pod.Recipe):
    """A recipe with an archive of a ConfigMap unpacked at /skills, if it has this digest."""

    digest: str = "-"

    def manifest(self, name: str) -> dict[str, Any]:
        """The pod."""
        manifest = pod.Recipe.manifest(self, name)
        spec = manifest["spec"]
        spec["volumes"] += [{"name": "archive", "configMap": {"name": "archive"}}, {"name": "unpacked", "emptyDir": {}}]
        install = spec["initContainers"][0]
        mounts = [{"name": "archive", "mountPath": "/archive"}, {"name": "unpacked", "mountPath": "/unpacked"}]
        words = ["unpack", "/archive/bundle.tar.gz", self.digest, "/unpacked/skills"]
        spec["initContainers"].append({**install, "name": "unpack", "args": words, "volumeMounts": mounts})
        mount = {"name": "unpacked", "mountPath": "/skills", "subPath": "skills", "readOnly": True}
        spec["containers"][0]["volumeMounts"].append(mount)
        return manifest


@pytest.fixture(scope="module")
def bundled(kubectl: Kubectl) -> Kubectl:
    """A namespace with the archive in a ConfigMap."""
    data = {"bundle.tar.gz": base64.b64encode(ARCHIVE).decode()}
    kubectl.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "archive"}, "binaryData": data})
    return kubectl


async def test_an_archive_is_there_to_read_and_not_to_write(images: Images, bundled: Kubectl) -> None:
    async with running(bundled, Mounted(images.supervisor, images.tool, digest=DIGEST)) as box:
        assert (await box.run("open", "/skills/notes/today")).stdout == b'succeeded read "written by hand"\n'
        assert (await box.run("ledger", "/skills/notes/today")).result.code != 0


def test_a_pod_whose_archive_has_another_digest_fails_and_its_status_names_both(
    images: Images, bundled: Kubectl
) -> None:
    wrong = f"sha256:{'0' * 64}"
    name = f"conditions-{next(_NUMBERS)}"
    bundled.apply(Mounted(images.supervisor, images.tool, digest=wrong).manifest(name))
    bundled("wait", "--for=jsonpath={.status.phase}=Failed", f"pod/{name}", "--timeout=50s")

    ended = bundled.get("pod", name)["status"]["initContainerStatuses"][1]["state"]["terminated"]

    assert ended["exitCode"] == 1
    assert ended["message"] == (
        f"supervisor unpack: /archive/bundle.tar.gz to /unpacked/skills: its digest is {DIGEST}, and not {wrong}"
    )
    bundled("delete", "pod", name, "--now", "--wait=false")
