"""What a run was asked for, besides its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `toolcall run`."""

    expect: bool
    form: str | None
    artifacts: Path
    scratch: Path | None
    keep: bool
    supervisor: Path | None
    secret: tuple[str, ...]
    cluster: bool
    namespace: str
    context: str
