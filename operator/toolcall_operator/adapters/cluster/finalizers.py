"""Holding objects back from deletion, and letting them go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from toolcall_operator.adapters.cluster import patches
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import Address
from toolcall_operator.errors import Gone, Rejected, Superseded, Unavailable

_ATTEMPTS = 4
"""Others may change the list between our look and our patch; not that often."""


@dataclass(frozen=True, slots=True)
class Holdable:
    """An object, which of that name it is, the finalizers it is thought to have, and the one that holds it.

    `unended`: it is a call with a status, and nothing to be held once it has ended. A hold that comes late, from who
    has lost the lead or does not wait for it any more, would stay for long.
    """

    address: Address
    uid: str
    finalizers: Sequence[str]
    finalizer: str
    unended: bool = False

    @classmethod
    def of(cls, address: Address, manifest: Mapping[str, Any], finalizer: str) -> Holdable:
        """The object in a manifest, of which only the metadata is looked at."""
        metadata = _object(manifest.get("metadata"))
        return cls(address, str(metadata.get("uid") or ""), tuple(metadata.get("finalizers") or ()), finalizer)


@dataclass(frozen=True, slots=True)
class Found:
    """What an object looks like now."""

    finalizers: Sequence[str]
    deleting: bool
    ended: bool


async def hold(client: Client, held: Holdable) -> None:
    """Add the finalizer; one that is there already is fine.

    Raises:
        Unavailable: it was not added.
        Gone: the object is no more, or is being deleted.
        Superseded: it is a call, and somebody has ended it.
    """
    found = Found(held.finalizers, deleting=False, ended=False)
    for _ in range(_ATTEMPTS):
        if held.finalizer in found.finalizers:
            return
        if found.deleting:
            raise Gone(f"{held.address} is being deleted")
        if found.ended and held.unended:
            raise Superseded(f"{held.address} has ended already")
        if await _taken(client, held, patches.hold(held.uid, found.finalizers, held.finalizer, unended=held.unended)):
            return
        found = await _look(client, held)
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
            finalizers = (await _look(client, held)).finalizers
        raise Unavailable(f"the finalizers of {held.address} change all the time")


async def _taken(client: Client, held: Holdable, patch: bytes) -> bool:
    """Apply a patch; returns whether the object was as the patch took it to be."""
    try:
        await client.patch(held.address, patch)
    except Rejected:
        return False
    return True


async def _look(client: Client, held: Holdable) -> Found:
    """What the object looks like; Gone if it is another one by now."""
    manifest = await client.get(held.address)
    metadata, status = _object(manifest.get("metadata")), _object(manifest.get("status"))
    if metadata.get("uid") != held.uid:
        raise Gone(f"{held.address} is another one by now")
    return Found(
        finalizers=metadata.get("finalizers") or (),
        deleting=bool(metadata.get("deletionTimestamp")),
        ended=status.get("finished") is True,
    )


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
