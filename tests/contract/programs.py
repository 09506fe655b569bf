"""The Go programs that the contract tests run, built once a session."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


_NAMES = ("supervisor", "supervisor-weaken", "tool")


@dataclass(frozen=True, slots=True)
class Programs:
    """Where each program is."""

    supervisor: Path
    weakened: Path
    tool: Path


def built(folder: Path) -> Programs:
    """Build everything, and put a copy into `folder`: the next build may come while these run."""
    subprocess.run([CHECKOUT / "hack" / "build"], check=True)
    return Programs(*(Path(shutil.copy(CHECKOUT / "build" / name, folder / name)) for name in _NAMES))
