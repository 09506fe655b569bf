"""Objects as the API server shows them, as small as they can be, to be changed by tests."""

from __future__ import annotations

from typing import Any

from tests.unit.api import manifests as api
from tests.unit.api.manifests import RESOURCES
from toolcall_operator.api.base import API_VERSION
from toolcall_operator.core.pod.podspec import SESSION_LABEL

NAMESPACE = "agents"
SESSION_UID = "session-1"


def call(name: str = "one", version: int = 1, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of metadata)
    """A ToolCall of session `work`; `status` and `spec` are its own, other fields those of its metadata."""
    status, spec = fields.pop("status", None), fields.pop("spec", {})
    made = _object("ToolCall", name, {"session": "work", "tool": "echo", **spec}, version, fields)
    return made if status is None else {**made, "status": status}


def session(name: str = "work", version: int = 1, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of metadata)
    """A session of class `plain`, likewise."""
    status, spec = fields.pop("status", None), fields.pop("spec", {})
    made = _object("SpiceboxSession", name, {"class": "plain", **spec}, version, {"uid": SESSION_UID, **fields})
    return made if status is None else {**made, "status": status}


def session_class(name: str = "plain", version: int = 1, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a spec)
    """A class with one tool."""
    full = {"resources": RESOURCES, "tools": [{"name": "echo", "command": ["echo"]}], **spec}
    return _cluster_wide("SpiceboxClass", name, full, version)


def toolkit(name: str = "echo-kit", /, version: int = 1, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a spec)
    """A toolkit of the tool `echo`."""
    full = api.toolkit(**{"name": "echo", "version": "1.0", "target": {"binary": "echo"}, **spec})["spec"]
    return _cluster_wide("SpiceboxToolkit", name, full, version)


def toolspec(name: str = "echoes", /, version: int = 1, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a spec)
    """A toolspec over it; `status` is its own, other fields those of its spec."""
    status = fields.pop("status", None)
    full = api.toolspec(**{"name": name, "toolkit": {"name": "echo", "revision": "1"}, **fields})["spec"]
    made = _cluster_wide("SpiceboxToolspec", name, full, version)
    return made if status is None else {**made, "status": status}


def agent(name: str = "bot", version: int = 1, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of metadata)
    """An AgentIdentity with one credential, `forge`; `status` and `spec` are its own, likewise."""
    status, spec = fields.pop("status", None), fields.pop("spec", {})
    full = {"credentials": [api.static_credential()], **spec}
    made = _object("AgentIdentity", name, full, version, fields)
    return made if status is None else {**made, "status": status}


def _cluster_wide(kind: str, name: str, spec: dict[str, Any], version: int) -> dict[str, Any]:
    made = _object(kind, name, spec, version, {})
    del made["metadata"]["namespace"]
    return made


def pod(name: str = "work-pod", version: int = 1, owner: str = SESSION_UID, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of metadata)
    """A pod of the session, without a status."""
    owners = [{"apiVersion": API_VERSION, "kind": "SpiceboxSession", "name": "work", "uid": owner, "controller": True}]
    metadata = {"labels": {SESSION_LABEL: "work"}, "ownerReferences": owners, **fields}
    return {**_object("Pod", name, {}, version, metadata), "apiVersion": "v1"}


def _object(kind: str, name: str, spec: dict[str, Any], version: int, metadata: dict[str, Any]) -> dict[str, Any]:
    own = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "generation": 1, "resourceVersion": str(version)}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {**own, **metadata}, "spec": spec}
