"""Everything that is wrong with a set of manifests, each finding with its file, line and field."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from toolcall_operator.api import parsing
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.parsing import Parsed
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.unread import Unread
from toolcall_operator.local import keys, secrets
from toolcall_operator.local.findings import Finding, Level
from toolcall_operator.local.keys import Key
from toolcall_operator.local.manifests import Document
from toolcall_operator.local.policies import Policies


@dataclass(frozen=True)
class Known:
    """The objects of all documents that could be parsed (of duplicates, the first), and the keys of the others."""

    objects: Mapping[Key, Parsed]
    unread: AbstractSet[Key] = frozenset()

    @cached_property
    def policies(self) -> Policies:
        """The toolkits and toolspecs among them, judged; of those that cannot be read, that they are there."""
        policies = Policies()
        for each in self.objects.values():
            if isinstance(each, SpiceboxToolkit | SpiceboxToolspec):
                policies.put(each)
        for key in self.unread:
            policies.put_unread(key, Unread({}, ("it cannot be read",)))
        return policies

    def session_of(self, call: ToolCall) -> SpiceboxSession | None:
        """The session a call names, if the files hold it."""
        found = self.objects.get(keys.of_session(call))
        return found if isinstance(found, SpiceboxSession) else None

    def class_of(self, session: SpiceboxSession) -> SpiceboxClass | None:
        """The class a session names, if the files hold it."""
        found = self.objects.get(keys.of_class(session))
        return found if isinstance(found, SpiceboxClass) else None

    def identity_of(self, session: SpiceboxSession) -> AgentIdentity | None:
        """The AgentIdentity a session names, if the files hold it."""
        key = keys.of_identity(session)
        found = self.objects.get(key) if key else None
        return found if isinstance(found, AgentIdentity) else None

    def lacks(self, key: Key) -> bool:
        """Whether no file holds such an object, not even one that cannot be read (which is told in its own place)."""
        return key not in self.objects and key not in self.unread


@dataclass(frozen=True, slots=True)
class Remark:
    """What a check has to say about an object: on which field, and what."""

    path: str
    message: str
    level: Level = Level.ERROR


Check = Callable[[Parsed, Known], Iterable[Remark]]
"""Judges one object among all of them."""


def lint(documents: Sequence[Document], checks: Sequence[Check] = ()) -> tuple[Finding, ...]:
    """What is wrong with the documents, in their order; ``checks`` are made besides those of this module."""
    found = [*_secrets(documents)]
    ours = [document for document in documents if not secrets.is_secret(document.raw)]
    outcomes = [(document, _parsed(document)) for document in ours]
    firsts: dict[Key, tuple[Document, Parsed]] = {}
    unread: set[Key] = set()
    for document, parsed in outcomes:
        if not isinstance(parsed, parsing.Malformed):
            firsts.setdefault(keys.of(parsed), (document, parsed))
        elif key := keys.of_unread(document.raw):
            unread.add(key)
    known = Known({key: parsed for key, (_, parsed) in firsts.items()}, unread)
    every = (*CHECKS, *checks)
    findings = list(found)
    for document, parsed in outcomes:
        if isinstance(parsed, parsing.Malformed):
            remarks = [Remark(problem.path, problem.message) for problem in parsed.problems]
        elif (first := firsts[keys.of(parsed)][0]) is not document:
            remarks = [Remark("metadata.name", f"is taken: the same object stands in {first.source}:{first.line}")]
        else:
            remarks = [remark for check in every for remark in check(parsed, known)]
        findings.extend(_located(document, remarks))
    return tuple(findings)


def _secrets(documents: Sequence[Document]) -> Iterator[Finding]:
    """What is wrong with the Secrets among the documents, which are Kubernetes' own objects."""
    for document in documents:
        if isinstance(document.raw, Mapping) and secrets.is_secret(document.raw):
            try:
                secrets.parsed(document.raw)
            except parsing.Malformed as malformed:
                yield from _located(document, [Remark(each.path, each.message) for each in malformed.problems])


def _parsed(document: Document) -> Parsed | parsing.Malformed:
    try:
        return parsing.parse(document.raw)
    except parsing.Malformed as malformed:
        return malformed


def _located(document: Document, remarks: Iterable[Remark]) -> list[Finding]:
    """The remarks with their lines, in the order of the lines."""
    found = [
        Finding(document.source, document.position_of(remark.path), remark.path, remark.message, remark.level)
        for remark in remarks
    ]
    return sorted(found, key=lambda finding: finding.line)


def call_names_a_session_and_tool(parsed: Parsed, known: Known) -> Iterator[Remark]:
    """A call's session may be in the cluster already; but where it is here, it has to offer the tool."""
    if not isinstance(parsed, ToolCall):
        return
    if known.lacks(keys.of_session(parsed)):
        where = f"names a SpiceboxSession, {parsed.spec.session}, that is not in these files"
        yield Remark("spec.session", where, Level.WARNING)
    session = known.session_of(parsed)
    session_class = known.class_of(session) if session else None
    if session_class and parsed.spec.tool not in {tool.name for tool in session_class.spec.tools}:
        yield Remark(
            "spec.tool", f"is not a tool of SpiceboxClass {session_class.metadata.name}: {_offered(session_class)}"
        )


def _offered(session_class: SpiceboxClass) -> str:
    names = sorted(tool.name for tool in session_class.spec.tools)
    return f"it has {', '.join(names)}" if names else "it has none"


def session_names_a_class(parsed: Parsed, known: Known) -> Iterator[Remark]:
    """A session's class may be in the cluster already."""
    if isinstance(parsed, SpiceboxSession) and known.lacks(keys.of_class(parsed)):
        where = f"names a SpiceboxClass, {parsed.spec.class_}, that is not in these files"
        yield Remark("spec.class", where, Level.WARNING)


def session_names_an_identity(parsed: Parsed, known: Known) -> Iterator[Remark]:
    """A session's AgentIdentity may be in the cluster already."""
    key = keys.of_identity(parsed) if isinstance(parsed, SpiceboxSession) else None
    if key and known.lacks(key):
        where = f"names an AgentIdentity, {key.name}, that is not in these files"
        yield Remark("spec.agent", where, Level.WARNING)


CHECKS: tuple[Check, ...] = (call_names_a_session_and_tool, session_names_a_class, session_names_an_identity)
