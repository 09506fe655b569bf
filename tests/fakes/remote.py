"""A cluster that holds objects, as a run on a cluster sees it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.watch import Change

Object = dict[str, Any]


@dataclass
class FakeRemote:
    """Implements `clusterrun.Remote`: it keeps what was applied, and tells its watches of every change.

    `refusals` are raised instead of applying the objects they name; `silent` swallows what watches should be told.
    """

    refusals: dict[str, errors.OperatorError] = field(default_factory=dict)
    uncancelable: bool = False
    silent: bool = False
    applied: list[str] = field(default_factory=list)
    canceled: list[str] = field(default_factory=list)
    objects: dict[tuple[str, str], Object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._versions = itertools.count(1)
        self._watches: list[asyncio.Queue[Change | errors.OperatorError]] = []

    async def apply(self, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        """Keep the object, unless it is refused."""
        name = manifest["metadata"]["name"]
        if name in self.refusals:
            raise self.refusals[name]
        self.applied.append(name)
        key = (manifest["metadata"].get("namespace", ""), name)
        if key not in self.objects:
            self.put(manifest, uid=f"uid-of-{name}")
        return self.objects[key]

    async def version(self, namespace: str) -> str:
        """The last one."""
        return f"{namespace} {len(self.applied)}"

    async def changes(self, namespace: str, version: str) -> AsyncIterator[Change]:
        """What happens from now on, whatever the version."""
        del version
        queue: asyncio.Queue[Change | errors.OperatorError] = asyncio.Queue()
        self._watches.append(queue)
        while True:
            change = await queue.get()
            if isinstance(change, errors.OperatorError):
                raise change
            if change.object["metadata"].get("namespace") == namespace:
                yield change

    async def call(self, namespace: str, name: str) -> Mapping[str, Any]:
        """The object."""
        if (namespace, name) not in self.objects:
            raise errors.Gone(f"{name} is not there")
        return self.objects[namespace, name]

    async def cancel(self, namespace: str, name: str, uid: str) -> None:
        """Remember whose end was asked for."""
        if self.uncancelable:
            raise errors.Unavailable("the fake takes no writes")
        assert self.objects[namespace, name]["metadata"]["uid"] == uid
        self.canceled.append(name)

    def put(self, manifest: Mapping[str, Any], *, uid: str = "") -> None:
        """An object is there, or changed."""
        metadata = {**manifest["metadata"], **({"uid": uid} if uid else {})}
        stored = {**manifest, "metadata": metadata}
        self.objects[metadata.get("namespace", ""), metadata["name"]] = stored
        self._tell(Change(stored, str(next(self._versions))))

    def write(self, name: str, status: Mapping[str, Any], namespace: str = "default") -> None:
        """Somebody writes the status of a call."""
        self.put(self.objects[namespace, name] | {"status": status})

    def delete(self, name: str, namespace: str = "default") -> None:
        """Somebody deletes a call."""
        self._tell(Change(self.objects.pop((namespace, name)), str(next(self._versions)), gone=True))

    def breaks(self, error: errors.OperatorError) -> None:
        """Every watch ends by this error."""
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.put_nowait(error)

    def _tell(self, change: Change) -> None:
        for watch in () if self.silent else self._watches:
            watch.put_nowait(change)
