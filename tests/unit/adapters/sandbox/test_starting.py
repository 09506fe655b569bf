"""The `start` of a call: what it is confined to stands in it as the supervisor reads it, and only when it is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from toolcall_operator.adapters.sandbox import frames, starting
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
