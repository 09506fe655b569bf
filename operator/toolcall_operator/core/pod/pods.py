"""What Kubernetes tells of a sandbox's pod: whether its sandbox is still to come, runs, or is lost, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from toolcall_operator import errors
from toolcall_operator.api.base import GROUP
from toolcall_operator.core.reasons import Reason

SANDBOX = "sandbox"
"""The container in which calls run."""


class PodPhase(StrEnum):
    """Where a pod stands, as far as its sandbox goes."""

    PENDING = "Pending"
    RUNNING = "Running"
    LOST = "Lost"


@dataclass(frozen=True, slots=True)
class Container:
    """One container: `is_running` now, or it `ended`, or (neither) it waits; `reason` and `message` are Kubernetes'."""

    name: str
    is_running: bool = False
    ended: bool = False
    reason: str = ""
    message: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class PodView:
    """What this project reads of a pod; `session_uid` is that of the SpiceboxSession that controls it, if one does.

    `unscheduled` is why it has no node yet. `disruption` and `disruption_message` are the reason and message with which
    Kubernetes announced that it takes the pod away.
    """

    namespace: str
    name: str
    uid: str
    session_uid: str = ""
    phase: str = ""
    reason: str = ""
    message: str = ""
    deleting: bool = False
    created_at: datetime | None = None
    unscheduled: str = ""
    disruption: str = ""
    disruption_message: str = ""
    init: tuple[Container, ...] = ()
    sandbox: Container | None = None

    @classmethod
    def parse(cls, manifest: Mapping[str, Any]) -> PodView:
        """The view of a pod; what has another shape than the API server gives it counts as absent."""
        metadata, status = _object(manifest, "metadata"), _object(manifest, "status")
        scheduled = _condition(status, "PodScheduled", "False")
        disrupted = _condition(status, "DisruptionTarget", "True")
        containers = map(_container, _objects(status, "containerStatuses"))
        return cls(
            namespace=_text(metadata, "namespace"),
            name=_text(metadata, "name"),
            uid=_text(metadata, "uid"),
            session_uid=_session_uid(metadata),
            phase=_text(status, "phase"),
            reason=_text(status, "reason"),
            message=_text(status, "message"),
            deleting=bool(_text(metadata, "deletionTimestamp")),
            created_at=_time(metadata, "creationTimestamp"),
            unscheduled=_text(scheduled, "message") or _text(scheduled, "reason"),
            disruption=_text(disrupted, "reason"),
            disruption_message=_text(disrupted, "message"),
            init=tuple(map(_container, _objects(status, "initContainerStatuses"))),
            sandbox=next((container for container in containers if container.name == SANDBOX), None),
        )


@dataclass(frozen=True, slots=True)
class PodState:
    """Where a pod stands; `problem` is a sentence about what holds it up, or how it was lost.

    `stuck`: this pod will never run, whatever changes around it; only another pod can. What Kubernetes tries again (a
    pull, a ConfigMap that may come, a node that may be added) is a problem that is not stuck.
    """

    phase: PodPhase
    problem: str = ""
    stuck: bool = False
    lost: Reason | None = None


def state(pod: PodView) -> PodState:
    """Where `pod` stands. One that is being deleted runs until its container ended: it still answers."""
    failed = pod.phase in {"Failed", "Succeeded"} or pod.reason == "NodeLost"
    if pod.sandbox and pod.sandbox.is_running and not failed:
        return PodState(PodPhase.RUNNING)
    if not (failed or pod.deleting or (pod.sandbox and pod.sandbox.ended)):
        return _pending(pod)
    taken_away = pod.deleting or _evicted(pod)
    if not taken_away and (broken := next(_broken(pod), "")):
        return PodState(PodPhase.PENDING, broken, stuck=True)
    return _lost(pod)


def stopping(pod: PodView) -> tuple[Reason, str] | None:
    """Why a pod was told to stop, with a sentence; None as long as Kubernetes does not say that it was."""
    return _loss(pod) if pod.deleting or _evicted(pod) else None


def _evicted(pod: PodView) -> bool:
    # The collector of orphaned pods announces itself in the same way, but found the node gone: nobody evicted anything.
    return pod.reason == "Evicted" or pod.disruption not in {"", "DeletionByPodGC"}


# Pending --------------------------------------------------------------------------------------------------------------
_NO_PROBLEM = frozenset({"", "ContainerCreating", "PodInitializing"})
_HELD_UP = {
    "ErrImagePull": "its image cannot be pulled",
    "ImagePullBackOff": "its image cannot be pulled",
    "ErrImageNeverPull": "its image is not on the node",
    "InvalidImageName": "the name of its image is none",
    "CreateContainerConfigError": "it cannot be made",
    "CreateContainerError": "it cannot be made",
    "RunContainerError": "it cannot be started",
    "CrashLoopBackOff": "it ends as soon as it is started",
}
_NOT_STARTED = frozenset({"StartError", "ContainerCannotRun"})
"""With these a container `ended` that never ran: its runtime could not start the program."""


