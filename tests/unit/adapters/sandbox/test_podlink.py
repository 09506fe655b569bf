"""Execs of `connect`, and what it means when one fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.fakes.apiserver import FakeClient
from tests.unit.core import examples
from toolcall_operator import errors
from toolcall_operator.adapters.cluster.exec import ExecStream
from toolcall_operator.adapters.cluster.resources import PODS, Address
from toolcall_operator.adapters.sandbox import podlink
from toolcall_operator.adapters.sandbox.line import Line, Patience
from toolcall_operator.adapters.sandbox.link import Identity
from toolcall_operator.adapters.sandbox.podlink import PodConnector
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcallstatus import Dispatch
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.reasons import Reason

TERMINATED: Mapping[str, Any] = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}


def manifest(uid: str = "pod-1", phase: str = "Running", **state: Any) -> dict[str, Any]:  # noqa: ANN401 - a manifest's
    status = {"phase": phase, "containerStatuses": [{"name": "sandbox", "state": state or {"running": {}}}]}
    return {"metadata": {"name": "pod", "namespace": "space", "uid": uid}, "status": status}


class Silent(ExecStream):
    """The stream of a program that ended at once, and said why."""

    def __init__(self, words: str) -> None:  # no super(): there is no websocket
        self._words = words

    def write(self, data: bytes) -> None:
        """Nobody listens."""

    async def read(self, n: int) -> bytes:  # noqa: ARG002 - there is nothing
        return b""

    @property
    def last_words(self) -> str:
        return self._words

    async def close(self) -> None:
        """It has ended."""


class Execs(FakeClient):
    """An API server whose execs do as `result` says."""

    def __init__(self, pod: Mapping[str, Any] | None, result: errors.OperatorError | str) -> None:
        super().__init__(*([(PODS, pod)] if pod else []))
        self.execs: list[tuple[str, str, tuple[str, ...]]] = []
        self._result = result

    async def exec(self, pod: Address, container: str, argv: Sequence[str]) -> ExecStream:
        self.execs.append((str(pod), container, tuple(argv)))
        if isinstance(self._result, errors.OperatorError):
            raise self._result
        return Silent(self._result)


CLAIM = Dispatch(pod_name="pod", pod_uid="pod-1", boot_id="boot-1", operator="an earlier one", epoch=0, at=examples.NOW)


def line(client: Execs) -> Line:
    return Line(PodConnector(client, PodView.parse(manifest())), Identity(b"key"), Patience(opening=1))


async def test_what_is_started_is_always_the_same() -> None:
    client = Execs(manifest(), "")

    with pytest.raises(errors.Unavailable):
        await line(client).connect()

    assert client.execs == [("pods space/pod", "sandbox", ("/opt/toolcall/supervisor", "connect"))]


FAILURES = (
    pytest.param(errors.Unavailable("cannot exec: no right"), id="an exec that is refused"),
    pytest.param(errors.Gone("there is no pod"), id="an exec in no pod"),
    pytest.param("container not found", id="an exec that ends at once"),
)


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(
    ("pod", "reason"),
    (
        pytest.param(None, Reason.SANDBOX_GONE, id="no pod"),
        pytest.param(manifest(uid="pod-2"), Reason.SANDBOX_GONE, id="another pod"),
        pytest.param(manifest(phase="Failed", **TERMINATED), Reason.SANDBOX_OOM_KILLED, id="a pod that ended"),
    ),
)
async def test_a_pod_that_is_no_more_is_a_lost_sandbox(
    pod: dict[str, Any] | None, reason: Reason, failure: errors.OperatorError | str
) -> None:
    to_it = line(Execs(pod, failure))

    with pytest.raises(errors.SandboxLost) as lost:
        await to_it.connect()

    assert lost.value.reason == reason
    assert to_it.lost


@pytest.mark.parametrize(
    ("failure", "text"),
    (
        pytest.param(errors.Unavailable("cannot exec: no right"), "^cannot exec: no right$", id="refused"),
        pytest.param(errors.Rejected("no such container"), "^no such container$", id="rejected"),
        pytest.param("reach serve: refused", r"before its hello \(reach serve: refused\)$", id="ended at once"),
        pytest.param("", "before its hello$", id="ended at once without a word"),
    ),
)
async def test_a_pod_that_runs_is_out_of_reach_for_now(failure: errors.OperatorError | str, text: str) -> None:
    to_it = line(Execs(manifest(), failure))

    with pytest.raises(errors.Unavailable, match=text):
        await to_it.connect()

    assert not to_it.lost


async def test_a_pod_of_which_nothing_can_be_learned_is_out_of_reach() -> None:
    client = Execs(manifest(), errors.Unavailable("cannot exec"))
    client.refusals["get"] = errors.Unavailable("cannot get")

    with pytest.raises(errors.Unavailable, match=r"^cannot exec$"):
        await line(client).connect()


def in_space() -> SpiceboxSession:
    session = examples.session()
    return session.model_copy(update={"metadata": session.metadata.model_copy(update={"namespace": "space"})})


async def test_a_claimed_pod_is_the_one_that_the_claim_names() -> None:
    client = Execs(manifest(), "")

    assert (await podlink.claimed(client, in_space(), CLAIM)).uid == "pod-1"


@pytest.mark.parametrize(
    ("pod", "reason"),
    (
        pytest.param(None, Reason.SANDBOX_GONE, id="gone"),
        pytest.param(manifest(uid="pod-2"), Reason.SANDBOX_GONE, id="another of its name"),
        pytest.param(manifest(phase="Failed", **TERMINATED), Reason.SANDBOX_OOM_KILLED, id="ended"),
    ),
)
async def test_a_claimed_pod_that_is_no_more_is_told_as_what_became_of_it(
    pod: Mapping[str, Any] | None, reason: Reason
) -> None:
    with pytest.raises(errors.SandboxLost) as lost:
        await podlink.claimed(Execs(pod, ""), in_space(), CLAIM)

    assert lost.value.reason is reason


@pytest.mark.parametrize("trouble", (errors.Unavailable("no answer"), errors.Rejected("no right to")))
async def test_a_claimed_pod_that_cannot_be_asked_for_may_be_there(trouble: errors.OperatorError) -> None:
    client = Execs(manifest(), "")
    client.troubles.append(trouble)

    with pytest.raises(errors.Unavailable, match=str(trouble)):
        await podlink.claimed(client, in_space(), CLAIM)
