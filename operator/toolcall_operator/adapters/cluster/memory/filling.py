"""Fills the caches before anyone decides by them: an empty cache looks like an empty cluster."""

from __future__ import annotations

from collections.abc import Sequence

import stamina

from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.watched import WATCHED, Watched
from toolcall_operator.errors import Unavailable

_PATIENCE_SECONDS = 60.0


async def fill(client: Client, caches: Caches, namespaces: Sequence[str] = ()) -> None:
    """Have the caches hold the calls that have not ended, and the rest of what is watched as it is now.

    A session whose pod the watch has not told of yet would seem to have lost it, and be given another; one that ends
    would seem to have no calls, and its pod be deleted with those that run in it; a toolspec would seem to lack its
    toolkit, and be told so.

    Raises:
        Unavailable: the cluster could not be read.
    """
    for watched in WATCHED:
        await _listed(client, caches, watched, namespaces)


@stamina.retry(on=Unavailable, attempts=None, timeout=_PATIENCE_SECONDS, wait_max=5.0)
async def _listed(client: Client, caches: Caches, watched: Watched, namespaces: Sequence[str]) -> None:
    for collection in watched.collections(namespaces):
        for item in await client.list(collection, watched.selection):
            caches.put({**item, "kind": watched.kind})
