"""The one place that picks the outside: here the embedded run is put together."""

from __future__ import annotations

import os
import platform
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import stamina.instrumentation

from toolcall_operator.adapters.artifacts import StoreArtifacts
from toolcall_operator.adapters.sandbox.local import LocalSandboxes
from toolcall_operator.dispatcher import Dispatcher
from toolcall_operator.local.cluster import FileCluster
from toolcall_operator.ports import Ports
from toolcall_operator.slots import Limits, Slots

CALLS_AT_ONCE = 256
"""Calls in flight in one operator."""


def quiet_retries() -> None:
    """Have no retry logged: the condition ReconcileRetrying tells of each, and why, and a log line would show more."""
    stamina.instrumentation.set_on_retry_hooks([])


@dataclass(frozen=True, slots=True)
class Place:
    """Where an embedded run works: the supervisor's binary, a folder for all that tools write, a URL for artifacts."""

    supervisor: Path
    scratch: Path
    artifacts: str


@asynccontextmanager
async def embedded(cluster: FileCluster, place: Place) -> AsyncIterator[Dispatcher]:
    """A dispatcher that runs calls on this machine; every sandbox is gone when the context ends."""
    quiet_retries()
    sandboxes = LocalSandboxes(place.supervisor, place.scratch, hide=private_folders(os.environ))
    ports = Ports(
        cluster=cluster,
        sandboxes=sandboxes,
        artifacts=StoreArtifacts(place.artifacts),
        slots=Slots(Limits(CALLS_AT_ONCE, CALLS_AT_ONCE), now),
        now=now,
        operator=f"toolcall-run/{platform.node()}/{os.getpid()}",
    )
    try:
        yield Dispatcher(ports)
    finally:
        await sandboxes.aclose()


def now() -> datetime:
    """The time of day, in UTC."""
    return datetime.now(UTC)


def private_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Folders no tool may use: the homes of the people of this machine, and the memory that all its programs share."""
    home = environ.get("HOME")
    return (Path("/root"), Path("/home"), Path("/dev/shm"), *([Path(home)] if home else []))  # noqa: S108 (not ours)
