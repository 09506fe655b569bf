"""What Kubernetes tells of pods; `pods.json` holds what a real API server told of real ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core.pod import pods
from toolcall_operator.core.pod.pods import PodPhase, PodState, PodView
from toolcall_operator.core.reasons import Reason

REAL: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("pods.json").read_text(encoding="utf-8"))
RUNNING = PodState(PodPhase.RUNNING)
PULL = 'Back-off pulling image "127.0.0.1:9/absent:1": ErrImagePull: failed to pull and unpack image'


def real(name: str, **status: Any) -> PodView:  # noqa: ANN401 (fields of a manifest)
    """A pod that was, with parts of its status replaced."""
    manifest = REAL[name]
    return PodView.parse({**manifest, "status": {**manifest["status"], **status}})


def state(name: str, **status: Any) -> PodState:  # noqa: ANN401 (fields of a manifest)
    return pods.state(real(name, **status))


def test_a_view_says_which_pod_it_is_and_whose() -> None:
    pod = real("running")

    assert (pod.namespace, pod.name) == ("team", "work-pod")
    assert pod.uid == REAL["running"]["metadata"]["uid"]
    assert pod.session_uid == "4f1c1a1e-0000-4000-8000-000000000002"
    assert pod.created_at == datetime(2026, 11, 30, 20, 10, 55, tzinfo=UTC)
    assert not pod.deleting
    assert real("stopping").deleting


@pytest.mark.parametrize(
    "change",
    (
        {"controller": False},
        {"controller": None},
        {"kind": "Job"},
        {"apiVersion": "example.com/v1"},
        {"apiVersion": "agentprimitives.authzed.com.example.com/v1alpha1"},
    ),
)
def test_a_pod_that_no_session_controls_is_no_sessions(change: dict[str, Any]) -> None:
    metadata = REAL["running"]["metadata"]
    owner = {**metadata["ownerReferences"][0], **change}

    assert PodView.parse({"metadata": {**metadata, "ownerReferences": [owner]}}).session_uid == ""


@pytest.mark.parametrize("name", ("running", "stopping", "draining"))
def test_a_pod_runs_until_its_container_ended_also_while_it_is_taken_away(name: str) -> None:
    assert state(name) == RUNNING


@pytest.mark.parametrize("name", ("volume", "initrunning"))
def test_a_pod_that_is_being_made_has_no_problem(name: str) -> None:
    assert state(name) == PodState(PodPhase.PENDING)


def test_a_pod_of_which_nothing_is_known_yet_is_pending() -> None:
    assert pods.state(PodView.parse({"metadata": {"name": "work-pod"}})) == PodState(PodPhase.PENDING)


@pytest.mark.parametrize(
    ("name", "problem"),
    (
        ("unschedulable", "the pod has no node yet: 0/1 nodes are available: 1 node(s) didn't match"),
        ("gated", "the pod has no node yet: Scheduling is blocked due to non-empty scheduling gates"),
        ("pull", f"container sandbox: its image cannot be pulled: ImagePullBackOff: {PULL}"),
        ("initpull", f"container unpack: its image cannot be pulled: ImagePullBackOff: {PULL}"),
        ("never", "container sandbox: its image is not on the node: ErrImageNeverPull: Container image"),
        ("config", 'container sandbox: it cannot be made: CreateContainerConfigError: secret "absent" not found'),
    ),
)
def test_what_may_pass_is_a_problem_that_is_not_stuck(name: str, problem: str) -> None:
    found = state(name)

    assert (found.phase, found.stuck, found.lost) == (PodPhase.PENDING, False, None)
    assert found.problem.startswith(problem)


@pytest.mark.parametrize(
    ("name", "problem"),
    (
        (
            "name",
            "container sandbox: the name of its image is none: InvalidImageName: Failed to apply default image tag",
        ),
        ("init", "init container unpack failed: exit code 1: mount skills: the bundle has another digest"),
        (
            "start",
            "container sandbox: it cannot be started: StartError: exit code 128: failed to create containerd task",
        ),
    ),
)
def test_what_this_pod_can_never_get_over_is_stuck(name: str, problem: str) -> None:
    found = state(name)

    assert (found.phase, found.stuck, found.lost) == (PodPhase.PENDING, True, None)
    assert found.problem.startswith(problem)


@pytest.mark.parametrize(
    ("reason", "words"),
    (
        ("CreateContainerError", "it cannot be made"),
        ("RunContainerError", "it cannot be started"),
        ("CrashLoopBackOff", "it ends as soon as it is started"),
        ("SomethingNew", "it is held up"),
    ),
)
def test_every_reason_to_wait_is_told(reason: str, words: str) -> None:
    waiting = [{"name": "sandbox", "state": {"waiting": {"reason": reason, "message": "why"}}}]

    found = state("volume", containerStatuses=waiting)

    assert found == PodState(PodPhase.PENDING, f"container sandbox: {words}: {reason}: why")


@pytest.mark.parametrize(
    ("name", "lost", "problem"),
    (
        ("oom", Reason.SANDBOX_OOM_KILLED, "the sandbox was killed: it used more memory than its class allows"),
        ("evicted", Reason.EVICTED, 'the pod was evicted: Usage of EmptyDir volume "tmp" exceeds the limit "2Mi".'),
        ("drained", Reason.EVICTED, "the pod was evicted: Eviction API: evicting"),
        ("stopped", Reason.SANDBOX_TERMINATING, "the pod was deleted"),
        ("killed", Reason.SANDBOX_TERMINATING, "the pod was deleted"),
        ("exited", Reason.SANDBOX_GONE, "the sandbox ended: exit code 1: supervisor: cannot go on"),
        ("completed", Reason.SANDBOX_GONE, "the sandbox ended: Completed: exit code 0"),
        (
            "outofcpu",
            Reason.SANDBOX_GONE,
            f"the pod failed: OutOfcpu: {REAL['outofcpu']['status']['message']}",
        ),
    ),
)
def test_why_a_pod_is_lost_is_told_apart(name: str, lost: Reason, problem: str) -> None:
    assert state(name) == PodState(PodPhase.LOST, problem, lost=lost)


def test_a_pod_whose_node_is_lost_is_lost_although_nobody_saw_its_container_end() -> None:
    assert state("running", reason="NodeLost") == PodState(
        PodPhase.LOST, "the pod's node is lost", lost=Reason.SANDBOX_GONE
    )


def test_a_pod_that_is_deleted_before_it_ran_will_not_run() -> None:
    metadata = {**REAL["pull"]["metadata"], "deletionTimestamp": "2026-11-30T20:12:00Z"}

    found = pods.state(PodView.parse({**REAL["pull"], "metadata": metadata}))

    assert (found.phase, found.lost) == (PodPhase.LOST, Reason.SANDBOX_TERMINATING)


def test_a_pod_that_is_deleted_while_it_is_unpacked_is_not_stuck() -> None:
    metadata = {**REAL["init"]["metadata"], "deletionTimestamp": "2026-11-30T20:12:00Z"}

    found = pods.state(PodView.parse({**REAL["init"], "metadata": metadata}))

    assert (found.phase, found.lost) == (PodPhase.LOST, Reason.SANDBOX_TERMINATING)


def test_a_container_that_was_out_of_memory_is_told_as_such_although_its_pod_is_being_deleted() -> None:
    found = state("killed", containerStatuses=REAL["oom"]["status"]["containerStatuses"])

    assert found.lost is Reason.SANDBOX_OOM_KILLED


@pytest.mark.parametrize(
    ("disruption", "lost"),
    (
        ("PreemptionByScheduler", Reason.EVICTED),
        ("DeletionByTaintManager", Reason.EVICTED),
        ("TerminationByKubelet", Reason.EVICTED),
        ("DeletionByPodGC", Reason.SANDBOX_GONE),  # which found that the node is no more
    ),
)
def test_who_takes_a_pod_away_says_whether_it_is_evicted(disruption: str, lost: Reason) -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": disruption, "message": "why"}

    assert state("exited", conditions=[condition]).lost is lost


@pytest.mark.parametrize(
    ("pod", "told"),
    (
        (real("running"), None),
        (real("stopping"), Reason.SANDBOX_TERMINATING),
        (real("running", reason="Evicted"), Reason.EVICTED),
    ),
    ids=["running", "deleted", "evicted"],
)
def test_why_a_pod_stops_is_known_once_kubernetes_says_that_it_does(pod: PodView, told: Reason | None) -> None:
    found = pods.stopping(pod)

    assert (found and found[0]) is told


def test_a_disruption_that_was_called_off_evicts_nothing() -> None:
    condition = {"type": "DisruptionTarget", "status": "False", "reason": "EvictionByEvictionAPI"}

    assert state("exited", conditions=[condition]).lost is Reason.SANDBOX_GONE


def test_a_sandbox_that_ended_beside_a_container_somebody_else_put_in_is_lost() -> None:
    ended = REAL["exited"]["status"]["containerStatuses"]

    found = state("running", containerStatuses=[{"name": "proxy", "state": {"running": {}}}, *ended])

    assert found.lost is Reason.SANDBOX_GONE


def test_a_pod_that_has_failed_does_not_run_whatever_is_said_of_its_container() -> None:
    assert state("running", phase="Failed", reason="Evicted").lost is Reason.EVICTED


def test_an_init_container_that_is_started_again_is_no_failure_yet() -> None:
    ended = {"name": "proxy", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}

    assert state("initrunning", initContainerStatuses=[ended]) == PodState(PodPhase.PENDING)


def test_what_others_say_is_one_line_of_bounded_length() -> None:
    message = "a\nb\x1b[31m" + "x" * 5_000
    waiting = [{"name": "sandbox", "state": {"waiting": {"reason": "ErrImagePull", "message": message}}}]

    problem = state("volume", containerStatuses=waiting).problem

    assert problem.isprintable()
    assert len(problem) < 400


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
)
_FIELDS = ("metadata", "status", "ownerReferences", "containerStatuses", "initContainerStatuses", "conditions", "state")
_ANY_SHAPE = st.dictionaries(st.sampled_from(_FIELDS), _JSON)


@given(st.fixed_dictionaries({"metadata": _ANY_SHAPE | _JSON, "status": _ANY_SHAPE | _JSON}))
def test_no_shape_of_a_pod_is_an_error(manifest: dict[str, Any]) -> None:
    assert pods.state(PodView.parse(manifest)).phase in PodPhase