def _pending(pod: PodView) -> PodState:
    for container in _containers(pod):
        if not (container.is_running or container.ended or container.reason in _NO_PROBLEM):
            words = _HELD_UP.get(container.reason, "it is held up")
            return PodState(
                PodPhase.PENDING,
                f"container {container.name}: {words}: {_told(container)}",
                stuck=container.reason == "InvalidImageName",
            )
    unscheduled = errors.foreign(pod.unscheduled)
    return PodState(PodPhase.PENDING, f"the pod has no node yet: {unscheduled}" if unscheduled else "")


def _broken(pod: PodView) -> Iterator[str]:
    """What failed for good before the sandbox ever ran: containers of a sandbox are not started again."""
    for container in pod.init:
        if container.ended and container.exit_code:
            yield f"init container {container.name} failed: {_told(container)}"
    if pod.sandbox and pod.sandbox.reason in _NOT_STARTED:
        yield f"container {SANDBOX}: it cannot be started: {_told(pod.sandbox)}"


def _containers(pod: PodView) -> Iterator[Container]:
    yield from pod.init
    if pod.sandbox:
        yield pod.sandbox


def _told(container: Container) -> str:
    """What Kubernetes says of a container; of one that ended, its last words say more than the reason `Error`."""
    code = f"exit code {container.exit_code}" if container.ended and container.exit_code is not None else ""
    reason = "" if container.ended and container.reason == "Error" else container.reason
    return ": ".join(filter(None, (errors.foreign(reason), code, errors.foreign(container.message))))


# Lost -----------------------------------------------------------------------------------------------------------------
def _lost(pod: PodView) -> PodState:
    reason, problem = _loss(pod)
    return PodState(PodPhase.LOST, problem, lost=reason)


def _loss(pod: PodView) -> tuple[Reason, str]:
    """Why a pod is lost, the surest word first: what became of its container, then what was to become of the pod."""
    if pod.sandbox and pod.sandbox.ended and pod.sandbox.reason == "OOMKilled":
        return Reason.SANDBOX_OOM_KILLED, "the sandbox was killed: it used more memory than its class allows"
    if _evicted(pod):
        why = errors.foreign(pod.message or pod.disruption_message or pod.disruption)
        return Reason.EVICTED, f"the pod was evicted: {why}" if why else "the pod was evicted"
    if pod.reason == "NodeLost":
        return Reason.SANDBOX_GONE, "the pod's node is lost"
    if pod.deleting:
        return Reason.SANDBOX_TERMINATING, "the pod was deleted"
    if pod.reason:
        told = ": ".join(filter(None, (errors.foreign(pod.reason), errors.foreign(pod.message))))
        return Reason.SANDBOX_GONE, f"the pod failed: {told}"
    return Reason.SANDBOX_GONE, f"the sandbox ended: {_told(pod.sandbox) if pod.sandbox else 'nothing is known of it'}"


# Reading --------------------------------------------------------------------------------------------------------------
def _container(status: Mapping[str, Any]) -> Container:
    found = _object(status, "state")
    ended = _object(found, "terminated")
    told = ended or _object(found, "waiting")
    code = ended.get("exitCode")
    return Container(
        name=_text(status, "name"),
        is_running=not ended and isinstance(found.get("running"), Mapping),
        ended=bool(ended),
        reason=_text(told, "reason"),
        message=_text(told, "message"),
        exit_code=code if isinstance(code, int) else None,
    )


def _session_uid(metadata: Mapping[str, Any]) -> str:
    for owner in _objects(metadata, "ownerReferences"):
        ours = _text(owner, "kind") == "SpiceboxSession" and _text(owner, "apiVersion").startswith(f"{GROUP}/")
        if ours and owner.get("controller") is True:
            return _text(owner, "uid")
    return ""


def _condition(status: Mapping[str, Any], kind: str, holds: str) -> Mapping[str, Any]:
    """The condition of this type, if its status is `holds`."""
    found = (
        each for each in _objects(status, "conditions") if each.get("type") == kind and each.get("status") == holds
    )
    return next(found, {})


def _object(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, Mapping) else {}


def _objects(parent: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = parent.get(name)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _text(parent: Mapping[str, Any], name: str) -> str:
    value = parent.get(name)
    return value if isinstance(value, str) else ""


def _time(parent: Mapping[str, Any], name: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(_text(parent, name))
    except ValueError:
        return None
    return found if found.tzinfo else None
