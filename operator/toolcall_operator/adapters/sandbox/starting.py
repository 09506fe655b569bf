"""The `start` that asks a supervisor for a process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from toolcall_operator.core.credentials.carried import Carried
from toolcall_operator.core.outcomes import Confinement, ExecRequest

_MILLISECOND = timedelta(milliseconds=1)


def start(request: ExecRequest, view: Mapping[str, object]) -> dict[str, object]:
    """The message; `view` is the channel, the UID, and what is wanted of the output.

    Credentials stand in it as they are: whoever has it sends it, and does nothing else with it.
    """
    return {
        "type": "start",
        **view,
        "argv": request.argv,
        "env": dict(request.env),
        "stdinSize": len(request.stdin),
        "timeoutMs": max(1, request.timeout // _MILLISECOND),
        "graceMs": request.grace // _MILLISECOND,
        "outputBytes": request.output_bytes,
        "pids": request.pids,
        **_confine(request.confinement),
        **_credentials(request.credentials),
    }


def below(root: str, request: ExecRequest) -> ExecRequest:
    """The request in a sandbox whose folders stand below `root`; what it is bound to is meant there."""
    writable = request.confinement.writable
    if not root or writable is None:
        return request
    confinement = replace(request.confinement, writable=tuple(root + folder.rstrip("/") for folder in writable))
    return replace(request, confinement=confinement)


def _confine(confinement: Confinement) -> dict[str, object]:
    """The field for it, left out when it asks for nothing: a supervisor that does not know it refuses the message."""
    asked: dict[str, object] = {}
    if not confinement.network:
        asked["network"] = "None"
    if confinement.writable is not None:
        asked["writable"] = confinement.writable
    if confinement.trusted:
        asked["program"] = "Trusted"
    return {"confine": asked} if asked else {}


def _credentials(carried: Carried | None) -> dict[str, object]:
    """The field for them, left out when there are none; the one place where their values are revealed."""
    if carried is None:
        return {}
    asked: dict[str, object] = {"env": {name: value.reveal() for name, value in carried.env.items()}}
    if not carried.redacted:
        asked["redaction"] = "Off"
    if carried.workspace != "Shared":
        asked["workspace"] = carried.workspace
    if carried.exclusive:
        asked["exclusive"] = True
    return {"credentials": asked}
