"""A cluster made of documents: it gives calls their world, and keeps their status for as long as the run lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.parsing import Malformed, Problem
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core import status
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.unread import Unread
from toolcall_operator.core.world import World
from toolcall_operator.local import admission, keys, secrets
from toolcall_operator.local.entries import Entry
from toolcall_operator.local.findings import Finding, Level
from toolcall_operator.local.keys import Key
from toolcall_operator.local.manifests import Document
from toolcall_operator.local.place import LACKING
from toolcall_operator.local.policies import Policies
from toolcall_operator.local.secrets import FileSecrets, Given
from toolcall_operator.ports import Clock


class FileCluster:
    """Implements `ports.Cluster` over loaded documents.

    A call that cannot be read has ended from the start, and its status says why; the others do not notice. Of two
    objects with one name the first counts. `findings` tell of documents that are no calls and take no part; a call that
    names one of them is told so. What is being deleted is not run any more. `secrets` are those of the documents, and
    those that are `given` besides.
    """

    def __init__(self, documents: Iterable[Document], now: Clock, given: Given | None = None) -> None:
        self._entries: dict[str, Entry] = {}
        self._sessions: dict[Key, SpiceboxSession] = {}
        self._classes: dict[Key, SpiceboxClass] = {}
        self._identities: dict[Key, AgentIdentity] = {}
        self._policies = Policies()
        self.secrets = FileSecrets(given)
        self._worlds: dict[Key, World] = {}
        self._listeners: list[Callable[[Entry], None]] = []
        self._owners: dict[Key | str, str] = {}
        self._unread: dict[Key, str] = {}
        self._now = now
        self.findings: tuple[Finding, ...] = ()
        for document in documents:
            self._admit(document)
        for uid, entry in self._entries.items():
            self._entries[uid] = replace(entry, leaving=self._leaving(entry))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every ToolCall, in the order of the documents, as it stands."""
        return tuple(self._entries.values())

    @property
    def used(self) -> tuple[SpiceboxClass | SpiceboxSession, ...]:
        """The classes and sessions that calls of these documents use."""
        named = {keys.of_session(entry.call) for entry in self.entries if entry.call}
        sessions = [session for key, session in self._sessions.items() if key in named]
        classes = {keys.of_class(session) for session in sessions}
        return (*(each for key, each in self._classes.items() if key in classes), *sessions)

    def listen(self, listener: Callable[[Entry], None]) -> None:
        """Have `listener` called with every entry whose status changed."""
        self._listeners.append(listener)

    async def observe(self, call: ToolCall, *, live: bool = False) -> World:  # noqa: ARG002 (documents do not change)
        """The call's session, that one's class, and what judges its calls, as the documents have them."""
        key = keys.of_session(call)
        if key not in self._worlds:
            self._worlds[key] = self._world(key)
        return self._worlds[key]

    def _world(self, key: Key) -> World:
        session = self._sessions.get(key)
        if session is None:
            return World(None, None, LACKING, self._unread.get(key, ""))
        session_class = self._classes.get(keys.of_class(session))
        if session_class is None:
            return World(session, None, LACKING, self._unread.get(keys.of_class(session), ""))
        toolspecs, identity = self._policies.panel(session, session_class), keys.of_identity(session)
        return World(
            session, session_class, LACKING, toolspecs=toolspecs, identity=identity and self._identities.get(identity)
        )

    async def report(self, call: ToolCall, status: ToolCallStatus) -> ToolCall:
        """Keep `status`, tell the listeners, and return the call that carries it."""
        reported = call.model_copy(update={"status": status})
        entry = replace(self._entries[call.metadata.uid], call=reported, status=status)
        self._entries[call.metadata.uid] = entry
        for listener in self._listeners:
            listener(entry)
        return reported

    async def changed(self, call: ToolCall) -> None:  # noqa: ARG002 (see below)
        """Never returns: documents do not change."""
        await asyncio.get_running_loop().create_future()

    async def reread(self, call: ToolCall) -> ToolCall:
        """The call as it was last reported."""
        return self._entries[call.metadata.uid].call or call

    async def hold(self, call: ToolCall) -> None:
        """Nobody deletes a document's object while it runs."""

    async def release(self, call: ToolCall) -> None:
        """Nothing was held."""

    def remark(self, call: ToolCall, reason: Reason, message: str) -> None:
        """Whoever started the run sees the status."""

    def _admit(self, document: Document) -> None:
        """Take a document in, whatever it is."""
        manifest = admission.completed(document.raw, self._now())
        try:
            if isinstance(manifest, Mapping) and secrets.is_secret(manifest):
                self._keep(secrets.parsed(manifest), document)
                return
            read = admission.admitted(manifest)
            self._claim((("metadata.name", keys.of(read)), ("metadata.uid", read.metadata.uid)), document, read.kind)
        except Malformed as malformed:
            self._refuse(document, manifest, malformed.problems)
            return
        match read:
            case ToolCall():
                self._entries[read.metadata.uid] = Entry(_place(document), _object(manifest), read, read.status)
            case SpiceboxSession():
                self._sessions[keys.of(read)] = read
            case SpiceboxClass():
                self._classes[keys.of(read)] = read
            case SpiceboxToolkit() | SpiceboxToolspec():
                self._policies.put(read)
            case AgentIdentity():
                self._identities[keys.of(read)] = read

    def _keep(self, secret: SecretObject, document: Document) -> None:
        self._claim((("metadata.name", secrets.key(secret)), ("metadata.uid", secret.uid)), document, secrets.KIND)
        self.secrets.put(secret)

    def _claim(self, claims: tuple[tuple[str, Key | str], ...], document: Document, kind: str) -> None:
        """No two objects have one name or one UID: which of them would be meant?"""
        taken = [
            Problem(path, f"is taken by the object at {self._owners[claim]}")
            for path, claim in claims
            if claim in self._owners
        ]
        if taken:
            raise Malformed(taken, kind)
        self._owners |= {claim: _place(document) for _, claim in claims}

    def _refuse(self, document: Document, manifest: object, problems: Sequence[Problem]) -> None:
        """End a call that cannot be read; of anything else, findings are all that remains."""
        if isinstance(manifest, Mapping) and manifest.get("kind") == ToolCall.__name__:
            ended = status.malformed(manifest, [str(problem) for problem in problems], self._now())
            unread = Entry(_place(document), manifest, None, ended)
            self._entries[f"unread {len(self._entries)}"] = unread
            return
        level = Level.WARNING if admission.is_foreign(manifest) else Level.ERROR
        self.findings += tuple(
            Finding(document.source, document.position_of(problem.path), problem.path, problem.message, level)
            for problem in problems
        )
        if key := keys.of_unread(manifest):
            if isinstance(manifest, Mapping) and key not in self._owners:
                self._policies.put_unread(key, Unread.of(manifest, problems))
            place = f"{document.source}:{document.position_of(problems[0].path)}"
            self._unread.setdefault(key, f"{place}: {'; '.join(map(str, problems))}")

    def _leaving(self, entry: Entry) -> str:
        """Why a call that has not ended is not to run."""
        if entry.call is None or status.is_finished(entry.call):
            return ""
        if entry.call.metadata.deletion_timestamp:
            return "it is being deleted"
        session = self._sessions.get(keys.of_session(entry.call))
        return "its session is being deleted" if session and session.metadata.deletion_timestamp else ""


def _object(manifest: object) -> Mapping[str, Any]:
    """What could be read as an object is one."""
    return manifest if isinstance(manifest, Mapping) else {}


def _place(document: Document) -> str:
    return f"{document.source}:{document.line}"
