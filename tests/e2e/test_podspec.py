"""What the operator makes of a class and a session is a pod that a careful cluster takes, and a policy that holds."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import tarfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hack.cluster import bundle
from tests.contract import harness, pod, programs
from tests.contract.pods import KEY, OURS
from tests.kubectl import Kubectl
from toolcall_operator import errors
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.link import Link
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.api.spiceboxclass import SpiceboxClassSpec
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core.pod import netpolicy, pods, podspec
from toolcall_operator.core.pod.pods import PodPhase, PodState, PodView
from toolcall_operator.core.pod.podspec import SandboxSettings

pytestmark = pytest.mark.cluster

KEY_SHA256 = hashlib.sha256(KEY).hexdigest()
RESOURCES = {"cpu": "1", "memory": "128Mi", "ephemeralStorage": "256Mi", "cacheSize": "64Mi"}
SHELL = {"name": "shell", "command": ["sh", "-c"]}


@pytest.fixture(scope="module")
def settings(cluster: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> SandboxSettings:
    """The operator's settings on this cluster, whose API server no sandbox may reach."""
    images = pod.loaded(programs.built(tmp_path_factory.mktemp("programs")))
    api_server = cluster.get("service", "kubernetes")["spec"]["clusterIP"]
    blocked = (f"{api_server}:443", "169.254.169.254:80")
    return SandboxSettings(images.supervisor, bundle.named("busybox"), blocked=blocked)


@pytest.fixture(scope="module")
def restricted(kubectl: Kubectl, crds: None) -> Kubectl:  # noqa: ARG001 - sessions are of a kind of ours
    """A namespace in which the API server refuses every pod that Kubernetes does not call restricted."""
    kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
    return kubectl


