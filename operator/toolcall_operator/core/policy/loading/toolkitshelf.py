"""Which SpiceboxToolkits there are, and which of them answers to a tool and a revision: the first of those that do."""

from __future__ import annotations

from datetime import UTC, datetime

from toolcall_operator.api.parsing import Problem
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.core.policy.loading import toolkits
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.unread import Unread

Reference = tuple[str, str]
"""A tool, and the revision of its description."""

_EARLIEST = datetime.min.replace(tzinfo=UTC)


class ToolkitShelf:
    """The SpiceboxToolkits by their names; each is read once for each version, when it is first asked for.

    Of several that describe the same revision of the same tool the oldest answers, then the first by name: whether it
    is valid or not, so that nobody takes its place by breaking it.
    """

    def __init__(self) -> None:
        self.compiled = 0
        self._seen: dict[str, SpiceboxToolkit | Unread] = {}
        self._found: dict[str, Toolkit | Objection] = {}
        self._claims: dict[Reference, set[str]] = {}

    def put(self, name: str, seen: SpiceboxToolkit | Unread) -> frozenset[Reference]:
        """Keep what was seen of one. These references may have another answer now."""
        before = self._seen.get(name)
        if before is not None and _same(before, seen):
            self._seen[name] = seen
            return frozenset()
        left = self.drop(name)
        self._seen[name] = seen
        reference = _reference(seen)
        if reference is None:
            return left
        self._claims.setdefault(reference, set()).add(name)
        return left | {reference}

    def drop(self, name: str) -> frozenset[Reference]:
        """Forget one that is no more. This reference may have another answer now."""
        seen = self._seen.pop(name, None)
        self._found.pop(name, None)
        reference = _reference(seen)
        if reference is None:
            return frozenset()
        self._claims[reference].discard(name)
        if not self._claims[reference]:
            del self._claims[reference]
        return frozenset({reference})

    def found(self, name: str) -> Toolkit | Objection | None:
        """What one was found to be; None if there is none of this name."""
        seen = self._seen.get(name)
        if seen is None:
            return None
        reference = _reference(seen)
        first = self.first(reference) if reference else name
        if first != name and reference:
            words = f"and spec.toolkitRevision are those of SpiceboxToolkit {first}, which came before it"
            return Objection.of(PolicyReason.NAME_TAKEN, [Problem("spec.name", words)])
        return self._judged(name, seen)

    def first(self, reference: Reference) -> str | None:
        """The one that answers to a reference."""
        return min(self._claims.get(reference, ()), key=self._age, default=None)

    def revisions(self, tool: str) -> list[str]:
        """The revisions of a tool that are described."""
        return sorted(revision for name, revision in self._claims if name == tool)

    def _age(self, name: str) -> tuple[datetime, str]:
        seen = self._seen[name]
        made = None if isinstance(seen, Unread) else seen.metadata.creation_timestamp
        return made or _EARLIEST, name

    def _judged(self, name: str, seen: SpiceboxToolkit | Unread) -> Toolkit | Objection:
        if name not in self._found:
            self.compiled += 1
            self._found[name] = toolkits.judged(seen)
        return self._found[name]


def _reference(seen: SpiceboxToolkit | Unread | None) -> Reference | None:
    """What a toolkit answers to; one that cannot be read to nothing."""
    return (seen.spec.name, seen.spec.toolkit_revision) if isinstance(seen, SpiceboxToolkit) else None


def _same(before: SpiceboxToolkit | Unread, now: SpiceboxToolkit | Unread) -> bool:
    """Whether nothing changed that anything here depends on."""
    if isinstance(before, Unread) or isinstance(now, Unread):
        return isinstance(before, Unread) and isinstance(now, Unread) and before.problems == now.problems
    made = before.metadata.creation_timestamp == now.metadata.creation_timestamp
    return made and before.spec == now.spec
