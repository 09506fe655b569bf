"""Secrets in memory, with what can go wrong on the way to them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Literal

from toolcall_operator import errors
from toolcall_operator.api.base import OwnerReference
from toolcall_operator.core.credentials.secrets import SecretObject

Deed = Literal["read", "write"]
Moment = Callable[[], Awaitable[None] | None]
_Place = tuple[Deed, str]


@dataclass
class FakeSecrets:
    """Implements `ports.Secrets`: what was `put` here, by `<namespace>/<name>`.

    `reads` and `writes` hold what was asked for, in order, also when it failed; of a write the keys and their values.
    """

    kept: dict[str, SecretObject] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    writes: list[tuple[str, dict[str, bytes | None]]] = field(default_factory=list)
    forbidden: set[_Place] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._numbers = count(1)
        self._faults: dict[_Place, list[errors.OperatorError]] = {}
        self._moments: dict[_Place, list[Moment]] = {}
        self._unanswered: set[str] = set()

    def put(self, place: str, data: Mapping[str, str | bytes], **fields: object) -> SecretObject:
        """Somebody else creates the Secret, or changes it to be so: it has other data, and other `fields` if any."""
        namespace, name = place.split("/")
        raw = {key: value.encode() if isinstance(value, str) else value for key, value in data.items()}
        number = str(next(self._numbers))
        there = self.kept.get(place) or SecretObject(namespace, name, f"uid-{number}", number)
        self.kept[place] = replace(there, data=raw, resource_version=number, **fields)  # type: ignore[arg-type]  # its own
        return self.kept[place]

    def remove(self, place: str) -> None:
        """Somebody else deletes the Secret."""
        del self.kept[place]

    def text(self, place: str) -> dict[str, str]:
        """What the Secret holds now."""
        return {key: value.decode() for key, value in self.kept[place].data.items()}

    def fail(self, deed: Deed, place: str, *faults: errors.OperatorError) -> None:
        """The next ones that do this fail so, one after the other."""
        self._faults.setdefault((deed, place), []).extend(faults)

    def before(self, deed: Deed, place: str, *moments: Moment) -> None:
        """Something happens before this is done the next time, one after the other; it may wait."""
        self._moments.setdefault((deed, place), []).extend(moments)

    def lose_answer(self, place: str) -> None:
        """The next write is done, and nobody learns of it."""
        self._unanswered.add(place)

    async def read(self, namespace: str, name: str) -> SecretObject | None:
        """The Secret as it is in the middle of the read."""
        place = f"{namespace}/{name}"
        self.reads.append(place)
        await self._happens("read", place)
        found = self.kept.get(place)
        await asyncio.sleep(0)
        return found

    async def write(self, secret: SecretObject, data: Mapping[str, bytes | None]) -> SecretObject:
        """Write, as the port says."""
        place = f"{secret.namespace}/{secret.name}"
        self.writes.append((place, dict(data)))
        await self._happens("write", place)
        there = self.kept.get(place)
        if there is None or there.uid != secret.uid:
            raise errors.Gone(f"Secret {place} is no more")
        if there.resource_version != secret.resource_version:
            raise errors.Superseded(f"Secret {place} was changed")
        if there.immutable:
            raise errors.Rejected(f"Secret {place} is immutable")
        merged = {key: value for key, value in {**there.data, **data}.items() if value is not None}
        written = self.kept[place] = replace(there, data=merged, resource_version=str(next(self._numbers)))
        if place in self._unanswered:
            self._unanswered.remove(place)
            raise errors.Unavailable(f"Secret {place} may have been written")
        return written

    async def _happens(self, deed: Deed, place: str) -> None:
        await asyncio.sleep(0)
        if moments := self._moments.get((deed, place)):
            happening = moments.pop(0)()
            if inspect.isawaitable(happening):
                await happening
        if faults := self._faults.get((deed, place)):
            raise faults.pop(0)
        if (deed, place) in self.forbidden:
            raise errors.Rejected(f"we may not {deed} Secret {place}")


def owned_by_session(name: str, uid: str) -> tuple[OwnerReference, ...]:
    """The owner of a Secret that is for one session."""
    api_version = "agentprimitives.authzed.com/v1alpha1"
    return (OwnerReference(api_version=api_version, kind="SpiceboxSession", name=name, uid=uid),)
