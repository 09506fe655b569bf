"""The Go programs that the contract tests run, built once a session; `go build` does nothing for what is up to date."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
_BUILD = CHECKOUT / "build"


@dataclass(frozen=True, slots=True)
class Programs:
    """Where each program is."""

    supervisor: Path = _BUILD / "supervisor"
    weakened: Path = _BUILD / "supervisor-weaken"
    tool: Path = _BUILD / "tool"
    podlike: Path = _BUILD / "podlike"


def built() -> Programs:
    """Build everything, and say where it is."""
    subprocess.run([CHECKOUT / "hack" / "build"], check=True)
    return Programs()
