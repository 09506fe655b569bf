"""What became of objects that left the watch: they may have ended, or lost a label, or be no more."""

from __future__ import annotations

import asyncio

import stamina

from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.shelf import Identity, Manifest
from toolcall_operator.adapters.cluster.memory.wakes import Asleep
from toolcall_operator.adapters.cluster.resources import PODS, TOOLCALLS, Address
from toolcall_operator.errors import Gone, OperatorError, Unavailable

_SELECTED = {"ToolCall": TOOLCALLS, "Pod": PODS}
"""What is watched with a selector: a watch shows what is no more, and what is not selected any more, in one way."""

_LOOKS_AT_ONCE = 8
_PATIENCE_SECONDS = 60.0


class Departures:
    """Has the caches forget what left, and wakes whom it concerns if it is no more.

    The API server is asked when the watch does not say which it was; not about calls that ended here, nor by a process
    that does not carry calls.
    """

    def __init__(self, client: Client, caches: Caches) -> None:
        self._client = client
        self._caches = caches
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._turns = asyncio.Semaphore(_LOOKS_AT_ONCE)

    def noticed(self, kind: str, identity: Identity) -> None:
        """An object left the watch. Returns at once."""
        if kind == "ToolCall" and self._is_explained(identity):
            self._caches.unfinished.drop(identity.uid)
        elif kind not in _SELECTED:
            self._caches.drop(kind, identity)
        elif identity.uid not in self._looking and self._caches.holds(kind, identity):
            name = f"departed {kind} {identity.uid}"
            task = self._looking[identity.uid] = asyncio.create_task(self._look(kind, identity), name=name)
            task.add_done_callback(lambda _: self._looking.pop(identity.uid))

    async def join(self) -> None:
        """Return when every departure is explained, or has been given up until the next resync."""
        while self._looking:
            await asyncio.wait(list(self._looking.values()))

    async def aclose(self) -> None:
        """Explain no more."""
        for task in self._looking.values():
            task.cancel()
        await self.join()

    def _is_explained(self, identity: Identity) -> bool:
        return self._caches.unfinished.is_settling(identity.uid) or isinstance(self._caches.wakes, Asleep)

    async def _look(self, kind: str, identity: Identity) -> None:
        manifest: Manifest = {}
        async with self._turns:
            try:
                manifest = await self._get(_SELECTED[kind].named(identity.name, identity.namespace))
            except Gone:
                pass
            except OperatorError:
                return  # it is still in the caches: the next resync misses it, and asks again
        if Identity.of(manifest).uid == identity.uid:
            self._caches.put({**manifest, "kind": kind})
        else:
            self._caches.drop(kind, identity)

    @stamina.retry(on=Unavailable, attempts=None, timeout=_PATIENCE_SECONDS, wait_max=5.0)
    async def _get(self, address: Address) -> Manifest:
        return await self._client.get(address)
