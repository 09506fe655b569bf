"""Values that are kept until a moment, and never longer than there is room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

ROOM = 1_000


@dataclass(frozen=True, slots=True)
class _Kept(Generic[V]):
    value: V = field(repr=False)
    until: datetime


class Cache(Generic[K, V]):
    """Values by key, each until a moment; where there is no room, those that were not asked for the longest go."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, key: K, value: V, until: datetime) -> None:
        """Keep `value` in place of whatever stood under `key`."""
        self._kept[key] = _Kept(value, until)
        self._kept.move_to_end(key)
        while len(self._kept) > self._room:
            self._kept.popitem(last=False)

    def get(self, key: K, now: datetime) -> V | None:
        """The value under `key`, if its moment has not come."""
        if (kept := self._kept.get(key)) is None:
            return None
        if now >= kept.until:
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return kept.value
