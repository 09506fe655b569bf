"""A toolkit that can be used: what it says, and everything looked up beforehand that reading a command line needs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from toolcall_operator import errors
from toolcall_operator.api.parsing import Problem
from toolcall_operator.api.spiceboxtoolkit import AllowedEnv, SpiceboxToolkit, SpiceboxToolkitSpec
from toolcall_operator.core import envnames
from toolcall_operator.core.policy import extraction
from toolcall_operator.core.policy.cel import versions
from toolcall_operator.core.policy.commandline.grammar import Grammar
from toolcall_operator.core.policy.loading import argumentchecks, permissionchecks, subcommandchecks
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason
from toolcall_operator.core.unread import Unread

_NO_ENV_NAME = "is a name that no process can be given: at most 256 letters, digits and _, no digit first"


@dataclass(frozen=True, slots=True, eq=False)
class Toolkit:
    """A toolkit; `resource` is the SpiceboxToolkit's name, `env` the variables its program reads.

    `subcommands`, `flag_names` (long and short ones) and `slot_names` are what toolspecs can name. `constrained` are
    the flags that may be used only under a constraint that names them.
    """

    resource: str
    spec: SpiceboxToolkitSpec = field(repr=False)
    grammar: Grammar = field(repr=False)
    env: Mapping[str, AllowedEnv] = field(repr=False)
    subcommands: frozenset[str] = field(repr=False)
    flag_names: frozenset[str] = field(repr=False)
    slot_names: frozenset[str] = field(repr=False)
    constrained: frozenset[str] = field(repr=False)

    @classmethod
    def of(cls, resource: str, spec: SpiceboxToolkitSpec) -> Toolkit:
        """The toolkit of a spec that has no problems."""
        flags = [*spec.global_flags, *(flag for subcommand in spec.subcommands for flag in subcommand.flags)]
        return cls(
            resource=resource,
            spec=spec,
            grammar=Grammar.of(spec),
            env={each.name: each for each in spec.env.allowed},
            subcommands=frozenset(subcommand.name for subcommand in spec.subcommands),
            flag_names=frozenset(name for flag in flags for name in (flag.long, flag.short) if name),
            slot_names=frozenset(slot.name for subcommand in spec.subcommands for slot in subcommand.positional),
            constrained=frozenset(flag.name for flag in flags if flag.requires_constraint),
        )


def judged(toolkit: SpiceboxToolkit | Unread) -> Toolkit | Objection:
    """The toolkit, or everything that is wrong with it."""
    found = toolkit.problems if isinstance(toolkit, Unread) else problems(toolkit.spec)
    if found or isinstance(toolkit, Unread):
        return Objection.of(PolicyReason.SPEC_LOAD_FAILED, found)
    return Toolkit.of(toolkit.metadata.name, toolkit.spec)


def problems(spec: SpiceboxToolkitSpec) -> tuple[Problem, ...]:
    """Everything that is wrong with a toolkit, in the order of its checks; none if it can be used."""
    return tuple(itertools.chain.from_iterable(check(spec) for check in CHECKS))


def version_is_told(spec: SpiceboxToolkitSpec) -> Iterator[Problem]:
    """Whoever reads the toolkit knows which version was described."""
    if not spec.version:
        yield Problem("spec.version", "is required")
    if spec.target.version_range and versions.parsed(spec.target.version_range) is None:
        yield Problem("spec.target.versionRange", "is no range of versions such as >=2.30.0 <3.0.0")


def version_can_be_found(spec: SpiceboxToolkitSpec) -> Iterator[Problem]:
    """Where the program is asked for its version, the answer can be read."""
    if spec.target.version_probe:
        yield from extraction.problems(spec.target.version_probe)


def no_hash_is_asked_for(spec: SpiceboxToolkitSpec) -> Iterator[Problem]:
    """Nobody believes a program to be pinned that is not."""
    if spec.target.pinned_binary_hash:
        yield Problem("spec.target.pinnedBinaryHash", "cannot be set: nothing here compares the program with a hash")


def parser_is_a_description(spec: SpiceboxToolkitSpec) -> Iterator[Problem]:
    """The command line is read by what the toolkit says, and by nothing else."""
    if spec.parser.kind == "builtin":
        yield Problem("spec.parser.kind", "must be declarative: no parser is built into this operator")
    elif spec.parser.name:
        yield Problem("spec.parser.name", "cannot be set where spec.parser.kind is declarative")


def env_can_be_given(spec: SpiceboxToolkitSpec) -> Iterator[Problem]:
    """Every variable has a name a process can have, and says where it comes from if it is a secret."""
    for index, variable in enumerate(spec.env.allowed):
        path = f"spec.env.allowed[{index}]"
        if not envnames.is_env_name(variable.name):
            yield Problem(f"{path}.name", _NO_ENV_NAME)
        if variable.sensitive and not variable.credential:
            yield Problem(f"{path}.credential", f"is required: {errors.foreign(variable.name)} is sensitive")


def env_defaults_hold_no_secret(spec: SpiceboxToolkitSpec) -> Iterator[Problem]:
    """Defaults can be given, and stand in no secret's way."""
    sensitive = {variable.name for variable in spec.env.allowed if variable.sensitive}
    for wrong, why in (
        (filter(lambda name: not envnames.is_env_name(name), spec.env_defaults), "each " + _NO_ENV_NAME),
        (sensitive.intersection(spec.env_defaults), "spec.env.allowed says that they are sensitive"),
    ):
        if names := ", ".join(errors.foreign(name) for name in sorted(wrong)):
            yield Problem("spec.envDefaults", f"must not set {names}: {why}")


def global_flags_are_whole(spec: SpiceboxToolkitSpec) -> Iterator[Problem]:
    """Every global flag can be told from the others."""
    yield from argumentchecks.flags(spec.global_flags, "spec.globalFlags")


def subcommands_are_whole(spec: SpiceboxToolkitSpec) -> Iterator[Problem]:
    """Every subcommand is there once, and names nothing that is not there."""
    first: dict[tuple[str, ...], int] = {}
    for index, subcommand in enumerate(spec.subcommands):
        path = f"spec.subcommands[{index}]"
        if first.setdefault(subcommand.path, index) != index:
            yield Problem(f"{path}.path", f"is that of spec.subcommands[{first[subcommand.path]}], too")
        yield from subcommandchecks.problems(spec, subcommand, path)


def permission_names_what_is_there(spec: SpiceboxToolkitSpec) -> Iterator[Problem]:
    """The permission of all subcommands speaks of flags and arguments that some have."""
    every = (subcommandchecks.names(spec, subcommand) for subcommand in spec.subcommands)
    yield from permissionchecks.of_toolkit(spec, frozenset().union(*every))


CHECKS: tuple[Callable[[SpiceboxToolkitSpec], Iterator[Problem]], ...] = (
    version_is_told,
    version_can_be_found,
    no_hash_is_asked_for,
    parser_is_a_description,
    env_can_be_given,
    env_defaults_hold_no_secret,
    global_flags_are_whole,
    subcommands_are_whole,
    permission_names_what_is_there,
)
"""Each yields every problem it finds."""
