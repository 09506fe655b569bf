"""The toolkits and toolspecs among documents, and which of them judge the calls of a session."""

from __future__ import annotations

from collections.abc import Iterable

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.policy import panel
from toolcall_operator.core.policy.deciding.candidates import Candidate, Pending
from toolcall_operator.core.policy.loading import coverage
from toolcall_operator.core.policy.loading.coverage import NotInClass
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.unread import Unread
from toolcall_operator.local.keys import Key


class Policies:
    """Judges at once: nobody else has to have judged them before, as in a cluster."""

    def __init__(self) -> None:
        self.library = Library()
        self._toolspecs: dict[str, SpiceboxToolspec] = {}
        self._toolkits: set[tuple[str, str]] = set()

    def put(self, policy: SpiceboxToolkit | SpiceboxToolspec) -> None:
        """Take in a toolkit or a toolspec."""
        if isinstance(policy, SpiceboxToolkit):
            self._toolkits.add((policy.spec.name, policy.spec.toolkit_revision))
            self.library.put_toolkit(policy)
        else:
            self._toolspecs[policy.metadata.name] = policy
            self.library.put_toolspec(policy)

    def put_unread(self, key: Key, unread: Unread) -> None:
        """Take in what cannot be read, if it is a toolkit or a toolspec: who refers to it is told why."""
        if key.kind == SpiceboxToolkit.__name__:
            self.library.put_unread_toolkit(key.name, unread)
        elif key.kind == SpiceboxToolspec.__name__:
            self.library.put_unread_toolspec(key.name, unread)

    def panel(self, session: SpiceboxSession, session_class: SpiceboxClass) -> tuple[Candidate, ...] | None:
        """Those that judge the calls of a session; None if neither it nor its class names any: nobody judges then."""
        if not session_class.spec.toolspecs and session.spec.toolspecs is None:
            return None
        names = coverage.effective(session.spec, session_class.spec)
        if isinstance(names, NotInClass):
            return ()  # and nothing of the session runs: `readiness` says why
        return panel.of(names, self._toolspecs, self.library, lambda _toolspec: True)

    def waiting(self, session: SpiceboxSession, session_class: SpiceboxClass) -> tuple[Pending, ...]:
        """Those of a session of which the documents cannot tell what they say."""
        names = coverage.effective(session.spec, session_class.spec)
        return () if isinstance(names, NotInClass) else self.waiting_among(names)

    def waiting_among(self, names: Iterable[str]) -> tuple[Pending, ...]:
        """Those that are in no document themselves, or whose toolkit is in none: both may be in a cluster already."""
        return tuple(Pending(name, tool) for name in names if (tool := self._waits_for(name)) is not None)

    def _waits_for(self, name: str) -> str | None:
        """The tool that it speaks of if it waits, empty if nobody knows; None if all of it is here."""
        toolspec = self._toolspecs.get(name)
        if toolspec is None:
            return "" if self.library.toolspec(name) is None else None  # what cannot be read is here all the same
        wanted = toolspec.spec.toolkit
        return None if (wanted.name, wanted.revision) in self._toolkits else wanted.name
