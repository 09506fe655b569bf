"""The definitions of our kinds in the cluster: that they are there, are ours, and know what we ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import DEFINITIONS, OURS, TOOLCALLS, Resource
from toolcall_operator.api.base import GROUP
from toolcall_operator.errors import Gone, Rejected

# How the installer of the public operator of this API marks what it applies, and as whom its programs write.
_THEIR_MARK = (f"{GROUP}/installed-by", "ap")
_THEIR_MANAGERS = frozenset({"oap", "spicebox-operator"})
_SELECTABLE = ".status.finished"


async def require(client: Client) -> None:
    """Return if the cluster knows our kinds as this version needs them.

    Raises:
        Unavailable: they cannot be asked for, or a right lacks.
        Rejected: one is not there, belongs to the public operator of this API, or is of another version.
    """
    for resource in OURS:
        name = f"{resource.plural}.{resource.group}"
        try:
            found = await client.get(DEFINITIONS.named(name))
        except Gone:
            raise Rejected(f"the cluster has no CustomResourceDefinition {name}; apply those in crds/") from None
        if problem := _problem(resource, found):
            raise Rejected(f"CustomResourceDefinition {name} {problem}")


def _problem(resource: Resource, found: Mapping[str, Any]) -> str:
    metadata = found.get("metadata") or {}
    if trace := _trace(metadata):
        return (
            f"belongs to the public operator of this API (authzed/openagentprimitives), by {trace}; two operators of "
            "one API cannot work in one cluster: remove that one with its definitions, then apply those in crds/"
        )
    if resource is TOOLCALLS and _SELECTABLE not in _selectable(found):
        return f"is of another version: its field {_SELECTABLE} cannot be selected by; apply those in crds/"
    return ""


def _trace(metadata: Mapping[str, Any]) -> str:
    """What shows that somebody else manages a definition, if anything does."""
    key, value = _THEIR_MARK
    if (metadata.get("annotations") or {}).get(key) == value:
        return f"its annotation {key}"
    managers = {entry.get("manager") for entry in metadata.get("managedFields") or ()}
    return next((f"its field manager {manager}" for manager in sorted(_THEIR_MANAGERS & managers)), "")


def _selectable(found: Mapping[str, Any]) -> set[str]:
    versions = (found.get("spec") or {}).get("versions") or ()
    fields = [field for version in versions for field in version.get("selectableFields") or ()]
    return {str(field.get("jsonPath")) for field in fields}
