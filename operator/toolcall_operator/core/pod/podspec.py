"""The pod of a sandbox: the supervisor is its first process, and nothing in it is allowed more than tools need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from toolcall_operator.api import durations, quantities
from toolcall_operator.api.base import API_VERSION, GROUP
from toolcall_operator.api.sandbox import MiB, PodSettings, Requests
from toolcall_operator.api.spiceboxclass import SpiceboxClassSpec
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core.pod import folders, pods, podvolumes
from toolcall_operator.core.pod.podvolumes import Volume

SESSION_LABEL, CLASS_LABEL = f"{GROUP}/session", f"{GROUP}/class"

METADATA_SERVICE = "169.254.169.254:80"
"""Where clouds tell machines who they are, and hand them keys."""

INTERNAL_RANGES = (
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",  # carriers' and providers' own; pods and Services of some
    "169.254.0.0/16",  # link-local: the metadata of most clouds
    "127.0.0.0/8",
    "168.63.129.16/32",  # a public address, but of an Azure node's own host, which tells it its certificates
    "192.0.0.0/24",  # Oracle's metadata
    "198.18.0.0/15",
    "240.0.0.0/4",  # pods of some providers
    "fc00::/7",
    "fe80::/10",
)
"""What is not the outside: private and link-local addresses, and those that providers use as such."""

_USER = 1000
_STOPS_WITHIN = 30
"""Seconds. The supervisor gives calls 20 s at most when it is told to stop, and 5 s to tell how they ended."""

_TASK_BYTES = 256 * 1024
"""How much memory a pod must have for each process or thread: what the kernel keeps for them comes out of it, too."""
_FEWEST_TASKS = 128

_REQUESTED_CPU, _REQUESTED_MEMORY, _REQUESTED_DISK = 10, 32 * MiB, 32 * MiB
"""Thousandths and bytes. What is not requested is requested as high as its limit, and idle sandboxes fill the nodes."""

_PROGRAM: Mapping[str, Any] = {"name": "toolcall", "mountPath": folders.SUPERVISOR}
_CONFINED: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """What the operator's settings say about sandboxes.

    `tasks`: how many processes and threads a pod may have at most, the kubelet's podPidsLimit. `spool_bytes`: how much
    output a supervisor keeps at a time; `retention`: how long it keeps that of a call nobody asks for. `blocked`:
    addresses (IP:PORT) that no sandbox may reach, which tells a supervisor whether the policy of its network is in
    force. `internal_ranges`: what a sandbox that may reach the outside does not; pods, Services, nodes and the
    endpoints of the API server belong in it, where they have public addresses. `name_servers`: ranges of name servers
    other than the pods of kube-dns.
    """

    supervisor_image: str
    default_image: str
    tasks: int = 1024
    spool_bytes: int = 256 * MiB
    retention: timedelta = timedelta(minutes=10)
    enforce_network: bool = True
    blocked: tuple[str, ...] = (METADATA_SERVICE,)
    internal_ranges: tuple[str, ...] = INTERNAL_RANGES
    name_servers: tuple[str, ...] = ("169.254.20.10/32",)  # where NodeLocal DNSCache listens on every node


def pod_name(session: str, restarts: int) -> str:
    """The name of a session's pod, after it was replaced so often."""
    return f"{session}-pod-{restarts + 1}" if restarts else f"{session}-pod"


def metadata(session: SpiceboxSession, name: str) -> dict[str, Any]:
    """The metadata of an object that belongs to a session, and goes with it."""
    owner = {
        "apiVersion": API_VERSION,
        "kind": session.kind,
        "name": session.metadata.name,
        "uid": session.metadata.uid,
    }
    return {
        "name": name,
        "namespace": session.metadata.namespace,
        "labels": {SESSION_LABEL: session.metadata.name, CLASS_LABEL: session.spec.class_},
        "ownerReferences": [{**owner, "controller": True}],
    }


def pod(
    session: SpiceboxSession, spec: SpiceboxClassSpec, name: str, settings: SandboxSettings, key_sha256: str
) -> dict[str, Any]:
    """The manifest of a sandbox's pod.

    Args:
        session: The session; its UID must be known.
        spec: Its class, as it was frozen.
        name: The pod's name, by `pod_name`.
        settings: The operator's.
        key_sha256: The hash of the key with which the operator will identify itself, in hex.
    """
    chosen = spec.pod or PodSettings()
    found = podvolumes.volumes(spec, session.spec.mounts, settings.spool_bytes)
    resources = _resources(spec, chosen.requests or Requests(), found)
    sandbox = _sandbox(spec, settings, podvolumes.mounts(found), key_sha256)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _labelled(metadata(session, name), chosen),
        "spec": {
            **_always(),
            **_placing(spec, chosen),
            "initContainers": _init_containers(session, spec, settings, resources),
            "containers": [{**sandbox, "resources": resources}],
            "volumes": podvolumes.manifests(found),
        },
    }


def _labelled(ours: dict[str, Any], chosen: PodSettings) -> dict[str, Any]:
    """The metadata with the labels and annotations of the class, which cannot take the place of ours."""
    annotations = {"annotations": dict(chosen.annotations)} if chosen.annotations else {}
    return {**ours, "labels": {**chosen.labels, **ours["labels"]}, **annotations}


