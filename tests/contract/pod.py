"""A pod of a real cluster as the suites run it: `serve` is its process 1, reached by an exec of `connect`."""

from __future__ import annotations

import hashlib
import itertools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hack.cluster import bundle
from tests.contract import harness, pods
from tests.contract.harness import MEMORY
from tests.contract.pods import PodConnector, PodHarness
from tests.contract.programs import CHECKOUT, Programs
from tests.kubectl import Kubectl
from toolcall_operator import errors
from toolcall_operator.adapters.sandbox.link import Link
from toolcall_operator.core.reasons import Reason

TOOL = "/bin/tool"
TOP_LEVEL_TOOL = "/tool"
_USER = 1000
_NUMBERS = itertools.count(1)
_QUIT = "3"  # The Go runtime ends at it; KILL does not reach process 1 from within its own namespace.
_CONFINED: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


@dataclass(frozen=True, slots=True)
class Images:
    """The names of what the cluster was loaded with."""

    supervisor: str
    weakened: str
    tool: str


def loaded(programs: Programs) -> Images:
    """Make the images and load them: one program each, and nothing else in them."""
    return Images(
        supervisor=_image("supervisor", {"supervisor": programs.supervisor}, "/supervisor"),
        weakened=_image("supervisor-weaken", {"supervisor": programs.weakened}, "/supervisor"),
        tool=_image("tool", {TOOL[1:]: programs.tool, TOP_LEVEL_TOOL[1:]: programs.tool}),
    )


def _image(name: str, files: Mapping[str, Path], *entrypoint: str) -> str:
    # Named for what is in it: another checkout's tests load theirs beside it.
    content = hashlib.sha256(b"".join(path.read_bytes() for path in files.values())).hexdigest()
    full = f"{bundle.REGISTRY}/{name}:{content[:16]}"
    with tempfile.TemporaryDirectory() as folder:
        for inside, path in files.items():
            target = Path(folder, "root", inside)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        command = [sys.executable, "-m", "hack.cluster", "image", full, f"{folder}/root", *entrypoint]
        subprocess.run(command, check=True, cwd=CHECKOUT, capture_output=True)
    return full


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a pod is made of, in the shape that the operator gives to its sandboxes."""

    supervisor: str
    tool: str
    env: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, str] = field(default_factory=dict)
    """Of a folder, where it is not a gigabyte."""
    key: bytes = field(default=pods.KEY, repr=False)
    flags: tuple[str, ...] = ()
    """Of serve, besides those that every pod has."""

    def manifest(self, name: str) -> dict[str, Any]:
        """The pod."""
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "restartPolicy": "Never",
                "securityContext": {
                    **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), _USER),
                    "runAsNonRoot": True,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "initContainers": [self._install()],
                "containers": [self._sandbox()],
                "volumes": [self._volume("opt"), *(self._volume(name) for name in FOLDERS)],
            },
        }

    def _install(self) -> dict[str, Any]:
        return {
            "name": "install",
            "args": ["install", "/opt/toolcall"],
            "volumeMounts": [{"name": "opt", "mountPath": "/opt/toolcall"}],
            "resources": _resources("64Mi"),
            **self._container(self.supervisor),
        }

    def _sandbox(self) -> dict[str, Any]:
        hashed = hashlib.sha256(self.key).hexdigest()
        return {
            "name": "sandbox",
            "command": [pods.SUPERVISOR, "serve", "--key-sha256", hashed, *self.flags],
            "volumeMounts": [
                {"name": "opt", "mountPath": "/opt/toolcall", "readOnly": True},
                *({"name": name, "mountPath": path} for name, path in FOLDERS.items()),
            ],
            "resources": _resources(str(MEMORY)),
            **self._container(self.tool),
        }

    def _container(self, image: str) -> dict[str, Any]:
        env = [{"name": name, "value": value} for name, value in self.env.items()]
        return {"image": image, "imagePullPolicy": "IfNotPresent", "securityContext": _CONFINED, "env": env}

    def _volume(self, name: str) -> dict[str, Any]:
        return {"name": name, "emptyDir": {"sizeLimit": self.sizes.get(name, "1Gi")}}


FOLDERS = {
    "workspace": pods.WORKSPACE,
    "work": pods.WORK,
    "private": pods.PRIVATE,
    "tmp": pods.TMP,
    "spool": pods.SPOOL,
}


def _resources(memory: str) -> dict[str, Any]:
    # Limits alone would become requests, and nobody else's pod would find room.
    return {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": memory}}


class ClusterPod:
    """A running pod."""

    def __init__(self, kubectl: Kubectl, recipe: Recipe, name: str) -> None:
        self.name = name
        self.kubectl = kubectl
        self._recipe = recipe
        self._start()

    def _start(self) -> None:
        self.kubectl.apply(self._recipe.manifest(self.name))
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Running", f"pod/{self.name}", "--timeout=50s")
        for name, text, mode in harness.FURNITURE:
            self.run("put", f"{mode:o}", f"{pods.WORKSPACE}/{name}", stdin=text)

    @property
    def status(self) -> Any:  # noqa: ANN401 - a part of a manifest
        """What the API server says of it."""
        return self.kubectl.get("pod", self.name)["status"]

    def enter(self, stdio: int, *words: str) -> subprocess.Popen[bytes]:
        """Start a program in it."""
        command = [self.kubectl.program, f"--namespace={self.kubectl.namespace}", "exec", "-i", self.name, "--", *words]
        return subprocess.Popen(command, stdin=stdio, stdout=stdio, stderr=subprocess.DEVNULL, start_new_session=True)

    def run(self, *words: str, stdin: str = "") -> str:
        """What the test tool prints as the supervisor's equal: in no call, and in no domain."""
        return self.kubectl("exec", "-i", self.name, "--", TOOL, *words, stdin=stdin)

    def restart(self) -> None:
        """Another pod of the same name, after this one's supervisor broke down."""
        self.run("signal", "1", _QUIT)
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Failed", f"pod/{self.name}", "--timeout=50s")
        self.remove()
        self.kubectl("wait", "--for=delete", f"pod/{self.name}", "--timeout=50s")
        self._start()

    def terminate(self) -> None:
        """Delete it, without waiting for its end."""
        self.kubectl("delete", "pod", self.name, "--wait=false")

    def vanish(self) -> None:
        """Take it out of the cluster when its supervisor broke down: nothing in it hears a TERM."""
        self.run("signal", "1", _QUIT)
        self.kubectl("delete", "pod", self.name, "--force", "--grace-period=0")

    def remove(self) -> None:
        """Delete it with a second's grace."""
        self.kubectl("delete", "pod", self.name, "--ignore-not-found", "--now", "--wait=false")


