"""A cluster made of documents: it gives calls their world, and keeps their status for as long as the run lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from toolcall_operator.api.parsing import Malformed, Problem
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core import status
from toolcall_operator.core.validation import World
from toolcall_operator.local import admission
from toolcall_operator.local.admission import Admitted
from toolcall_operator.local.entries import Entry
from toolcall_operator.local.findings import Finding
from toolcall_operator.local.manifests import Document
from toolcall_operator.local.place import LACKING
from toolcall_operator.ports import Clock


class FileCluster:
    """Implements `ports.Cluster` over loaded documents.

    A call that cannot be read has ended from the start, and its status says why; the others do not notice. Of two
    objects with one name the first counts. `findings` tell of documents that are no calls and take no part.
    """

    def __init__(self, documents: Iterable[Document], now: Clock) -> None:
        self._entries: dict[str, Entry] = {}
        self._sessions: dict[tuple[str, str], SpiceboxSession] = {}
        self._classes: dict[str, SpiceboxClass] = {}
        self._listeners: list[Callable[[Entry], None]] = []
        self._owners: dict[str, str] = {}
        self._now = now
        self.findings: tuple[Finding, ...] = ()
        for document in documents:
            self._admit(document)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every ToolCall, in the order of the documents, as it stands."""
        return tuple(self._entries.values())

    @property
    def used(self) -> tuple[SpiceboxClass | SpiceboxSession, ...]:
        """The classes and sessions that calls of these documents use."""
        named = {(entry.call.metadata.namespace, entry.call.spec.session) for entry in self.entries if entry.call}
        sessions = [session for name, session in self._sessions.items() if name in named]
        classes = {session.spec.class_ for session in sessions}
        return (*(self._classes[name] for name in self._classes if name in classes), *sessions)

    def listen(self, listener: Callable[[Entry], None]) -> None:
        """Have `listener` called with every entry whose status changed."""
        self._listeners.append(listener)

    async def observe(self, call: ToolCall) -> World:
        """The call's session and that one's class, as the documents have them."""
        session = self._sessions.get((call.metadata.namespace, call.spec.session))
        return World(session, self._classes.get(session.spec.class_) if session else None, LACKING)

    async def report(self, call: ToolCall, status: ToolCallStatus) -> ToolCall:
        """Keep `status`, tell the listeners, and return the call that carries it."""
        reported = call.model_copy(update={"status": status})
        entry = replace(self._entries[call.metadata.uid], call=reported, status=status)
        self._entries[call.metadata.uid] = entry
        for listener in self._listeners:
            listener(entry)
        return reported

    def _admit(self, document: Document) -> None:
        """Take a document in, whatever it is."""
        manifest = admission.completed(document.raw, self._now())
        try:
            read = admission.admitted(manifest)
            self._claim_names(read, document)
        except Malformed as malformed:
            self._refuse(document, manifest, malformed.problems)
            return
        match read:
            case ToolCall():
                self._entries[read.metadata.uid] = Entry(_place(document), read.to_manifest(), read, read.status)
            case SpiceboxSession():
                self._sessions[read.metadata.namespace, read.metadata.name] = read
            case SpiceboxClass():
                self._classes[read.metadata.name] = read

    def _claim_names(self, read: Admitted, document: Document) -> None:
        """No two objects have one name or one UID: which of them would be meant?"""
        namespace = "" if isinstance(read, SpiceboxClass) else read.metadata.namespace
        claims = (
            ("metadata.name", f"{read.kind} {namespace}/{read.metadata.name}"),
            ("metadata.uid", read.metadata.uid),
        )
        taken = [
            Problem(path, f"is taken by the object at {self._owners[name]}")
            for path, name in claims
            if name in self._owners
        ]
        if taken:
            raise Malformed(taken, read.kind, read.metadata.name)
        self._owners |= {name: _place(document) for _, name in claims}

    def _refuse(self, document: Document, manifest: object, problems: Iterable[Problem]) -> None:
        """End a call that cannot be read; of anything else, findings are all that remains."""
        if isinstance(manifest, Mapping) and manifest.get("kind") == ToolCall.__name__:
            ended = status.malformed(manifest, [str(problem) for problem in problems], self._now())
            unread = Entry(_place(document), manifest, None, ended)
            self._entries[f"unread {len(self._entries)}"] = unread
            return
        self.findings += tuple(
            Finding(document.source, document.position_of(problem.path), problem.path, problem.message)
            for problem in problems
        )


def _place(document: Document) -> str:
    return f"{document.source}:{document.line}"
