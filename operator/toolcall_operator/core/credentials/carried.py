"""The credentials one process is given, and how its sandbox keeps them from others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from toolcall_operator.core.credentials.values import Hidden

Workspace = Literal["Shared", "ReadOnly", "None"]


@dataclass(frozen=True, slots=True)
class Carried:
    """Variables of a process that hold credentials, besides `ExecRequest.env`, with which they share no name.

    `redacted`: in whatever calls of the session write from now on, the values are replaced. `workspace`: what the
    process sees of /workspace: all, all but unable to write, nothing. `exclusive`: it runs while no other call does.
    """

    env: Mapping[str, Hidden]
    redacted: bool = True
    workspace: Workspace = "Shared"
    exclusive: bool = False
