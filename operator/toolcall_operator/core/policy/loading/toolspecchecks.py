"""What is wrong with a toolspec, field by field, as far as it can be seen without its expressions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from toolcall_operator import errors
from toolcall_operator.api.parsing import Problem
from toolcall_operator.api.spiceboxtoolspec import PolicyException, SpiceboxToolspecSpec
from toolcall_operator.core import envnames
from toolcall_operator.core.policy import filepaths
from toolcall_operator.core.policy.commandline.quoting import quoted
from toolcall_operator.core.policy.deciding import effectrules, gates
from toolcall_operator.core.policy.loading import runnerchecks
from toolcall_operator.core.policy.loading.toolkits import Toolkit

_OVERRIDABLE = tuple(rule.path for rule in effectrules.EFFECT_RULES)
_NOT_OVERRIDABLE = frozenset({"binary", "parse", *(rule.path for rule in gates.GATES), "constraints"})

_STDOUT, _FILE = "stdout", "file:"


def problems(spec: SpiceboxToolspecSpec, toolkit: Toolkit) -> Iterator[Problem]:
    """Everything that is wrong, in the order of the checks."""
    return itertools.chain.from_iterable(check(spec, toolkit) for check in CHECKS)


def it_is_named(spec: SpiceboxToolspecSpec, _toolkit: Toolkit) -> Iterator[Problem]:
    """People can tell which toolspec it is, and which version of it."""
    for field, value in (("name", spec.name), ("version", spec.version)):
        if not value:
            yield Problem(f"spec.{field}", "is required")


def folders_can_be_judged(spec: SpiceboxToolspecSpec, _toolkit: Toolkit) -> Iterator[Problem]:
    """Every folder is one, and no path that leads elsewhere."""
    for index, folder in enumerate(spec.allow.filesystem.paths_under or ()):
        if folder[:1] != "/" or filepaths.normalised(folder, "/") is None:
            yield Problem(f"spec.allow.filesystem.pathsUnder[{index}]", "must be an absolute path without '..'")


def exceptions_lift_a_rule(spec: SpiceboxToolspecSpec, _toolkit: Toolkit) -> Iterator[Problem]:
    """Every exception says what it lifts and when, and lifts what can be lifted."""
    for index, exception in enumerate(spec.exceptions):
        yield from _exception(exception, f"spec.exceptions[{index}]")


def constraints_are_there(spec: SpiceboxToolspecSpec, _toolkit: Toolkit) -> Iterator[Problem]:
    """A constraint without a condition would hold for every call."""
    for index, constraint in enumerate(spec.constraints):
        if not constraint.cel:
            yield Problem(f"spec.constraints[{index}].cel", "is required")


def sensitive_is_known(spec: SpiceboxToolspecSpec, toolkit: Toolkit) -> Iterator[Problem]:
    """What must not be shown is something that calls can have: a name written wrongly would hide nothing."""
    for index, name in enumerate(spec.sensitive.env):
        if not envnames.is_env_name(name):
            yield Problem(f"spec.sensitive.env[{index}]", "is a name that no variable can have")
    for field, names, known in (
        ("flags", spec.sensitive.flags, toolkit.flag_names),
        ("positional", spec.sensitive.positional, toolkit.slot_names),
    ):
        for index, name in enumerate(names):
            if name.lstrip("-") not in known:
                words = f"names {quoted(name)}, which SpiceboxToolkit {toolkit.resource} lacks"
                yield Problem(f"spec.sensitive.{field}[{index}]", words)


def secret_output_has_a_source(spec: SpiceboxToolspecSpec, _toolkit: Toolkit) -> Iterator[Problem]:
    """A secret has a name, and comes from standard output or from a file."""
    output = spec.secret_output
    if output and not output.name.strip():
        yield Problem("spec.secretOutput.name", "is blank")
    if output and output.source != _STDOUT and not output.source.startswith(f"{_FILE}/"):
        yield Problem("spec.secretOutput.source", "must be stdout, or file: and an absolute path")


def runner_finds_what_it_needs(spec: SpiceboxToolspecSpec, _toolkit: Toolkit) -> Iterator[Problem]:
    """What the runner carries out is whole."""
    yield from runnerchecks.structure(spec)


CHECKS: tuple[Callable[[SpiceboxToolspecSpec, Toolkit], Iterator[Problem]], ...] = (
    it_is_named,
    folders_can_be_judged,
    exceptions_lift_a_rule,
    constraints_are_there,
    sensitive_is_known,
    secret_output_has_a_source,
    runner_finds_what_it_needs,
)
"""Each yields every problem it finds."""


def _exception(exception: PolicyException, path: str) -> Iterator[Problem]:
    if not exception.overrides:
        yield Problem(f"{path}.overrides", "is required")
    if not exception.when:
        yield Problem(f"{path}.when", "is required")
    for index, rule in enumerate(exception.overrides):
        if objection := _not_lifted(rule):
            yield Problem(f"{path}.overrides[{index}]", objection)


def _not_lifted(rule: str) -> str | None:
    if rule in _OVERRIDABLE:
        return None
    if rule.partition("[")[0] in _NOT_OVERRIDABLE:
        return f"is {errors.foreign(rule)}, which is not overridable"
    return f"is {quoted(rule)}, not a rule path that can be overridden: these are {', '.join(_OVERRIDABLE)}"
