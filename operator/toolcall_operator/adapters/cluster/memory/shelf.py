"""Objects of one kind, as they were last seen: each parsed once, the newest version of each kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from toolcall_operator.api import parsing
from toolcall_operator.api.base import Manifest as Model
from toolcall_operator.api.parsing import Malformed, Problem
from toolcall_operator.core.unread import Unread

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
M = TypeVar("M", bound=Model)
Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which object a manifest is of, and how new it is; a version that is no number is 0."""

    namespace: str
    name: str
    uid: str
    version: int

    @property
    def key(self) -> tuple[str, str]:
        """Its namespace and its name."""
        return self.namespace, self.name

    @classmethod
    def of(cls, manifest: Manifest) -> Identity:
        """The identity in a manifest, of which nothing else is looked at."""
        metadata = manifest.get("metadata")
        fields = metadata if isinstance(metadata, Mapping) else {}
        version = str(fields.get("resourceVersion") or "")
        return cls(
            namespace=str(fields.get("namespace") or ""),
            name=str(fields.get("name") or ""),
            uid=str(fields.get("uid") or ""),
            version=int(version) if version.isdecimal() else 0,
        )


class HasIdentity(Protocol):
    """Something that is kept of an object."""

    @property
    def identity(self) -> Identity:
        """Which object."""
        ...


@dataclass(frozen=True, slots=True)
class Held(Generic[V]):
    """One object as it was read; `revision` counts changes."""

    identity: Identity
    value: V | Unread
    revision: int


class Shelf(Generic[K, V]):
    """The objects of one kind by their key; those that can be read in `values`, the others in `unread`."""

    def __init__(self, key: Callable[[Identity], K], parse: Callable[[Manifest], V]) -> None:
        self._key = key
        self._parse = parse
        self._held: dict[K, Held[V]] = {}
        self._changes = 0
        self.values: dict[K, V] = {}
        self.unread: dict[K, Unread] = {}

    def __iter__(self) -> Iterator[Held[V]]:
        return iter(list(self._held.values()))

    def get(self, key: K) -> Held[V] | None:
        """The object under a key."""
        return self._held.get(key)

    def holds(self, identity: Identity) -> bool:
        """Whether this very object is kept: one of its name with another UID is another."""
        held = self._held.get(self._key(identity))
        return held is not None and held.identity.uid == identity.uid

    def revision(self, key: K) -> int:
        """A number that is another one whenever the object under a key, or its absence, is."""
        held = self._held.get(key)
        return held.revision if held else 0

    def is_news(self, manifest: Manifest) -> bool:
        """Whether this version of an object is newer than the one that is kept, as far as versions tell."""
        identity = Identity.of(manifest)
        held = self._held.get(self._key(identity))
        return held is None or not identity.version or identity.version > held.identity.version

    def put(self, manifest: Manifest) -> Held[V] | None:
        """Keep an object; returns it if it is news. One that cannot be read is kept with what is wrong with it."""
        if not self.is_news(manifest):
            return None
        return self._keep(Held(Identity.of(manifest), self._read(manifest), self._next()))

    def amend(self, key: K, uid: str, value: V) -> bool:
        """Change what was read of an object, until a newer version comes; returns whether it is still here."""
        held = self._held.get(key)
        if held is None or held.identity.uid != uid or isinstance(held.value, Unread):
            return False
        self._keep(replace(held, value=value, revision=self._next()))
        return True

    def drop(self, identity: Identity) -> Held[V] | None:
        """Forget an object; another one that has its name by now stays. Returns what was forgotten."""
        if not self.holds(identity):
            return None
        key = self._key(identity)
        self.values.pop(key, None)
        self.unread.pop(key, None)
        return self._held.pop(key)

    def _read(self, manifest: Manifest) -> V | Unread:
        try:
            return self._parse(manifest)
        except Malformed as malformed:
            return Unread.of(manifest, malformed.problems)

    def _keep(self, held: Held[V]) -> Held[V]:
        key = self._key(held.identity)
        self._held[key] = held
        self.values.pop(key, None)
        self.unread.pop(key, None)
        if isinstance(held.value, Unread):
            self.unread[key] = held.value
        else:
            self.values[key] = held.value
        return held

    def _next(self) -> int:
        self._changes += 1
        return self._changes


def reader(model: type[M]) -> Callable[[Manifest], M]:
    """What reads the objects of one of our kinds."""

    def read(manifest: Manifest) -> M:
        parsed = parsing.parse(manifest)
        if not isinstance(parsed, model):
            raise Malformed([Problem("kind", f"must be {model.__name__}")])
        return parsed

    return read
