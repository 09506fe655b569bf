"""Everything that is wrong with a set of manifests, each finding with its file, line and field."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from toolcall_operator.api import parsing
from toolcall_operator.api.parsing import Parsed
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.local.findings import Finding, Level
from toolcall_operator.local.manifests import Document

Key = tuple[str, str, str]
"""Kind, namespace (empty for a class) and name: what no two objects of a cluster share."""

_Kind = TypeVar("_Kind", ToolCall, SpiceboxClass, SpiceboxSession)


@dataclass(frozen=True, slots=True)
class Known:
    """The objects of all documents that could be parsed; of duplicates, the first."""

    objects: Mapping[Key, Parsed]

    def session_of(self, call: ToolCall) -> SpiceboxSession | None:
        """The session a call names, if the files hold it."""
        return self._get(SpiceboxSession, call.metadata.namespace, call.spec.session)

    def class_of(self, session: SpiceboxSession) -> SpiceboxClass | None:
        """The class a session names, if the files hold it."""
        return self._get(SpiceboxClass, "", session.spec.class_)

    def _get(self, kind: type[_Kind], namespace: str, name: str) -> _Kind | None:
        found = self.objects.get((kind.__name__, namespace, name))
        return found if isinstance(found, kind) else None


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
    outcomes = [(document, _parsed(document)) for document in documents]
    firsts: dict[Key, tuple[Document, Parsed]] = {}
    for document, parsed in outcomes:
        if not isinstance(parsed, parsing.Malformed):
            firsts.setdefault(_key(parsed), (document, parsed))
    known = Known({key: parsed for key, (_, parsed) in firsts.items()})
    every = (*CHECKS, *checks)
    findings: list[Finding] = []
    for document, parsed in outcomes:
        if isinstance(parsed, parsing.Malformed):
            remarks = [Remark(problem.path, problem.message) for problem in parsed.problems]
        elif (first := firsts[_key(parsed)][0]) is not document:
            remarks = [Remark("metadata.name", f"is taken: the same object stands in {first.source}:{first.line}")]
        else:
            remarks = [remark for check in every for remark in check(parsed, known)]
        findings.extend(_located(document, remarks))
    return tuple(findings)


def _parsed(document: Document) -> Parsed | parsing.Malformed:
    try:
        return parsing.parse(document.raw)
    except parsing.Malformed as malformed:
        return malformed


def _key(parsed: Parsed) -> Key:
    namespace = "" if isinstance(parsed, SpiceboxClass) else parsed.metadata.namespace
    return parsed.kind, namespace, parsed.metadata.name


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
    session = known.session_of(parsed)
    if session is None:
        where = f"names a SpiceboxSession, {parsed.spec.session}, that is not in these files"
        yield Remark("spec.session", where, Level.WARNING)
        return
    session_class = known.class_of(session)
    if session_class and parsed.spec.tool not in {tool.name for tool in session_class.spec.tools}:
        yield Remark(
            "spec.tool", f"is not a tool of SpiceboxClass {session_class.metadata.name}: {_offered(session_class)}"
        )


def _offered(session_class: SpiceboxClass) -> str:
    names = sorted(tool.name for tool in session_class.spec.tools)
    return f"it has {', '.join(names)}" if names else "it has none"


def session_names_a_class(parsed: Parsed, known: Known) -> Iterator[Remark]:
    """A session's class may be in the cluster already."""
    if isinstance(parsed, SpiceboxSession) and known.class_of(parsed) is None:
        where = f"names a SpiceboxClass, {parsed.spec.class_}, that is not in these files"
        yield Remark("spec.class", where, Level.WARNING)


CHECKS: tuple[Check, ...] = (call_names_a_session_and_tool, session_names_a_class)
