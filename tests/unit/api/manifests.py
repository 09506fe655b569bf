"""Manifests as small as they can be, to be changed by tests."""

from typing import Any

from toolcall_operator.api.base import API_VERSION

RESOURCES = {"cpu": "500m", "memory": "64Mi", "ephemeralStorage": "1Gi"}
STATIC = {"type": "static", "namespace": "default", "name": "token"}


def call(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    return _object("ToolCall", {"session": "work", "tool": "echo", **spec})


def session_class(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    return _object("SpiceboxClass", {"resources": RESOURCES, **spec})


def session(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    return _object("SpiceboxSession", {"class": "plain", **spec})


EFFECTS = {
    "destructive": False,
    "reads": [],
    "writes": [],
    "network": {"destinations": []},
    "filesystem": {"paths": []},
    "creds": {"required": [], "writes": []},
}


def toolkit(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    fields = {
        "name": "say",
        "toolkitRevision": "1",
        "target": {"binary": "say"},
        "parser": {"kind": "declarative"},
        "env": {"allowed": []},
        "subcommands": [subcommand()],
    }
    return _object("SpiceboxToolkit", {**fields, **spec})


def subcommand(*path: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    return {"path": list(path), "effects": EFFECTS, **fields}


def toolspec(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    fields = {
        "name": "say-all",
        "version": "1",
        "toolkit": {"name": "say", "revision": "1"},
        "allowSubcommands": [""],
    }
    return _object("SpiceboxToolspec", {**fields, **spec})


def agent_identity(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    return _object("AgentIdentity", spec)


def static_credential(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    kept = {"secretRef": {"name": "forge-token", "key": "token"}}
    return {"name": "forge", "type": "static", "static": kept, **fields}


def tool(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    return session_class(tools=[{"name": "a", **fields}])


def credential(inject: object, **source: object) -> dict[str, Any]:
    return call(credentials=[{"inject": inject, "source": {**STATIC, **source}}])


def _object(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "one"}, "spec": spec}
