"""The `start` of a call: what it is confined to, and what it carries, stands in it as the supervisor reads it."""

from __future__ import annotations

import logging
import pickle
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.fakes.supervisor import IDENTITY, Break, FakeSupervisor
from tests.unit.adapters.sandbox.test_frames import GOLDEN
from tests.unit.adapters.sandbox.test_sandbox import PATIENT, call, run
from toolcall_operator import errors
from toolcall_operator.adapters.sandbox import frames, starting
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.core.credentials.carried import Carried
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Confinement, ExecRequest

VIEW = {"channel": 1, "uid": "a", "stdoutOffset": 0, "stderrOffset": 0, "window": 0}


def started(confinement: Confinement) -> dict[str, object]:
    millisecond = timedelta(milliseconds=1)
    request = ExecRequest("a", ("x",), {}, b"", millisecond, timedelta(), 0, 1, confinement)
    return starting.start(request, VIEW)


@pytest.mark.parametrize(
    ("confinement", "field"),
    (
        (Confinement(network=False), {"network": "None"}),
        (Confinement(writable=()), {"writable": []}),
        (Confinement(writable=("/workspace/out", "/tmp/x")), {"writable": ["/workspace/out", "/tmp/x"]}),  # noqa: S108 (in a sandbox)
        (Confinement(trusted=True), {"program": "Trusted"}),
        (
            Confinement(network=False, writable=(), trusted=True),
            {"network": "None", "writable": [], "program": "Trusted"},
        ),
    ),
)
def test_what_a_call_is_confined_to_is_told(confinement: Confinement, field: dict[str, object]) -> None:
    [sent] = frames.Decoder().feed(frames.encode_control(started(confinement)))

    assert isinstance(sent, frames.Control)
    assert sent.message["confine"] == field


def test_a_call_that_is_not_confined_says_nothing_of_it() -> None:
    assert started(Confinement()) == {
        **VIEW,
        "type": "start",
        "argv": ("x",),
        "env": {},
        "stdinSize": 0,
        "timeoutMs": 1,
        "graceMs": 0,
        "outputBytes": 0,
        "pids": 1,
    }


def test_folders_are_meant_below_the_root_of_the_sandbox() -> None:
    request = ExecRequest("a", ("x",), {}, b"", timedelta(), timedelta(), 0, 1, Confinement(writable=("/workspace",)))

    assert starting.below("/scratch/one", request).confinement.writable == ("/scratch/one/workspace",)
    assert starting.below("", request) is request


def test_the_top_of_the_sandbox_is_its_root() -> None:
    request = ExecRequest("a", ("x",), {}, b"", timedelta(), timedelta(), 0, 1, Confinement(writable=("/",)))

    assert starting.below("/scratch/one", request).confinement.writable == ("/scratch/one",)


def test_a_call_that_is_bound_to_no_folders_is_the_same_below_any_root() -> None:
    request = ExecRequest("a", ("x",), {}, b"", timedelta(), timedelta(), 0, 1)

    assert starting.below("/scratch/one", request) is request


TOKEN = "ghp_0123456789"


@pytest.mark.parametrize(
    ("name", "env", "carried"),
    (
        ("start of a call that carries credentials", {}, Carried({"TOKEN": Hidden(TOKEN)})),
        (
            "start of a call that carries credentials, with everything that keeps them",
            {"LANG": "C"},
            Carried({"A": Hidden(""), "B": Hidden("line\nline ☃")}, redacted=False, workspace="None", exclusive=True),
        ),
        (
            "start of a call that carries credentials and reads the workspace",
            {},
            Carried({"TOKEN": Hidden(TOKEN)}, workspace="ReadOnly"),
        ),
    ),
)
def test_what_a_call_carries_is_told_as_the_golden_frame_says(name: str, env: dict[str, str], carried: Carried) -> None:
    [golden] = [row for row in GOLDEN if row["name"] == name]
    request = ExecRequest("a", ("x",), env, b"", timedelta(milliseconds=1), timedelta(), 0, 1, credentials=carried)

    sent = frames.encode_control(starting.start(request, VIEW))

    assert frames.Decoder().feed(sent) == [frames.Control(golden["message"])]


def test_what_a_call_carries_is_told_beside_what_it_is_confined_to() -> None:
    request = replace(call(), confinement=Confinement(network=False), credentials=Carried({"TOKEN": Hidden(TOKEN)}))

    sent = starting.start(request, VIEW)

    assert (sent["confine"], sent["credentials"]) == ({"network": "None"}, {"env": {"TOKEN": TOKEN}})
    assert starting.below("/scratch/one", request).credentials is request.credentials


def test_a_request_does_not_show_what_it_carries() -> None:
    request = replace(call(), credentials=Carried({"TOKEN": Hidden(TOKEN)}))

    for shown in (request, request.credentials, {"request": request}):
        assert TOKEN not in f"{shown} {shown!r}"
    with pytest.raises(TypeError):
        pickle.dumps(request)


@pytest.mark.parametrize("where", (Break(), Break(after_received=200), Break(after_sent=80)))
async def test_what_a_call_carries_reaches_its_supervisor_and_no_log_whatever_breaks(
    where: Break, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    supervisor = FakeSupervisor(breaks=[Break(), where])
    sandbox = await SupervisedSandbox.open(supervisor, IDENTITY, PATIENT)
    supervisor.connections[0].cut()

    await run(sandbox, replace(call(), credentials=Carried({"TOKEN": Hidden(TOKEN)})))
    await sandbox.close()

    starts = [message for message in supervisor.received if message["type"] == "start"]
    assert starts
    assert all(start["credentials"] == {"env": {"TOKEN": TOKEN}} for start in starts)
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("code", ("Unavailable", "BadRequest", "StaleEpoch", "AcknowledgedCall"))
async def test_a_refusal_does_not_show_what_the_call_carries(code: str) -> None:
    supervisor = FakeSupervisor(refuse={"start": code})
    sandbox = await SupervisedSandbox.open(supervisor, IDENTITY, PATIENT)

    with pytest.raises(errors.OperatorError) as refused:
        await run(sandbox, replace(call(), credentials=Carried({"TOKEN": Hidden(TOKEN)})))
    await sandbox.close()

    assert TOKEN not in f"{refused.value} {refused.value!r} {refused.value.__cause__!r}"


def test_a_message_that_is_too_long_does_not_show_what_it_carries() -> None:
    request = replace(call(), credentials=Carried({"TOKEN": Hidden(TOKEN * (1 << 20))}))

    with pytest.raises(errors.ProtocolBroken) as refused:
        frames.encode_control(starting.start(request, VIEW))

    assert TOKEN not in str(refused.value)
