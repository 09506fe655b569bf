"""The toolkits and toolspecs there are, kept as what judges calls: read and compiled once for each version."""

from __future__ import annotations

from toolcall_operator import errors
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec, ToolkitRef
from toolcall_operator.core.policy.loading import toolspecs
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.policy.loading.toolkitshelf import Reference, ToolkitShelf
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.core.unread import Unread

Names = frozenset[str]
"""The toolspecs of which something else may have to be said now: no others than those that refer to what changed."""


class Library:
    """Every SpiceboxToolkit and SpiceboxToolspec, by name.

    Whatever is put in is read when it is first asked for, and again only after it, or the toolkit it refers to, has
    changed. What refers to something else is not touched.
    """

    def __init__(self) -> None:
        self._toolkits = ToolkitShelf()
        self._seen: dict[str, SpiceboxToolspec | Unread] = {}
        self._found: dict[str, Toolspec | Objection] = {}
        self._speaking: dict[str, set[str]] = {}
        self._compiled = 0

    @property
    def compiled(self) -> int:
        """How many times a toolkit or a toolspec was read."""
        return self._compiled + self._toolkits.compiled

    # Toolkits ---------------------------------------------------------------------------------------------------------
    def put_toolkit(self, toolkit: SpiceboxToolkit) -> Names:
        """Keep a toolkit as it is now."""
        return self._moved(self._toolkits.put(toolkit.metadata.name, toolkit))

    def put_unread_toolkit(self, name: str, unread: Unread) -> Names:
        """Keep in mind that there is a toolkit which cannot be read."""
        return self._moved(self._toolkits.put(name, unread))

    def drop_toolkit(self, name: str) -> Names:
        """Forget a toolkit that is no more."""
        return self._moved(self._toolkits.drop(name))

    def toolkit(self, name: str) -> Toolkit | Objection | None:
        """What a toolkit was found to be; None if there is none."""
        return self._toolkits.found(name)

    # Toolspecs --------------------------------------------------------------------------------------------------------
    def put_toolspec(self, toolspec: SpiceboxToolspec) -> Names:
        """Keep a toolspec as it is now."""
        return self._put(toolspec.metadata.name, toolspec)

    def put_unread_toolspec(self, name: str, unread: Unread) -> Names:
        """Keep in mind that there is a toolspec which cannot be read."""
        return self._put(name, unread)

    def drop_toolspec(self, name: str) -> Names:
        """Forget a toolspec that is no more."""
        seen = self._seen.pop(name, None)
        if seen is None:
            return frozenset()
        self._found.pop(name, None)
        speaking = self._speaking[_tool(seen)]
        speaking.discard(name)
        if not speaking:
            del self._speaking[_tool(seen)]
        return frozenset({name})

    def toolspec(self, name: str) -> Toolspec | Objection | None:
        """What a toolspec was found to be; None if there is none."""
        seen = self._seen.get(name)
        if seen is None:
            return None
        if name not in self._found:
            self._compiled += 1
            self._found[name] = toolspecs.judged(seen, self._find)
        return self._found[name]

    def objections(self, name: str) -> tuple[Objection, ...]:
        """Everything that speaks against a toolspec, looked for anew; none if there is no such toolspec."""
        seen = self._seen.get(name)
        return () if seen is None else tuple(toolspecs.objections(seen, self._find))

    def tool(self, name: str) -> str:
        """The tool that a toolspec speaks of, also one that cannot be read; empty if nobody knows."""
        seen = self._seen.get(name)
        return "" if seen is None else _tool(seen)

    def _put(self, name: str, seen: SpiceboxToolspec | Unread) -> Names:
        before = self._seen.get(name)
        if before is not None and _same(before, seen):
            self._seen[name] = seen
            return frozenset()
        self.drop_toolspec(name)
        self._seen[name] = seen
        self._speaking.setdefault(_tool(seen), set()).add(name)
        return frozenset({name})

    def _moved(self, references: frozenset[Reference]) -> Names:
        """Forget what was found where these references have another answer now."""
        speaking = {name for tool, _ in references for name in self._speaking.get(tool, ())}
        moved = frozenset(name for name in speaking if self._depends(name, references))
        for name in moved:
            self._found.pop(name, None)
        return moved

    def _depends(self, name: str, references: frozenset[Reference]) -> bool:
        """Whether a toolspec refers to one of these, or was told which revisions there are instead of its own."""
        seen, found = self._seen[name], self._found.get(name)
        missing = isinstance(found, Objection) and found.reason is PolicyReason.TOOLKIT_MISSING
        return missing or (isinstance(seen, SpiceboxToolspec) and _reference(seen.spec.toolkit) in references)

    def _find(self, wanted: ToolkitRef) -> Toolkit | str:
        """The toolkit that a toolspec refers to, or why it has none."""
        first = self._toolkits.first(_reference(wanted))
        found = self._toolkits.found(first) if first else None
        if isinstance(found, Toolkit):
            return found
        if isinstance(found, Objection):
            return f"is SpiceboxToolkit {first}, which is not valid: {errors.foreign(found.message)}"
        others = ", ".join(self._toolkits.revisions(wanted.name))
        if not others:
            return f"names {wanted.name}, which no SpiceboxToolkit describes"
        there = errors.foreign(others)
        return (
            f"names revision {wanted.revision} of {wanted.name}, which no SpiceboxToolkit describes; there is {there}"
        )


def _reference(wanted: ToolkitRef) -> Reference:
    return wanted.name, wanted.revision


def _tool(seen: SpiceboxToolspec | Unread) -> str:
    """The tool that a toolspec speaks of; empty if it cannot be read, and does not name one either."""
    return seen.tool if isinstance(seen, Unread) else seen.spec.toolkit.name


def _same(before: SpiceboxToolspec | Unread, now: SpiceboxToolspec | Unread) -> bool:
    """Whether both would be judged alike."""
    if isinstance(before, Unread) and isinstance(now, Unread):
        return (before.problems, before.tool) == (now.problems, now.tool)
    if isinstance(before, Unread) or isinstance(now, Unread):
        return False
    return before.spec == now.spec
