"""What a supervisor says: the golden messages, and nothing that differs from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolcall_operator import errors
from toolcall_operator.adapters.sandbox import messages
from toolcall_operator.core.outcomes import Cause, StreamSize

_WIRE = Path(__file__).resolve().parents[4] / "operator" / "supervisor" / "wire"
SAID: dict[str, dict[str, Any]] = {
    row["name"]: row["message"]
    for row in json.loads((_WIRE / "testdata" / "golden.json").read_text())
    if row["from"] == "supervisor" and "message" in row
}
_BOOT = "0b6f6f2e-8c1d-4a53-9d0e-2f1e5a7c9b11"
WRONG: tuple[object, ...] = ({}, 1.5, -1, True, [1], [{"uid": 1}])
OPTIONAL = {("refused", "channel"), ("refused", "id"), ("hello", "network")}

every_message = pytest.mark.parametrize("message", tuple(pytest.param(said, id=name) for name, said in SAID.items()))
every_field = pytest.mark.parametrize(
    ("message", "field"),
    tuple(
        pytest.param(said, field, id=f"{name}: {field}")
        for name, said in SAID.items()
        for field in said
        if (said["type"], field) not in OPTIONAL
    ),
)


@pytest.mark.parametrize(
    ("name", "value"),
    (
        ("the supervisor's hello", messages.Hello(1, _BOOT, "0.1.0", 7, "Landlock")),
        ("the supervisor's hello of a blocked network", messages.Hello(1, _BOOT, "0.1.0", 7, "Landlock", "Blocked")),
        ("the supervisor's hello of an open network", messages.Hello(1, _BOOT, "0.1.0", 7, "Landlock", "Open")),
        ("started of a known call", messages.Started(channel=1, attached=True)),
        ("detached", messages.Detached(channel=2)),
        ("killing", messages.Done(id=5)),
        ("acknowledged", messages.Done(id=6)),
        ("pong", messages.Done(id=2**53 - 1)),
        ("calls", messages.Calls(id=7, states={"a": "Running", "b": "Exited", "c": "Acknowledged"})),
        ("no calls", messages.Calls(id=7, states={})),
        ("refused by id", messages.Denied(None, 6, "StillRunning", "the call has not ended yet")),
        ("refused without either", messages.Denied(None, None, "ProtocolError", "a frame of kind 9")),
        (
            "exit of a tool that returned",
            messages.Exit(1, Cause.EXITED, 3, None, None, None, 12, StreamSize(5, 5), StreamSize()),
        ),
        (
            "exit of a tool that did not start",
            messages.Exit(1, Cause.NOT_STARTED, None, None, "ENOENT", "Exec", 12, StreamSize(), StreamSize()),
        ),
    ),
)
def test_a_golden_message_means_what_it_says(name: str, value: messages.Message) -> None:
    assert messages.parse(SAID[name]) == value


@every_message
def test_every_golden_message_is_understood(message: dict[str, Any]) -> None:
    messages.parse(message)


@every_message
def test_an_unknown_field_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(errors.ProtocolBroken, match="a field is unknown"):
        messages.parse({**message, "later": 1})


@every_field
def test_a_missing_field_is_refused(message: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.ProtocolBroken):
        messages.parse({name: value for name, value in message.items() if name != field})


@pytest.mark.parametrize(
    ("message", "field", "wrong"),
    tuple(
        pytest.param(said, field, wrong, id=f"{name}: {field} is {wrong}")
        for name, said in SAID.items()
        for field in said
        for wrong in WRONG
        if not (field == "attached" and wrong is True)
    ),
)
def test_a_field_of_another_type_is_refused(message: dict[str, Any], field: str, wrong: object) -> None:
    with pytest.raises(errors.ProtocolBroken):
        messages.parse({**message, field: wrong})


@pytest.mark.parametrize("network", ("", "blocked", "Shut", None))
def test_a_network_that_is_neither_blocked_nor_open_is_refused(network: object) -> None:
    with pytest.raises(errors.ProtocolBroken, match="network is missing or wrong"):
        messages.parse({**SAID["the supervisor's hello"], "network": network})


def test_more_kept_than_written_is_refused() -> None:
    said = {**SAID["exit of a tool that returned"], "stdout": {"size": 1, "stored": 2}}

    with pytest.raises(errors.ProtocolBroken, match="stdout is missing or wrong"):
        messages.parse(said)
