"""What no two objects of a cluster share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.base import Manifest
from toolcall_operator.api.crds import CLUSTER_WIDE
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall


class Key(NamedTuple):
    """Kind, namespace (empty for what stands in none) and name."""

    kind: str
    namespace: str
    name: str


def of(manifest: Manifest) -> Key:
    """The key of an object."""
    return _key(manifest.kind, manifest.metadata.namespace, manifest.metadata.name)


def of_session(call: ToolCall) -> Key:
    """The key of the session a call names."""
    return _key(SpiceboxSession.__name__, call.metadata.namespace, call.spec.session)


def of_class(session: SpiceboxSession) -> Key:
    """The key of the class a session names."""
    return _key(SpiceboxClass.__name__, "", session.spec.class_)


def of_identity(session: SpiceboxSession) -> Key | None:
    """The key of the AgentIdentity a session names, if it names one."""
    name = session.spec.agent
    return _key(AgentIdentity.__name__, session.metadata.namespace, name) if name else None


def of_unread(raw: object) -> Key | None:
    """The key that a document has which cannot be read as an object, if it says as much."""
    metadata = raw.get("metadata") if isinstance(raw, Mapping) else None
    if not isinstance(raw, Mapping) or not isinstance(metadata, Mapping):
        return None
    kind, name, namespace = raw.get("kind"), metadata.get("name"), metadata.get("namespace") or "default"
    if isinstance(kind, str) and isinstance(name, str) and isinstance(namespace, str):
        return _key(kind, namespace, name)
    return None


def _key(kind: str, namespace: str, name: str) -> Key:
    return Key(kind, "" if kind in CLUSTER_WIDE else namespace, name)
