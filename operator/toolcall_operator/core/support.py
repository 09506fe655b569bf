"""Which fields this version carries out: what a call, its session or its class asks for beyond them is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from datetime import timedelta
from functools import cache

from toolcall_operator.api.base import Model

CARRIED_OUT = frozenset(
    {
        "ToolCall spec.session",
        "ToolCall spec.tool",
        "ToolCall spec.args",
        "ToolCall spec.env",
        "ToolCall spec.stdin",
        "ToolCall spec.timeout",
        "ToolCall spec.cancel",
        "ToolCall spec.credentials",
        "ToolCall spec.arguments",  # by refusing them with a reason of their own: no tool of today takes them
        "SpiceboxClass spec.resources.memory",
        "SpiceboxClass spec.resources.pidsLimit",
        "SpiceboxClass spec.envDefaults",
        "SpiceboxClass spec.limits.outputBytes",
        "SpiceboxClass spec.limits.maxConcurrentCalls",
        "SpiceboxClass spec.allowedEnvNames",
        "SpiceboxClass spec.credentials",
        "SpiceboxClass spec.redaction",
        "SpiceboxClass spec.terminationGracePeriod",
        "SpiceboxClass spec.tools",  # the called one is looked at on its own; the others are nothing to this call
        "SpiceboxClass spec.tools[].name",
        "SpiceboxClass spec.tools[].command",
        "SpiceboxClass spec.tools[].defaultArgs",
        "SpiceboxClass spec.tools[].description",
        "SpiceboxClass spec.toolspecs",
        "SpiceboxSession spec.class",
        "SpiceboxSession spec.agent",
        "SpiceboxSession spec.defaultEnv",
        "SpiceboxSession spec.toolspecs",
        "SpiceboxSession spec.toolConfig",
    }
)
"""Fields that mean the same wherever a sandbox runs."""

OF_THE_PLACE = frozenset(
    {
        "SpiceboxClass spec.image",
        "SpiceboxClass spec.runtimeClassName",
        "SpiceboxClass spec.network.mode",
        "SpiceboxClass spec.resources.cpu",
        "SpiceboxClass spec.resources.ephemeralStorage",
        "SpiceboxClass spec.resources.tmpSize",
        "SpiceboxClass spec.resources.workSize",
        "SpiceboxClass spec.resources.cacheSize",
        "SpiceboxClass spec.mounts",
        "SpiceboxClass spec.privateVolumes",
        "SpiceboxClass spec.sandbox.kind",
        "SpiceboxClass spec.sessionDefaults",
        "SpiceboxClass spec.allowedNamespaces",
        "SpiceboxClass spec.writablePaths",
        "SpiceboxClass spec.pod",
        "SpiceboxSession spec.idleTTL",
        "SpiceboxSession spec.maxDuration",
        "SpiceboxSession spec.mounts",
    }
)
"""Fields that say where and how a sandbox is made. A place that cannot do as they say names them as lacking."""

_VALUES_CARRIED_OUT = {"SpiceboxClass spec.tools[].expectedDuration": frozenset({"short", "long"})}
"""Fields of which only some values mean something already."""

_EMPTY: tuple[object, ...] = ((), {}, timedelta())


def unsupported(model: Model, path: str, lacking: Collection[str] = ()) -> Iterator[str]:
    """The fields in use of `model` that nobody would carry out: not this version, or, if `lacking` has them, not here.

    `path` is what the lists above call the model; the fields are told from there (`.workspace.mode`). A field is in use
    if it is set to something other than its default; an empty list or object asks for nothing.
    """
    fine = CARRIED_OUT | (OF_THE_PLACE - set(lacking))
    yield from dict.fromkeys(found.removeprefix(path) for found in _beyond(model, path, fine))


def _beyond(model: Model, path: str, fine: AbstractSet[str]) -> Iterator[str]:
    """The paths of the fields in use of `model`, which stands at `path`, that are not `fine`."""
    for name, field in type(model).model_fields.items():
        below, value = f"{path}.{field.alias or name}", getattr(model, name)
        if below in fine or value in _VALUES_CARRIED_OUT.get(below, ()):
            continue
        if isinstance(value, Model):
            yield from _beyond(value, below, fine)
        elif value != _default(type(model), name) and value not in _EMPTY:
            # What has to be written wherever its section is names the section: that one was chosen.
            yield path if field.is_required() else below


@cache
def _default(model: type[Model], name: str) -> object:
    return model.model_fields[name].get_default(call_default_factory=True)
