"""The JSON Patches by which objects are written: each tests first that the object is still the one that was meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import pydantic_core

from toolcall_operator.api.base import Observed

_TOLD = frozenset({"conditions", "observedGeneration"})
"""Of a status: the conditions, and the generation that they are about."""


class Basis(Enum):
    """What the status of a ToolCall must still be for a new one to take its place."""

    NONE = "there is no status"
    OPEN = "there is a status, and the call has not ended"
    ENDED = "the call has ended already: what still comes adds to that"


def status(uid: str, new: Observed, basis: Basis | None = None) -> bytes:
    """Puts a whole status in the place of the one that is there; refused (422) if `basis` does not hold.

    A path that leads to nothing passes a test for null, as long as what it would be in is there.
    """
    return pydantic_core.to_json([*_tests(uid, basis), _add("/status", new.to_manifest())])


def conditions(uid: str, new: Observed, *, first: bool) -> bytes:
    """Puts conditions in the place of those that are there, and leaves the rest of a status as it is.

    Refused (422) if it is not so that these are the `first`, because there is no status yet.
    """
    told = {name: value for name, value in new.to_manifest().items() if name in _TOLD}
    if first:
        return pydantic_core.to_json([*_tests(uid, Basis.NONE), _add("/status", told)])
    return pydantic_core.to_json([*_tests(uid), *(_add(f"/status/{name}", value) for name, value in told.items())])


def hold(uid: str, finalizers: Sequence[str], finalizer: str, *, unended: bool = False) -> bytes:
    """Adds a finalizer to those an object is known to have; to a ToolCall with a status, only if it is `unended`."""
    tests = [_test("/metadata/uid", uid), *([_test("/status/finished", None)] if unended else [])]
    if finalizers:
        add = {"op": "add", "path": "/metadata/finalizers/-", "value": finalizer}
        return pydantic_core.to_json([*tests, add])
    first = {"op": "add", "path": "/metadata/finalizers", "value": [finalizer]}
    return pydantic_core.to_json([*tests, _test("/metadata/finalizers", None), first])


def release(uid: str, index: int, finalizer: str) -> bytes:
    """Takes a finalizer away that stands at a known place in the list."""
    path = f"/metadata/finalizers/{index}"
    return pydantic_core.to_json([_test("/metadata/uid", uid), _test(path, finalizer), {"op": "remove", "path": path}])


def _tests(uid: str, basis: Basis | None = None) -> Iterator[dict[str, Any]]:
    yield _test("/metadata/uid", uid)
    if basis is Basis.NONE:
        yield _test("/status", None)
    elif basis is Basis.OPEN:
        yield _test("/status/finished", None)


def _test(path: str, value: str | None) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}


def _add(path: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 (any part of a manifest)
    return {"op": "add", "path": path, "value": value}