class Shared:
    """One pod for many tests, until one of them leaves it unfit for the next."""

    def __init__(self, kubectl: Kubectl, recipe: Recipe) -> None:
        self._kubectl = kubectl
        self._recipe = recipe
        self._pod: ClusterPod | None = None

    def pod(self) -> ClusterPod:
        """The pod of now."""
        if self._pod is None:
            self._pod = ClusterPod(self._kubectl, self._recipe, f"sandbox-{next(_NUMBERS)}")
        return self._pod

    def discard(self) -> None:
        """Have the next test start another."""
        if self._pod is not None:
            self._pod.remove()
            self._pod = None


class ClusterConnector(PodConnector):
    """A connector that knows a pod which is no more."""

    def __init__(self, pod: ClusterPod) -> None:
        super().__init__(pod)
        self._name = pod.name
        self._kubectl = pod.kubectl

    async def connect(self) -> Link:
        """A new `connect`, where there still is a pod."""
        if self.connections and not self._kubectl("get", "pod", self._name, "--ignore-not-found", "--output=name"):
            raise errors.SandboxLost(Reason.SANDBOX_GONE, "the pod is gone")
        return await super().connect()


INSIDE: Mapping[str, Any] = {"tool": TOOL, "workspace": pods.WORKSPACE, "work": pods.WORK, "spool": pods.SPOOL}
"""Where things are in a pod, as a harness tells it."""


@dataclass
class ClusterHarness(PodHarness):
    """A harness that asks the cluster: what it does in the pod, an exec does."""

    cluster_pod: ClusterPod = field(kw_only=True)

    def resident(self) -> int:
        """As the pod counts."""
        pages = int(self.cluster_pod.run("show", "/proc/1/statm").split()[1])
        return pages * 4096

    def files_with(self, text: str) -> list[str]:
        """Looked for in the pod."""
        return self.cluster_pod.run("files-with", text, *FOLDERS.values()).split()

    def limit_files(self, most: int) -> int:
        """As the user of the pod."""
        return int(self.cluster_pod.run("limit-files", str(most)))

    def parent_of(self, pid: str) -> str:
        """From the pod's own /proc."""
        lines = self.cluster_pod.run("show", f"/proc/{pid}/status").splitlines()
        return next(line.split()[1] for line in lines if line.startswith("PPid:"))

    def give_input(self, uid: str, text: str) -> None:
        """As the supervisor would."""
        self.cluster_pod.run("put", "600", f"{pods.WORK}/in/{uid}/input", stdin=text)


@asynccontextmanager
async def connected(pod: ClusterPod) -> AsyncIterator[ClusterHarness]:
    """A connection to a pod, which stays."""
    connector = ClusterConnector(pod)
    sandbox = await pods.opened(connector, pods.OURS)
    yield ClusterHarness(sandbox=sandbox, pod=pod, connector=connector, cluster_pod=pod, **INSIDE)
    await sandbox.close()
