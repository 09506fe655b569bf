"""What the calls of a session did, as far as their session cares."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Activity:
    """What a session's calls did since this process began; `last_at` is when one last began or ended.

    `started`: how many were claimed. `in_flight`: how many have their turn now. `waiting`: how many wait for one, or
    for the session itself; a call that another process claimed is among them until its sandbox is reached.
    """

    started: int = 0
    in_flight: int = 0
    last_at: datetime | None = None
    waiting: int = 0
