"""The JSON Patches by which objects are written: each tests first that the object is still the one that was meant."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import pydantic_core

from toolcall_operator.api.base import Observed


class Basis(Enum):
    """What the status of a ToolCall must still be for a new one to take its place."""

    NONE = "there is no status"
    OPEN = "there is a status, and the call has not ended"
    ENDED = "the call has ended already: what still comes adds to that"


def status(uid: str, new: Observed, basis: Basis | None = None) -> bytes:
    """Puts a whole status in the place of the one that is there; refused (422) if `basis` does not hold.

    A path that leads to nothing passes a test for null, as long as what it would be in is there.
    """
    tests: list[dict[str, Any]] = [_test("/metadata/uid", uid)]
    if basis is Basis.NONE:
        tests.append(_test("/status", None))
    elif basis is Basis.OPEN:
        tests.append(_test("/status/finished", None))
    return pydantic_core.to_json([*tests, {"op": "add", "path": "/status", "value": _manifest(new)}])


def hold(uid: str, finalizers: Sequence[str], finalizer: str) -> bytes:
    """Adds a finalizer to those an object is known to have."""
    if finalizers:
        add = {"op": "add", "path": "/metadata/finalizers/-", "value": finalizer}
        return pydantic_core.to_json([_test("/metadata/uid", uid), add])
    first = {"op": "add", "path": "/metadata/finalizers", "value": [finalizer]}
    return pydantic_core.to_json([_test("/metadata/uid", uid), _test("/metadata/finalizers", None), first])


def release(uid: str, index: int, finalizer: str) -> bytes:
    """Takes a finalizer away that stands at a known place in the list."""
    path = f"/metadata/finalizers/{index}"
    return pydantic_core.to_json([_test("/metadata/uid", uid), _test(path, finalizer), {"op": "remove", "path": path}])


def _test(path: str, value: str | None) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}


def _manifest(new: Observed) -> dict[str, Any]:
    return new.to_manifest()
