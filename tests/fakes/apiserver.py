"""An API server that is a dictionary: enough of it for what the operator reads and writes."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.client import Client, Selection
from toolcall_operator.adapters.cluster.resources import Address, Resource

Manifest = dict[str, Any]


class FakeClient(Client):
    """Implements `Client` over `objects`; `patches` and `asked` remember what came.

    Each of `troubles` ends one request before it does anything, each of `unheard` one after it was done. `refusals` are
    errors for verbs, for as long as they stand there.
    """

    def __init__(self, *objects: tuple[Resource, Mapping[str, Any]]) -> None:  # no super(): nothing is connected to
        self.objects: dict[Address, Manifest] = {}
        self.asked: list[tuple[str, str]] = []
        self.patches: list[tuple[str, list[dict[str, Any]]]] = []
        self.troubles: list[errors.OperatorError] = []
        self.unheard: list[errors.OperatorError] = []
        self.refusals: dict[str, errors.OperatorError] = {}
        self._version = 100
        for resource, manifest in objects:
            self.put(resource, manifest)

    def put(self, resource: Resource, manifest: Mapping[str, Any]) -> Manifest:
        """Have an object, as the API server would show it."""
        made = copy.deepcopy(dict(manifest))
        metadata = made["metadata"]
        self._version += 1
        metadata["resourceVersion"] = str(self._version)
        if not metadata.get("finalizers"):
            metadata.pop("finalizers", None)  # an empty list is not kept
        self.objects[resource.named(metadata["name"], metadata.get("namespace", ""))] = made
        return copy.deepcopy(made)

    def remove(self, resource: Resource, name: str, namespace: str = "") -> None:
        """Have an object no more."""
        del self.objects[resource.named(name, namespace)]

    async def aclose(self) -> None:
        """Nothing is open."""

    async def get(self, address: Address) -> Manifest:
        """The object."""
        self._ask("get", address)
        return copy.deepcopy(self._found(address))

    async def list(self, address: Address, selection: Selection | None = None) -> list[Manifest]:
        """The objects of a collection."""
        self._ask("list", address)
        chosen = selection or Selection()
        return [
            _shown(manifest, chosen)
            for known, manifest in self.objects.items()
            if known.resource == address.resource
            and address.namespace in {"", known.namespace}
            and _is_selected(manifest, chosen)
        ]

    async def create(self, address: Address, manifest: Mapping[str, Any]) -> Manifest:
        """Make the object."""
        self._ask("create", address)
        metadata = manifest["metadata"]
        named = address.resource.named(metadata["name"], metadata.get("namespace", ""))
        if named in self.objects:
            raise errors.Superseded(f"{named} exists already")
        return self.put(address.resource, manifest)

    async def replace(self, address: Address, manifest: Mapping[str, Any]) -> Manifest:
        """Put another object in the place of the one with this resourceVersion."""
        self._ask("update", address)
        if self._found(address)["metadata"]["resourceVersion"] != manifest["metadata"]["resourceVersion"]:
            raise errors.Superseded(f"{address} was written before")
        return self.put(address.resource, manifest)

    async def patch(self, address: Address, operations: bytes) -> None:
        """Apply a JSON Patch as a whole or not at all, under the rules of a ToolCall's status."""
        self._ask("patch", address)
        read = json.loads(operations)
        self.patches.append((str(address), read))
        before = self._found(replace(address, subresource=""))
        after = copy.deepcopy(before)
        for operation in read:
            _apply(after, operation)
        _obey(before, after)
        self.put(address.resource, after)
        if self.unheard:
            raise self.unheard.pop(0)

    async def merge(self, address: Address, part: Mapping[str, Any]) -> None:
        """Apply a merge patch to metadata; nobody's UID changes."""
        self._ask("merge", address)
        metadata = self._found(address)["metadata"]
        if part["metadata"].get("uid", metadata["uid"]) != metadata["uid"]:
            raise errors.Rejected("metadata.uid: field is immutable")
        annotations = {**metadata.get("annotations", {}), **part["metadata"]["annotations"]}
        metadata["annotations"] = {name: text for name, text in annotations.items() if text is not None}

    async def delete(self, address: Address, uid: str, grace: int | None = None) -> None:  # noqa: ARG002 (nothing takes time here)
        """Delete the object with this UID."""
        self._ask("delete", address)
        if self._found(address)["metadata"]["uid"] != uid:
            raise errors.Superseded(f"{address} is another one")
        del self.objects[address]

    def _ask(self, verb: str, address: Address) -> None:
        self.asked.append((verb, str(address)))
        if self.troubles:
            raise self.troubles.pop(0)
        if verb in self.refusals:
            raise self.refusals[verb]

    def _found(self, address: Address) -> Manifest:
        found = self.objects.get(address)
        if found is None:
            raise errors.Gone(f"{address} is not there")
        return found


def _shown(manifest: Manifest, selection: Selection) -> Manifest:
    if selection.metadata_only:
        return {"kind": "PartialObjectMetadata", "metadata": copy.deepcopy(manifest["metadata"])}
    return copy.deepcopy(manifest)


def _is_selected(manifest: Manifest, selection: Selection) -> bool:
    labels, finished = manifest["metadata"].get("labels", {}), manifest.get("status", {}).get("finished") is True
    none = {"metadata.name=none": False}
    by_field = {"": True, "status.finished!=true": not finished, "status.finished=true": finished, **none}
    key, _, value = selection.labels.partition("=")
    by_label = not key or (labels.get(key) == value if value else key in labels)
    return by_field[selection.fields] and by_label


def _apply(document: Manifest, operation: Mapping[str, Any]) -> None:
    """One operation of a JSON Patch; what does not hold makes the whole patch invalid."""
    *way, last = operation["path"].removeprefix("/").split("/")
    place: Any = document
    for part in way:
        if part not in place:
            raise errors.Rejected(f"missing container of {operation['path']}")
        place = place[part]
    try:
        match operation["op"], place:
            case "test", list():
                holds = place[int(last)] == operation["value"]
            case "test", _:
                holds = place.get(last) == operation["value"]
            case "add", list():
                holds = not place.append(operation["value"])  # type: ignore[func-returns-value]  # adding always holds
            case "add", _:
                place[last], holds = operation["value"], True
            case _:
                place.pop(int(last))
                holds = True
    except IndexError:
        holds = False
    if not holds:
        raise errors.Rejected(f"testing path {operation['path']} failed")


def _obey(before: Manifest, after: Manifest) -> None:
    """The rules of the CRD: a claim stays, an end stays, and what is being deleted is not held any more."""
    old, new = before.get("status") or {}, after.get("status") or {}
    if "dispatch" in old and new.get("dispatch") != old["dispatch"]:
        raise errors.Rejected("status.dispatch is written once")
    if old.get("finished") and not new.get("finished"):
        raise errors.Rejected("status.finished cannot be taken back")
    more = set(after["metadata"].get("finalizers", ())) - set(before["metadata"].get("finalizers", ()))
    if more and before["metadata"].get("deletionTimestamp"):
        raise errors.Rejected("metadata.finalizers: no new finalizers while the object is being deleted")
