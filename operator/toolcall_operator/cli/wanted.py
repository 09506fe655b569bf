"""What the documents of a run on a cluster ask for: objects, in the order in which they are applied."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.base import GROUP
from toolcall_operator.api.crds import CLUSTER_WIDE
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.local.findings import Finding
from toolcall_operator.local.manifests import Document

_SERVERS = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generateName",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""Metadata that is the API server's to write: of another cluster's object, or of an older one, it is not true here."""

_ORDER = tuple(
    kind.__name__
    for kind in (SpiceboxToolkit, SpiceboxToolspec, SpiceboxClass, AgentIdentity, SpiceboxSession, ToolCall)
)
_NAMESPACED = frozenset(_ORDER) - CLUSTER_WIDE


@dataclass(frozen=True, slots=True)
class Wanted:
    """One object to apply: `manifest` is the document without what only a cluster can say, its status above all."""

    document: Document
    manifest: Mapping[str, Any] = field(repr=False)

    @property
    def is_call(self) -> bool:
        """Whether it is a ToolCall."""
        return _group(self.manifest) == GROUP and self.manifest["kind"] == ToolCall.__name__

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Its metadata."""
        metadata: Mapping[str, Any] = self.manifest["metadata"]
        return metadata

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What no two objects share: group, kind, namespace (empty when none is written) and name."""
        namespace = str(self.metadata.get("namespace") or "")
        return _group(self.manifest), self.manifest["kind"], namespace, self.metadata["name"]

    @property
    def place(self) -> str:
        """Where it is written."""
        return f"{self.document.source}:{self.document.line}"

    def found(self, path: str, message: str) -> Finding:
        """Something that is wrong with it."""
        return Finding(self.document.source, self.document.position_of(path), path, message)


@dataclass(frozen=True, slots=True)
class Wish:
    """Everything that some documents ask for, and what is wrong with those that ask for nothing."""

    objects: tuple[Wanted, ...]
    findings: tuple[Finding, ...]

    @property
    def calls(self) -> tuple[Wanted, ...]:
        """The ToolCalls, in the order of the documents."""
        return tuple(wanted for wanted in self.objects if wanted.is_call)


def wish(documents: Iterable[Document], namespace: str) -> Wish:
    """The objects of the documents: namespaces first, calls last, what calls need in between; else as written.

    A call that names no namespace is in `namespace`. Of two objects of one name, the first counts.
    """
    objects: dict[tuple[str, str, str, str], Wanted] = {}
    findings: list[Finding] = []
    for document in documents:
        if problem := _problem(document.raw):
            path, message = problem
            findings.append(Finding(document.source, document.position_of(path), path, message))
            continue
        wanted = Wanted(document, _cleaned(document.raw, namespace))
        first = objects.setdefault(wanted.key, wanted)
        if first is not wanted:
            findings.append(wanted.found("metadata.name", f"is taken by the object at {first.place}"))
    return Wish(tuple(sorted(objects.values(), key=_rank)), tuple(findings))


def _problem(raw: object) -> tuple[str, str] | None:
    """Why a document cannot even be sent: where, and what is allowed there."""
    if not isinstance(raw, Mapping):
        return "", "must be an object with apiVersion, kind, metadata and spec"
    for name in ("apiVersion", "kind"):
        if not isinstance(raw.get(name), str):
            return name, "must be text" if name in raw else "is required"
    metadata = raw.get("metadata")
    if not isinstance(metadata, Mapping):
        return "metadata", "must be an object" if "metadata" in raw else "is required"
    if not any(isinstance(metadata.get(name), str) for name in ("name", "generateName")):
        return "metadata.name", "must be text" if "name" in metadata else "is required"
    return None if _is_json(raw) else ("", "holds something that JSON has no form for")


def _is_json(raw: object) -> bool:
    try:
        json.dumps(raw, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _cleaned(raw: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """The document as it is sent; a name that was left open is chosen here, so that a request sent twice is one."""
    written = {key: value for key, value in raw["metadata"].items() if value is not None}
    given = {"name": f"{written.get('generateName', '')}{secrets.token_hex(3)}"}
    if _group(raw) == GROUP and raw["kind"] in _NAMESPACED:
        given["namespace"] = namespace
    metadata = {**given, **{key: value for key, value in written.items() if key not in _SERVERS}}
    return {key: value for key, value in {**raw, "metadata": metadata}.items() if key != "status"}


def _group(manifest: Mapping[str, Any]) -> str:
    return str(manifest["apiVersion"]).rpartition("/")[0]


def _rank(wanted: Wanted) -> int:
    """How late it is applied: namespaces, then what is not ours, classes, sessions, calls."""
    group, kind, _, _ = wanted.key
    if group == "" and kind == "Namespace":
        return 0
    return 2 + _ORDER.index(kind) if group == GROUP and kind in _ORDER else 1
