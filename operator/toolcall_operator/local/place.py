"""What an embedded run is not: the fields it refuses, the fields that mean nothing to it, and a word of warning."""

from __future__ import annotations

from collections.abc import Iterator

from toolcall_operator.api.base import Model
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core import support

LACKING = (
    "SpiceboxClass spec.mounts",
    "SpiceboxClass spec.privateVolumes",
    "SpiceboxClass spec.writablePaths",
    "SpiceboxSession spec.mounts",
)
"""What calls would miss if it were passed over: a call whose class asks for it is refused."""

_MEANINGLESS = sorted(support.OF_THE_PLACE - set(LACKING))

NOT_A_SANDBOX = (
    "this is not the sandbox that a pod is: tools write only below the scratch folder, cannot read home folders "
    "and open no Unix socket, but otherwise they run on this machine as you, with its programs and its network"
)


def without_effect(manifest: SpiceboxClass | SpiceboxSession) -> tuple[str, ...]:
    """The fields somebody set that say how a pod is made, and mean nothing here."""
    return tuple(_without_effect(manifest))


def _without_effect(manifest: SpiceboxClass | SpiceboxSession) -> Iterator[str]:
    for entry in _MEANINGLESS:
        kind, path = entry.split(" ", 1)
        if kind == manifest.kind and _is_set(manifest, path.split(".")):
            yield path


def _is_set(model: Model, path: list[str]) -> bool:
    """Whether somebody wrote the field at `path`, and not only what holds it."""
    head, *rest = path
    for name in model.model_fields_set:
        if (type(model).model_fields[name].alias or name) == head:
            value = getattr(model, name)
            return _is_set(value, rest) if rest and isinstance(value, Model) else value is not None
    return False
