"""The ToolCalls of a run on a cluster, as they stand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolcall_operator.adapters.cluster.watch import Change
from toolcall_operator.cli import followed
from toolcall_operator.cli.followed import Followed, Key, Trouble
from toolcall_operator.cli.wanted import Wanted


class Board:
    """Every call of some documents; `listener` is called with each that changes."""

    def __init__(self, wanted: Iterable[Wanted], listener: Callable[[Followed], None]) -> None:
        self._calls = {call.key: call for call in map(Followed.of, wanted)}
        self._open = dict.fromkeys(self._calls)
        self._early: dict[Key, Change] = {}
        self._listener = listener
        self._closed = asyncio.Event()
        self.heard = False
        """Whether anybody wrote the status of a call while we looked."""

    @property
    def calls(self) -> tuple[Followed, ...]:
        """Every call, in the order of the documents."""
        return tuple(self._calls.values())

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Where they are."""
        return tuple(dict.fromkeys(namespace for namespace, _ in self._calls))

    def unfinished(self, namespace: str = "") -> tuple[Followed, ...]:
        """Those that the cluster holds and of which something more may come: of one namespace, or of all."""
        calls = (self._calls[key] for key in self._open if namespace in {"", key[0]})
        return tuple(call for call in calls if call.uid)

    async def over(self) -> None:
        """Return when nothing more will come of any."""
        await self._closed.wait()

    def take(self, manifest: Mapping[str, Any]) -> Followed:
        """The cluster took a call, and holds it as it is here; what came of it already counts, too."""
        key = followed.key(manifest)
        self._change(self._calls[key].seen(manifest))
        if early := self._early.pop(key, None):
            self.see(early)
        return self._calls[key]

    def give_up(self, key: Key, trouble: Trouble, why: str) -> None:
        """Nothing more will come of a call, unless it has ended."""
        self._change(self._calls[key].given_up(trouble, why))

    def see(self, change: Change) -> None:
        """Something happened to an object: to one of the calls, or to another one, perhaps of the same name."""
        key = followed.key(change.object)
        call = self._calls.get(key)
        if call is None or key not in self._open:
            return
        if not call.uid:  # whose it is will be known when it has been applied
            self._early[key] = change
            return
        if call.uid != change.object["metadata"]["uid"]:
            return
        self.heard = self.heard or change.object.get("status") != call.entry.manifest.get("status")
        self._change(call.seen(change.object))
        if change.gone:
            self.give_up(key, Trouble.DELETED, "it was deleted before it had ended")

    def _change(self, call: Followed) -> None:
        self._calls[call.key] = call
        if call.is_over:
            self._open.pop(call.key, None)
        if not self._open:
            self._closed.set()
        self._listener(call)
