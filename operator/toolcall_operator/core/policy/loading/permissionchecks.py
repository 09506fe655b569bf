"""What is wrong with the permissions of a toolkit: checks that lack, names of what is not there, wrong expressions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from toolcall_operator.api.parsing import Problem
from toolcall_operator.api.permissions import Permission, PermissionCheck, PermissionVariant
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkitSpec, Subcommand
from toolcall_operator.core.policy.cel import programs
from toolcall_operator.core.policy.cel.programs import CelError, Kind
from toolcall_operator.core.policy.commandline.quoting import quoted
from toolcall_operator.core.policy.deciding import resource

_CHECKED = ("readonly", "readwrite", "external")
_ALWAYS_GRANTED = ("stateless", "passthrough")
_NAME = re.compile(r"\{([^{}]*)\}")


def of_toolkit(spec: SpiceboxToolkitSpec, names: Collection[str]) -> Iterator[Problem]:
    """The problems of the permission of all subcommands; `names` are those of every flag and argument there is."""
    yield from _permission(spec.permission, "spec.permission", names)


def of_subcommand(
    subcommand: Subcommand, path: str, names: Collection[str], of_all: Permission | None
) -> Iterator[Problem]:
    """The problems of a subcommand's own permissions; `names` are those of its flags and arguments."""
    yield from _permission(subcommand.permission, f"{path}.permission", names)
    for index, variant in enumerate(subcommand.permission_variants):
        yield from _variant(variant, f"{path}.permissionVariants[{index}]", names)
    yield from _granted_though_destructive(subcommand, path, of_all)


def _granted_though_destructive(subcommand: Subcommand, path: str, of_all: Permission | None) -> Iterator[Problem]:
    """What destroys is not what nobody has to be asked for: one of the two fields is wrong."""
    counts = subcommand.permission or of_all
    if subcommand.effects.destructive and counts and _impact(counts) in _ALWAYS_GRANTED:
        where = f"{path}.permission" if subcommand.permission else "spec.permission"
        words = f"is {_impact(counts)}, which is granted without a check, and {path} is destructive"
        yield Problem(f"{where}.stateImpact", words)


def _permission(permission: Permission | None, path: str, names: Collection[str]) -> Iterator[Problem]:
    if permission is None:
        return
    impact = _impact(permission)
    if impact not in {*_CHECKED, *_ALWAYS_GRANTED}:
        yield Problem(f"{path}.stateImpact", f"must be one of {', '.join((*_CHECKED, *_ALWAYS_GRANTED))}")
    if impact in _CHECKED and not permission.check:
        yield Problem(f"{path}.check", f"is required where stateImpact is {impact}")
    if impact in _ALWAYS_GRANTED and permission.check:
        yield Problem(f"{path}.check", f"cannot be where stateImpact is {impact}, which is granted without a check")
    if permission.check:
        yield from _check(permission.check, f"{path}.check", names)


def _impact(permission: Permission) -> str:
    """The impact as it is compared: in lower case."""
    return permission.state_impact.lower()


def _variant(variant: PermissionVariant, path: str, names: Collection[str]) -> Iterator[Problem]:
    yield from _expression(variant.when, Kind.BOOL, f"{path}.when")
    yield from _permission(variant.check, f"{path}.check", names)


def _check(check: PermissionCheck, path: str, names: Collection[str]) -> Iterator[Problem]:
    if check.resource_id_template and check.resource_id_expr:
        yield Problem(f"{path}.resourceIDExpr", "cannot stand beside resourceIDTemplate")
    if check.resource_id_expr:
        yield from _expression(check.resource_id_expr, Kind.STRING, f"{path}.resourceIDExpr")
    for name in _NAME.findall(check.resource_id_template or ""):
        if name not in names:
            yield Problem(f"{path}.resourceIDTemplate", f"names {quoted(name)}, which is no flag or argument there")
    for index, name in enumerate(check.resource_id_transforms):
        if name not in resource.TRANSFORMS:
            words = f"is none of {', '.join(sorted(resource.TRANSFORMS))}"
            yield Problem(f"{path}.resourceIDTransforms[{index}]", words)


def _expression(source: str, wanted: Kind, path: str) -> Iterator[Problem]:
    try:
        programs.compiled(source, wanted, ("args",))
    except CelError as error:
        yield Problem(path, str(error))