def _always() -> dict[str, Any]:
    """What holds for every pod: no access to the API, no user but an ordinary one, no second life."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": _STOPS_WITHIN,
        "securityContext": {
            **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), _USER),
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _placing(spec: SpiceboxClassSpec, chosen: PodSettings) -> dict[str, Any]:
    """Where the pod runs, and with what its images are pulled; what the class does not say is left out."""
    every = {
        "runtimeClassName": spec.runtime_class_name,
        "imagePullSecrets": [{"name": secret.name} for secret in chosen.image_pull_secrets],
        "nodeSelector": dict(chosen.node_selector),
        "tolerations": [toleration.to_manifest() for toleration in chosen.tolerations],
        "affinity": dict(chosen.affinity or {}),
        "priorityClassName": chosen.priority_class_name,
    }
    return {name: value for name, value in every.items() if value}


def _init_containers(
    session: SpiceboxSession, spec: SpiceboxClassSpec, settings: SandboxSettings, resources: dict[str, Any]
) -> list[dict[str, Any]]:
    """What brings the supervisor into the pod, and then what unpacks archives, if there are any."""
    install = {"args": ["install", folders.SUPERVISOR], "volumeMounts": [dict(_PROGRAM)]}
    found = podvolumes.archives(spec, session.spec.mounts)
    unpack = {
        "args": ["unpack", "--bytes", str(podvolumes.UNPACKED_BYTES), *(word for each in found for word in each.words)],
        "volumeMounts": [*(archive.mount() for archive in found), dict(podvolumes.UNPACKED_MOUNT)],
    }
    wanted = {"install": install, "unpack": unpack} if found else {"install": install}
    # A pod counts what its largest init container asks for, or the sum of the others if that is more: the same as the
    # sandbox adds nothing, and a quota that wants limits on every container is content.
    common = {"image": settings.supervisor_image, "resources": resources, **_contained()}
    return [{"name": name, **own, **common} for name, own in wanted.items()]


def _sandbox(
    spec: SpiceboxClassSpec, settings: SandboxSettings, mounts: list[dict[str, Any]], key_sha256: str
) -> dict[str, Any]:
    """The container in which calls run."""
    policy = spec.pod and spec.pod.image_pull_policy
    return {
        "name": pods.SANDBOX,
        "image": spec.image or settings.default_image,
        **({"imagePullPolicy": policy} if policy else {}),
        "command": _serve(spec, settings, key_sha256),
        "workingDir": folders.WORKSPACE,
        "env": [{"name": name, "value": _literal(value)} for name, value in spec.env_defaults.items()],
        "volumeMounts": mounts,
        **_contained(),
    }


def _contained() -> dict[str, Any]:
    """What holds for every container; the last words of one that fails become its message, and the session's."""
    return {"securityContext": dict(_CONFINED), "terminationMessagePolicy": "FallbackToLogsOnError"}


def _serve(spec: SpiceboxClassSpec, settings: SandboxSettings, key_sha256: str) -> list[str]:
    """Its command; what else `supervisor serve` can be told is right for pods as it is."""
    flags = [
        ("--key-sha256", key_sha256),
        ("--retention", durations.render(settings.retention)),
        ("--tasks", str(_tasks(spec, settings))),
        ("--spool-bytes", str(settings.spool_bytes)),
        *(("--writable", path) for path in podvolumes.writable(spec)),
        *(("--blocked", address) for address in settings.blocked if settings.enforce_network),
    ]
    return [f"{folders.SUPERVISOR}/supervisor", "serve", *(_literal(word) for flag in flags for word in flag)]


def _tasks(spec: SpiceboxClassSpec, settings: SandboxSettings) -> int:
    """How many processes and threads the pod may have: no more than its memory holds."""
    return min(settings.tasks, max(_FEWEST_TASKS, spec.resources.memory // _TASK_BYTES))


def _resources(spec: SpiceboxClassSpec, requests: Requests, found: Sequence[Volume]) -> dict[str, Any]:
    limits = spec.resources
    disk = limits.ephemeral_storage + sum({each.name: each.size for each in found if each.besides}.values())
    cpu = min(_REQUESTED_CPU, limits.cpu) if requests.cpu is None else requests.cpu
    memory = min(_REQUESTED_MEMORY, limits.memory) if requests.memory is None else requests.memory
    asked = min(_REQUESTED_DISK, disk) if requests.ephemeral_storage is None else requests.ephemeral_storage
    return {"requests": _amounts(cpu, memory, asked), "limits": _amounts(limits.cpu, limits.memory, disk)}


def _amounts(cpu: int, memory: int, disk: int) -> dict[str, str]:
    return {
        "cpu": quantities.render_cpu(cpu),
        "memory": quantities.render_bytes(memory),
        "ephemeral-storage": quantities.render_bytes(disk),
    }


def _literal(text: str) -> str:
    """Text that Kubernetes hands on as it is: it puts variables in the place of `$(NAME)`, and writes `$` for `$$`."""
    return text.replace("$", "$$")