@dataclass(frozen=True, slots=True)
class Place:
    """A pod of a session, and the cluster it is in."""

    kubectl: Kubectl
    name: str

    def state(self) -> PodState:
        """Where it stands."""
        return pods.state(PodView.parse(self.kubectl.get("pod", self.name)))

    def until(self, phase: PodPhase) -> PodState:
        """Where it stands when it is in this phase, or stuck; it has most of a minute."""
        end = time.monotonic() + 50
        while (found := self.state()).phase is not phase and not found.stuck:
            assert time.monotonic() < end, found
            time.sleep(0.2)
        return found

    def run(self, *words: str) -> str:
        """What a program says that is no tool's: it has the pod's network, and no supervisor over it."""
        return self.kubectl.attempt("exec", self.name, "--container=sandbox", "--", *words).stdout.strip()

    async def connect(self) -> Link:
        """A link to its supervisor."""
        kubectl = [self.kubectl.program, f"--namespace={self.kubectl.namespace}"]
        process = await asyncio.create_subprocess_exec(
            *(*kubectl, "exec", "-i", self.name, "--container=sandbox", "--", "/opt/toolcall/supervisor", "connect"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None

        async def close() -> None:
            if process.returncode is None:
                process.kill()
            await process.wait()

        return Link(process.stdout, process.stdin, close)

    @asynccontextmanager
    async def sandbox(self) -> AsyncIterator[SupervisedSandbox]:
        """Its supervisor, once it answers."""
        assert self.until(PodPhase.RUNNING) == PodState(PodPhase.RUNNING)
        async with asyncio.timeout(50):
            opened = await self._opened()
        yield opened
        await opened.close()

    async def _opened(self) -> SupervisedSandbox:
        while True:
            try:
                return await SupervisedSandbox.open(self, OURS, Patience())
            except errors.Unavailable:
                await asyncio.sleep(0.1)


def made(
    kubectl: Kubectl,
    settings: SandboxSettings,
    name: str,
    session: dict[str, Any] | None = None,
    **of_class: Any,  # noqa: ANN401 (fields of a manifest)
) -> Place:
    """The pod of a session of this name and a class with these fields, its policy first."""
    manifest = {
        "apiVersion": "agentprimitives.authzed.com/v1alpha1",
        "kind": "SpiceboxSession",
        "metadata": {"name": name},
        "spec": {"class": "plain", **(session or {})},
    }
    kubectl.apply(manifest)
    parsed = SpiceboxSession.model_validate(kubectl.get("spiceboxsession", name))
    spec = SpiceboxClassSpec.model_validate({"resources": RESOURCES, "tools": [SHELL], **of_class})
    if settings.enforce_network:
        kubectl.apply(netpolicy.policy(parsed, spec, settings))
    kubectl.apply(podspec.pod(parsed, spec, podspec.pod_name(name, 0), settings, KEY_SHA256))
    return Place(kubectl, podspec.pod_name(name, 0))


def mount(name: str, path: str, **fields: str) -> dict[str, Any]:
    return {"name": "files", "mountPath": path, "source": {"configMapRef": {"name": name}}, **fields}


def archive(kubectl: Kubectl, name: str, content: bytes) -> str:
    """A ConfigMap with an archive of one file, and the digest of the archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo("folder/file")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    binary = {"bundle.tar.gz": base64.b64encode(packed.getvalue()).decode()}
    kubectl.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "binaryData": binary})
    return f"sha256:{hashlib.sha256(packed.getvalue()).hexdigest()}"


async def shell(place: Place, script: str) -> list[str]:
    """The lines that a call writes."""
    async with place.sandbox() as sandbox:
        ran = await harness.run(sandbox, harness.request("/bin/sh", "-c", script))
    assert ran.result.code == 0, ran
    return ran.stdout.decode().splitlines()


async def test_a_restricted_namespace_takes_the_pod_and_its_supervisor_answers_once_it_is_shut_off(
    restricted: Kubectl, settings: SandboxSettings
) -> None:
    place = made(restricted, settings, "plain")

    async with place.sandbox() as sandbox:
        hello = sandbox.hello
    assert hello.network == "Blocked"
    assert PodView.parse(restricted.get("pod", place.name)).session_uid


async def test_tools_find_what_class_and_session_put_there(restricted: Kubectl, settings: SandboxSettings) -> None:
    restricted("create", "configmap", "raw", "--from-literal=file=of the ConfigMap")
    digest = archive(restricted, "of-class", b"of the class\n")
    archive(restricted, "of-session", b"of the session\n")
    place = made(
        restricted,
        settings,
        "full",
        session={"mounts": [mount("of-session", "/more", format="tarGz")]},
        mounts=[mount("of-class", "/skills", format="tarGz", digest=digest), {**mount("raw", "/raw"), "name": "raw"}],
        privateVolumes=[{"name": "home", "mountPath": "/home/user"}],
        writablePaths=["/data"],
        envDefaults={"LITERAL": "$(PATH) $$"},
        pod={"requests": {"cpu": "20m"}, "labels": {"team": "a"}},
    )

    found = await shell(
        place,
        """
        cat /skills/folder/file /more/folder/file /raw/file; echo
        echo "$LITERAL"; pwd
        for folder in /workspace /work/out /tmp /var/ap-cache /home/user /data; do
            echo to >$folder/here && echo $folder
        done
        for folder in /skills/folder /more /raw /opt/toolcall /run/toolcall /etc; do
            (echo to >$folder/here) 2>/dev/null && echo "wrote to $folder"
        done
        id -u; ls /run/toolcall 2>/dev/null; exit 0
        """,
    )

    assert found == [
        *("of the class", "of the session", "of the ConfigMap"),
        *("$(PATH) $$", "/workspace"),
        *("/workspace", "/work/out", "/tmp", "/var/ap-cache", "/home/user", "/data"),  # noqa: S108 (in the sandbox)
        "1000",
    ]


def test_an_archive_with_another_digest_makes_no_sandbox_and_both_digests_are_told(
    restricted: Kubectl, settings: SandboxSettings
) -> None:
    real = archive(restricted, "changed", b"changed\n")
    wanted = f"sha256:{'0' * 64}"

    place = made(restricted, settings, "wrong", mounts=[mount("changed", "/skills", format="tarGz", digest=wanted)])

    found = place.until(PodPhase.LOST)
    assert (found.phase, found.stuck) == (PodPhase.PENDING, True)
    assert real in found.problem
    assert wanted in found.problem


@pytest.fixture(scope="module")
def server(kubectl: Kubectl) -> str:
    """The address of a web server at ports 80 and 8080."""
    confined = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    user = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    ports = {"sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]}
    serve = "echo welcome >/tmp/index.html; httpd -p 8080 -h /tmp; exec httpd -f -p 80 -h /tmp"
    container = {"name": "main", "image": bundle.named("busybox"), "command": ["sh", "-c", serve]}
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "server"},
            "spec": {
                "securityContext": {**user, **ports},
                "terminationGracePeriodSeconds": 0,
                "containers": [{**container, "securityContext": confined}],
            },
        }
    )
    kubectl("wait", "--for=condition=Ready", "pod/server", "--timeout=50s")
    return str(kubectl.get("pod", "server")["status"]["podIP"])


def soon(holds: Callable[[], bool]) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + 10
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def fetch(address: str) -> tuple[str, ...]:
    # `wget -T` is not used: Debian 12's busybox crashes on it.
    return "timeout", "2", "wget", "-q", "-O", "-", f"http://{address}"


def shut_off(place: Place, server: str) -> Place:
    """A sandbox whose policy is in force: none lets port 8080 be reached."""
    assert place.until(PodPhase.RUNNING) == PodState(PodPhase.RUNNING)
    assert soon(lambda: place.run(*fetch(f"{server}:8080")) != "welcome")
    return place


def reached(place: Place, server: str) -> dict[str, bool]:
    """What a running sandbox reaches, and whether it is reached."""
    assert place.run("sh", "-c", "echo welcome >/tmp/index.html; httpd -p 8080 -h /tmp; echo up") == "up"
    address = place.kubectl.get("pod", place.name)["status"]["podIP"]
    from_server = place.kubectl.attempt("exec", "server", "--", *fetch(f"{address}:8080")).stdout.strip()
    return {
        "resolves names": "Name:" in place.run("timeout", "3", "nslookup", "kubernetes.default.svc.cluster.local"),
        "reaches the web": place.run(*fetch(f"{server}:80")) == "welcome",
        "is reached": from_server == "welcome",
    }


def test_a_sandbox_without_policy_reaches_everything_and_is_reached(
    restricted: Kubectl, settings: SandboxSettings, server: str
) -> None:
    place = made(restricted, replace(settings, enforce_network=False), "open")

    assert place.until(PodPhase.RUNNING) == PodState(PodPhase.RUNNING)
    assert place.run(*fetch(f"{server}:8080")) == "welcome"
    assert reached(place, server) == {"resolves names": True, "reaches the web": True, "is reached": True}


def test_a_sandbox_with_mode_none_reaches_nothing_and_is_not_reached(
    restricted: Kubectl, settings: SandboxSettings, server: str
) -> None:
    place = shut_off(made(restricted, settings, "shut"), server)

    assert reached(place, server) == {"resolves names": False, "reaches the web": False, "is reached": False}


async def test_a_sandbox_with_an_allowlist_resolves_names_and_reaches_nothing_inside(
    restricted: Kubectl, settings: SandboxSettings, server: str
) -> None:
    place = shut_off(made(restricted, settings, "inside", network={"mode": "allowlist"}), server)

    assert reached(place, server) == {"resolves names": True, "reaches the web": False, "is reached": False}
    async with place.sandbox() as sandbox:
        assert sandbox.hello.network == "Blocked"


def test_a_sandbox_with_an_allowlist_reaches_the_web_outside(
    restricted: Kubectl, settings: SandboxSettings, server: str
) -> None:
    outside = replace(settings, internal_ranges=("169.254.0.0/16", "fe80::/10"))  # pods count as outside then

    place = shut_off(made(restricted, outside, "outside", network={"mode": "allowlist"}), server)

    assert reached(place, server) == {"resolves names": True, "reaches the web": True, "is reached": False}
