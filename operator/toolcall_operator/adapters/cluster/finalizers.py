"""Holding objects back from deletion, and letting them go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from toolcall_operator.adapters.cluster import patches
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import Address
from toolcall_operator.errors import Gone, Rejected, Unavailable

_ATTEMPTS = 4
"""Others may change the list between our look and our patch; not that often."""


@dataclass(frozen=True, slots=True)
class Holdable:
    """An object, which of that name it is, the finalizers it is thought to have, and the one that holds it."""

    address: Address
    uid: str
    finalizers: Sequence[str]
    finalizer: str


async def hold(client: Client, held: Holdable) -> None:
    """Add the finalizer; one that is there already is fine.

    Raises:
        Unavailable: it was not added.
        Gone: the object is no more, or is being deleted.
    """
    finalizers, deleting = held.finalizers, False
    for _ in range(_ATTEMPTS):
        if held.finalizer in finalizers:
            return
        if deleting:
            raise Gone(f"{held.address} is being deleted")
        if await _taken(client, held, patches.hold(held.uid, finalizers, held.finalizer)):
            return
        finalizers, deleting = await _look(client, held)
    raise Unavailable(f"the finalizers of {held.address} change all the time")


async def release(client: Client, held: Holdable) -> None:
    """Take the finalizer away; an object that has none, or is gone, is fine.

    Raises:
        Unavailable: it may still be there.
    """
    finalizers = held.finalizers if held.finalizer in held.finalizers else (*held.finalizers, held.finalizer)
    with suppress(Gone):
        for _ in range(_ATTEMPTS):
            if held.finalizer not in finalizers:
                return
            index = list(finalizers).index(held.finalizer)
            if await _taken(client, held, patches.release(held.uid, index, held.finalizer)):
                return
            finalizers, _deleting = await _look(client, held)
        raise Unavailable(f"the finalizers of {held.address} change all the time")


async def _taken(client: Client, held: Holdable, patch: bytes) -> bool:
    """Apply a patch; returns whether the object was as the patch took it to be."""
    try:
        await client.patch(held.address, patch)
    except Rejected:
        return False
    return True


async def _look(client: Client, held: Holdable) -> tuple[Sequence[str], bool]:
    """The finalizers an object has, and whether it is being deleted; Gone if it is another one by now."""
    found = (await client.get(held.address)).get("metadata")
    metadata: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    if metadata.get("uid") != held.uid:
        raise Gone(f"{held.address} is another one by now")
    return metadata.get("finalizers") or (), bool(metadata.get("deletionTimestamp"))
