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

from toolcall_operator import errors
from toolcall_operator.adapters.artifacts import StoreArtifacts
from toolcall_operator.adapters.egress.egress import HttpEgress
from toolcall_operator.adapters.egress.policy import Policy
from toolcall_operator.adapters.sandbox.local import LocalSandboxes
from toolcall_operator.broker.broker import FixedRules, Rules, TokenBroker
from toolcall_operator.dispatcher import Dispatcher
from toolcall_operator.local.cluster import FileCluster
from toolcall_operator.ports import Broker, Ports, Secrets
from toolcall_operator.settings import OutsideSettings, variable
from toolcall_operator.slots import Limits, Slots

CALLS_AT_ONCE = 256
"""Calls in flight in one operator."""


def quiet_retries() -> None:
    """Have no retry logged: the condition ReconcileRetrying tells of each, and why, and a log line would show more."""
    stamina.instrumentation.set_on_retry_hooks([])


@dataclass(frozen=True, slots=True)
class Place:
    """Where an embedded run works: the supervisor's binary, a folder for all that tools write, a URL for artifacts.

    `outside` says whom the operator may speak to when it makes credentials.
    """

    supervisor: Path
    scratch: Path
    artifacts: str
    outside: OutsideSettings


@asynccontextmanager
async def embedded(cluster: FileCluster, place: Place) -> AsyncIterator[Dispatcher]:
    """A dispatcher that runs calls on this machine; every sandbox is gone when the context ends."""
    quiet_retries()
    rules = FixedRules(trusted_issuers=place.outside.trusted_issuers)
    async with brokering(cluster.secrets, egress(place.outside), rules) as broker:
        sandboxes = LocalSandboxes(place.supervisor, place.scratch, hide=private_folders(os.environ))
        try:
            yield Dispatcher(_ports(cluster, sandboxes, broker, place))
        finally:
            await sandboxes.aclose()


def _ports(cluster: FileCluster, sandboxes: LocalSandboxes, broker: Broker, place: Place) -> Ports:
    return Ports(
        cluster=cluster,
        sandboxes=sandboxes,
        broker=broker,
        artifacts=StoreArtifacts(place.artifacts),
        slots=Slots(Limits(CALLS_AT_ONCE, CALLS_AT_ONCE), now),
        now=now,
        operator=f"toolcall-run/{platform.node()}/{os.getpid()}",
    )


def egress(outside: OutsideSettings) -> HttpEgress:
    """The way out that the settings describe.

    Raises:
        Unavailable: their certificates cannot be used.
    """
    ca = Path(outside.egress_ca) if outside.egress_ca else None
    try:
        return HttpEgress(Policy.parse(outside.egress_open, ca))
    except errors.Unavailable as trouble:
        raise errors.Unavailable(f"{variable('egress_ca')}: {trouble}") from None


@asynccontextmanager
async def brokering(secrets: Secrets, egress: HttpEgress, rules: Rules) -> AsyncIterator[Broker]:
    """A broker of these Secrets, which speaks to servers outside through `egress`, while the context is open."""
    broker = TokenBroker(secrets, egress, now, rules)
    try:
        yield broker
    finally:
        await broker.aclose()
        await egress.aclose()


def now() -> datetime:
    """The time of day, in UTC."""
    return datetime.now(UTC)


def private_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Folders no tool may use: the homes of the people of this machine, and the memory that all its programs share."""
    home = environ.get("HOME")
    return (Path("/root"), Path("/home"), Path("/dev/shm"), *([Path(home)] if home else []))  # noqa: S108 (not ours)
