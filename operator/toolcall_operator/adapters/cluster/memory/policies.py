"""The toolkits and toolspecs as they were last seen, and the library in which they judge calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from toolcall_operator.adapters.cluster.memory.shelf import Held, Identity, Manifest, Shelf, reader
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.unread import Unread


@dataclass(frozen=True, slots=True)
class Changed:
    """The names of the toolkits and toolspecs of which something is new: that they are there, what they come to."""

    toolkits: frozenset[str] = frozenset()
    toolspecs: frozenset[str] = frozenset()


class Policies:
    """Two shelves of objects, and beside them, in step, the `library` of what they come to.

    What changes them returns what else that changes, or None if nothing is new.
    """

    def __init__(self) -> None:
        self.library = Library()
        self.toolkits: Shelf[str, SpiceboxToolkit] = Shelf(lambda identity: identity.name, reader(SpiceboxToolkit))
        self.toolspecs: Shelf[str, SpiceboxToolspec] = Shelf(lambda identity: identity.name, reader(SpiceboxToolspec))
        self._revisions: dict[str, int] = {}
        self._changes = 0

    @property
    def shelves(self) -> Mapping[str, Shelf[str, SpiceboxToolkit] | Shelf[str, SpiceboxToolspec]]:
        """The shelves by the kind that stands there."""
        return {"SpiceboxToolkit": self.toolkits, "SpiceboxToolspec": self.toolspecs}

    def revision(self, toolspec: str) -> int:
        """A number that is another one whenever a toolspec is, or its toolkit, its status, or its absence."""
        return self._revisions.get(toolspec, 0)

    def put(self, manifest: Manifest) -> Changed | None:
        """Keep an object as it is now."""
        if manifest["kind"] == "SpiceboxToolkit":
            return self._put_toolkit(manifest)
        return self._put_toolspec(manifest)

    def drop(self, kind: str, identity: Identity) -> Changed | None:
        """Forget an object that is no more."""
        if kind == "SpiceboxToolkit":
            return self._drop_toolkit(identity)
        return self._drop_toolspec(identity)

    def amend(self, toolspec: SpiceboxToolspec) -> Changed | None:
        """Keep the status of a toolspec that was written here."""
        name, uid = toolspec.metadata.name, toolspec.metadata.uid
        return self._changed(toolspecs={name}) if self.toolspecs.amend(name, uid, toolspec) else None

    def _put_toolkit(self, manifest: Manifest) -> Changed | None:
        before = self.toolkits.get(Identity.of(manifest).name)
        touched = set(self._rivals(before))
        held = self.toolkits.put(manifest)
        if held is None:
            return None
        name, toolkit = held.identity.name, held.value
        if isinstance(toolkit, Unread):
            toolspecs = self.library.put_unread_toolkit(name, toolkit)
        else:
            toolspecs = self.library.put_toolkit(toolkit)
        return self._changed({name, *touched, *self._rivals(held)}, toolspecs)

    def _drop_toolkit(self, identity: Identity) -> Changed | None:
        held = self.toolkits.drop(identity)
        if held is None:
            return None
        return self._changed({identity.name, *self._rivals(held)}, self.library.drop_toolkit(identity.name))

    def _put_toolspec(self, manifest: Manifest) -> Changed | None:
        held = self.toolspecs.put(manifest)
        if held is None:
            return None
        name, toolspec = held.identity.name, held.value
        if isinstance(toolspec, Unread):
            self.library.put_unread_toolspec(name, toolspec)
        else:
            self.library.put_toolspec(toolspec)
        return self._changed(toolspecs={name})

    def _drop_toolspec(self, identity: Identity) -> Changed | None:
        if self.toolspecs.drop(identity) is None:
            return None
        self.library.drop_toolspec(identity.name)
        self._revisions.pop(identity.name, None)
        return Changed(toolspecs=frozenset({identity.name}))

    def _rivals(self, held: Held[SpiceboxToolkit] | None) -> Iterator[str]:
        """The toolkits that describe the same revision of the same tool, of which only one counts."""
        if held is None or isinstance(held.value, Unread):
            return
        spec = held.value.spec
        for name, other in self.toolkits.values.items():
            if (other.spec.name, other.spec.toolkit_revision) == (spec.name, spec.toolkit_revision):
                yield name

    def _changed(self, toolkits: AbstractSet[str] = frozenset(), toolspecs: AbstractSet[str] = frozenset()) -> Changed:
        self._changes += 1
        self._revisions |= dict.fromkeys(toolspecs, self._changes)
        return Changed(frozenset(toolkits), frozenset(toolspecs))
