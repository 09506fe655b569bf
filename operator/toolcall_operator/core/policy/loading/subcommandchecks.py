"""What is wrong with a subcommand as its toolkit describes it, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from toolcall_operator import errors
from toolcall_operator.api import durations
from toolcall_operator.api.commandline import Flag
from toolcall_operator.api.parsing import Problem
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkitSpec, Subcommand
from toolcall_operator.core.policy import templates
from toolcall_operator.core.policy.loading import argumentchecks, permissionchecks


def problems(spec: SpiceboxToolkitSpec, subcommand: Subcommand, path: str) -> Iterator[Problem]:
    """The problems of a subcommand of this toolkit, which stands at `path`."""
    for check in _CHECKS:
        yield from check(spec, subcommand, path)


def names(spec: SpiceboxToolkitSpec, subcommand: Subcommand) -> frozenset[str]:
    """What expressions and templates of its permissions can name."""
    flags = (flag.name for flag in _flags(spec, subcommand))
    return frozenset({*flags, *(slot.name for slot in subcommand.positional), "subcommand"})


def _arguments_are_whole(spec: SpiceboxToolkitSpec, subcommand: Subcommand, path: str) -> Iterator[Problem]:
    yield from argumentchecks.flags(subcommand.flags, f"{path}.flags")
    knows = spec.parser.double_dash == "EndsFlags"
    yield from argumentchecks.positionals(subcommand.positional, f"{path}.positional", double_dash=knows)


def _timeout_is_a_duration(_spec: SpiceboxToolkitSpec, subcommand: Subcommand, path: str) -> Iterator[Problem]:
    if subcommand.timeout is None:
        return
    try:
        length = durations.parse(subcommand.timeout)
    except ValueError as error:
        yield Problem(f"{path}.timeout", str(error))
    else:
        if not length:
            yield Problem(f"{path}.timeout", "must be more than 0s")


def _credentials_are_known(spec: SpiceboxToolkitSpec, subcommand: Subcommand, path: str) -> Iterator[Problem]:
    known = {variable.name for variable in spec.env.allowed}
    needed = subcommand.effects.creds
    for field_name, names in (("required", needed.required), ("writes", needed.writes)):
        for index, name in enumerate(names):
            if name not in known:
                where = f"{path}.effects.creds.{field_name}[{index}]"
                yield Problem(where, f"names {errors.foreign(name)}, which spec.env.allowed lacks")


def _templates_can_be_filled_in(spec: SpiceboxToolkitSpec, subcommand: Subcommand, path: str) -> Iterator[Problem]:
    flags = {flag.name for flag in _flags(spec, subcommand)}
    slots = {slot.name for slot in subcommand.positional}
    effects = subcommand.effects
    for field_name, texts in (
        ("network.destinations", effects.network.destinations),
        ("filesystem.paths", effects.filesystem.paths),
    ):
        for index, text in enumerate(texts):
            if objection := templates.objections(text, flags, slots):
                yield Problem(f"{path}.effects.{field_name}[{index}]", f"cannot be filled in: {objection}")


def _permissions_name_what_is_there(spec: SpiceboxToolkitSpec, subcommand: Subcommand, path: str) -> Iterator[Problem]:
    yield from permissionchecks.of_subcommand(subcommand, path, names(spec, subcommand), spec.permission)


_CHECKS: tuple[Callable[[SpiceboxToolkitSpec, Subcommand, str], Iterator[Problem]], ...] = (
    _arguments_are_whole,
    _timeout_is_a_duration,
    _credentials_are_known,
    _templates_can_be_filled_in,
    _permissions_name_what_is_there,
)


def _flags(spec: SpiceboxToolkitSpec, subcommand: Subcommand) -> tuple[Flag, ...]:
    """The flags that may stand behind a subcommand."""
    return (*spec.global_flags, *subcommand.flags)
