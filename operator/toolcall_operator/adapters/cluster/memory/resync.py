"""Finds what the watches missed, and lets go of what was forgotten."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass

from toolcall_operator.adapters.cluster import finalizers
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.finalizers import Holdable
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.departures import Departures
from toolcall_operator.adapters.cluster.memory.shelf import Identity, Manifest
from toolcall_operator.adapters.cluster.memory.watched import ENDED, WATCHED, Watched
from toolcall_operator.adapters.cluster.resources import TOOLCALLS
from toolcall_operator.api.toolcall import FINALIZER
from toolcall_operator.errors import Gone, OperatorError

log = logging.getLogger(__name__)

INTERVAL_SECONDS = (30.0, 60.0)
SWEEP_SECONDS = 600.0
LAG_SECONDS = 2.0
"""How long a watch may take to tell what a list shows already."""

_FETCHES_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Missed:
    """What a list shows of one kind, and the watch did not: objects that are gone, and objects that are news."""

    gone: tuple[Identity, ...] = ()
    news: tuple[Identity, ...] = ()


class Resync:
    """Compares the caches with lists of metadata; `missed` counts what the watches did not tell in time."""

    def __init__(self, client: Client, caches: Caches, departures: Departures, namespaces: Sequence[str] = ()) -> None:
        self._client = client
        self._caches = caches
        self._departures = departures
        self._namespaces = namespaces
        self.missed = 0

    async def run(self) -> None:
        """Resync for ever, at intervals that differ, so that several operators do not ask at once."""
        while True:
            await asyncio.sleep(random.uniform(*INTERVAL_SECONDS))  # noqa: S311 (spreads load, keeps no secret)
            try:
                await self.once()
            except OperatorError as trouble:
                log.warning("the caches could not be compared with the cluster: %s", trouble)
            except Exception as bug:  # noqa: BLE001 (nobody else would find what was missed)
                log.error("a resync met a bug: %s", type(bug).__name__)  # noqa: TRY400 (its text can hold anything)

    async def once(self) -> None:
        """Forget what is gone, fetch what is news, and wake for what is there whoever is awake: the process that leads.

        Raises:
            Unavailable: the cluster could not be read; what was found until then is kept.
        """
        for watched in WATCHED:
            await self._mend(watched)
        self._caches.replay()

    async def _mend(self, watched: Watched) -> None:
        missed = await self._compare(watched)
        if not (missed.gone or missed.news):
            return
        await asyncio.sleep(LAG_SECONDS)
        here = set(self._caches.identities(watched.kind))
        for identity in here.intersection(missed.gone):
            self._departures.noticed(watched.kind, identity)
        turns = asyncio.Semaphore(_FETCHES_AT_ONCE)
        fetched = await asyncio.gather(*(self._fetch(watched, identity, turns) for identity in missed.news))
        await self._departures.join()
        dropped = here.intersection(missed.gone).difference(self._caches.identities(watched.kind))
        if found := len(dropped) + sum(fetched):
            self.missed += found
            log.warning("the watch of %s had missed %d changes", watched.resource.plural, found)

    async def _compare(self, watched: Watched) -> Missed:
        """What a list shows that the caches do not; what comes while it is read is not looked for in it."""
        before = self._caches.identities(watched.kind)
        listed: dict[str, Manifest] = {}
        for collection in watched.collections(self._namespaces):
            for item in await self._client.list(collection, watched.metadata):
                listed[Identity.of(item).uid] = {**item, "kind": watched.kind}
        return Missed(
            gone=tuple(identity for identity in before if identity.uid not in listed),
            news=tuple(Identity.of(item) for item in listed.values() if self._caches.is_news(item)),
        )

    async def _fetch(self, watched: Watched, identity: Identity, turns: asyncio.Semaphore) -> bool:
        """Have an object in the caches as it is now; returns whether the watch has not told of it meanwhile."""
        async with turns:
            try:
                manifest = await self._client.get(watched.resource.named(identity.name, identity.namespace))
            except Gone:
                return False
        manifest = {**manifest, "kind": watched.kind}
        was_news = self._caches.is_news(manifest)
        self._caches.put(manifest)
        return was_news


async def keep_released(client: Client, namespaces: Sequence[str] = ()) -> None:
    """For ever: let go of ended calls that are still held. Whoever held them may have died before it could."""
    while True:
        try:
            await release_ended(client, namespaces)
        except OperatorError as trouble:
            log.warning("ended ToolCalls may still be held: %s", trouble)
        await asyncio.sleep(SWEEP_SECONDS * random.uniform(0.9, 1.1))  # noqa: S311 (spreads load)


async def release_ended(client: Client, namespaces: Sequence[str] = ()) -> int:
    """Let go of every ended call that is held; returns how many there were.

    Raises:
        Unavailable: some may still be held.
    """
    addresses = [TOOLCALLS.within(namespace) for namespace in namespaces] or [TOOLCALLS.within()]
    released = 0
    for address in addresses:
        for item in await client.list(address, ENDED):
            identity = Identity.of(item)
            held = Holdable.of(TOOLCALLS.named(identity.name, identity.namespace), item, FINALIZER)
            if FINALIZER in held.finalizers:
                await finalizers.release(client, held)
                released += 1
    return released
