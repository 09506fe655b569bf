"""Who refers to what, found by what is referred to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

N = TypeVar("N", bound=Hashable)
K = TypeVar("K", bound=Hashable)


class References(Generic[N, K]):
    """The names (`N`) to which each one (`K`) refers."""

    def __init__(self) -> None:
        self._to: dict[K, frozenset[N]] = {}
        self._by: dict[N, set[K]] = {}

    def refer(self, who: K, names: Iterable[N]) -> None:
        """From now on `who` refers to these names, and to no others."""
        before, now = self._to.pop(who, frozenset()), frozenset(names)
        for name in before - now:
            self._by[name].discard(who)
            if not self._by[name]:
                del self._by[name]
        for name in now - before:
            self._by.setdefault(name, set()).add(who)
        if now:
            self._to[who] = now

    def to(self, name: N) -> frozenset[K]:
        """Those that refer to a name."""
        return frozenset(self._by.get(name, ()))
