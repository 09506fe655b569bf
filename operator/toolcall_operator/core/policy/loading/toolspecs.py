"""A toolspec that can judge calls: read with its toolkit, its expressions compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from toolcall_operator.api.parsing import Problem
from toolcall_operator.api.spiceboxtoolspec import PolicyException, SpiceboxToolspec, SpiceboxToolspecSpec, ToolkitRef
from toolcall_operator.core.policy.cel import programs
from toolcall_operator.core.policy.cel.programs import CelError, Kind, Program
from toolcall_operator.core.policy.commandline.quoting import quoted
from toolcall_operator.core.policy.loading import constrained, runnerchecks, toolspecchecks
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.unread import NOTHING_DESCRIBED, Unread

Find = Callable[[ToolkitRef], Toolkit | str]
"""The toolkit that is referred to, or why there is none."""

Exceptions = Mapping[str, tuple[tuple[Program, PolicyException], ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Toolspec:
    """A toolspec; `name` is the SpiceboxToolspec's.

    `constraints` are its programs in the order of spec.constraints, `exceptions` those that lift a rule, by the rule's
    path. `unconstrained` are the flags that may be used only where a constraint names them, and none does.
    """

    name: str
    spec: SpiceboxToolspecSpec = field(repr=False)
    toolkit: Toolkit
    constraints: tuple[Program, ...] = field(repr=False)
    exceptions: Exceptions = field(repr=False)
    unconstrained: frozenset[str] = field(repr=False)

    @property
    def tool(self) -> str:
        """The tool whose calls it judges."""
        return self.spec.toolkit.name


def judged(toolspec: SpiceboxToolspec | Unread, find: Find) -> Toolspec | Objection:
    """The toolspec, or what is wrong with it: everything in the first phase that finds anything."""
    if isinstance(toolspec, Unread):
        return _unread(toolspec)
    spec, toolkit = toolspec.spec, find(toolspec.spec.toolkit)
    if isinstance(toolkit, str):
        return _missing(toolkit)
    first = next(_by_phase(spec, toolkit), None)
    return first or _toolspec(toolspec.metadata.name, spec, toolkit)


def objections(toolspec: SpiceboxToolspec | Unread, find: Find) -> Iterator[Objection]:
    """Everything that speaks against a toolspec; the first is what it is judged to be.

    Of one without a toolkit, all that can be told without it follows.
    """
    if isinstance(toolspec, Unread):
        yield _unread(toolspec)
        return
    spec, toolkit = toolspec.spec, find(toolspec.spec.toolkit)
    if isinstance(toolkit, str):
        yield _missing(toolkit)
        spec, toolkit = _alone(spec), _NO_TOOLKIT
    yield from _by_phase(spec, toolkit)


def expressions_can_be_compiled(spec: SpiceboxToolspecSpec, _toolkit: Toolkit) -> Iterator[Problem]:
    """Every expression means something, and gives what it must."""
    for path, source in _expressions(spec):
        try:
            _condition(source)
        except CelError as error:
            yield Problem(path, str(error))
    yield from runnerchecks.syntax(spec)


def subcommands_are_there(spec: SpiceboxToolspecSpec, toolkit: Toolkit) -> Iterator[Problem]:
    """Nothing is allowed that the toolkit does not describe."""
    known = toolkit.subcommands
    for index, name in enumerate(spec.allow_subcommands):
        if name not in known:
            words = f"names {quoted(name)}, which SpiceboxToolkit {toolkit.resource} lacks"
            yield Problem(f"spec.allowSubcommands[{index}]", words)


Phase = Callable[[SpiceboxToolspecSpec, Toolkit], Iterator[Problem]]
PHASES: tuple[tuple[PolicyReason, Phase], ...] = (
    (PolicyReason.SPEC_LOAD_FAILED, toolspecchecks.problems),
    (PolicyReason.CEL_COMPILE_ERROR, expressions_can_be_compiled),
    (PolicyReason.UNKNOWN_SUBCOMMAND, subcommands_are_there),
)
"""In this order; the first that finds anything tells all it finds."""

_NO_TOOLKIT = Toolkit.of("", NOTHING_DESCRIBED)
"""Stands in for a toolkit that is not there, for a toolspec that names nothing of it."""


def _unread(toolspec: Unread) -> Objection:
    return Objection.of(PolicyReason.SPEC_LOAD_FAILED, toolspec.problems)


def _missing(why: str) -> Objection:
    return Objection.of(PolicyReason.TOOLKIT_MISSING, [Problem("spec.toolkit", why)])


def _by_phase(spec: SpiceboxToolspecSpec, toolkit: Toolkit) -> Iterator[Objection]:
    """What each phase finds; a field that an earlier one objected to has no meaning to a later one."""
    told: set[str] = set()
    for reason, phase in PHASES:
        found = tuple(problem for problem in phase(spec, toolkit) if problem.path not in told)
        if found:
            yield Objection.of(reason, found)
        told.update(problem.path for problem in found)


def _alone(spec: SpiceboxToolspecSpec) -> SpiceboxToolspecSpec:
    """The same without what it names of its toolkit."""
    sensitive = spec.sensitive.model_copy(update={"flags": (), "positional": ()})
    return spec.model_copy(update={"allow_subcommands": (), "sensitive": sensitive})


def _expressions(spec: SpiceboxToolspecSpec) -> Iterator[tuple[str, str]]:
    for index, constraint in enumerate(spec.constraints):
        yield f"spec.constraints[{index}].cel", constraint.cel or ""
    for index, exception in enumerate(spec.exceptions):
        yield f"spec.exceptions[{index}].when", exception.when or ""


@functools.lru_cache(maxsize=4_096)
def _condition(source: str) -> Program:
    """The program of a condition. Toolspecs are often copies of each other: what stands in many is compiled once."""
    return programs.compiled(source, Kind.BOOL)


def _toolspec(name: str, spec: SpiceboxToolspecSpec, toolkit: Toolkit) -> Toolspec:
    constraints = tuple(_condition(constraint.cel or "") for constraint in spec.constraints)
    return Toolspec(name, spec, toolkit, constraints, _exceptions(spec), _unconstrained(toolkit, constraints))


def _exceptions(spec: SpiceboxToolspecSpec) -> Exceptions:
    found: dict[str, tuple[tuple[Program, PolicyException], ...]] = {}
    for exception in spec.exceptions:
        for path in dict.fromkeys(exception.overrides):
            found[path] = (*found.get(path, ()), (_condition(exception.when or ""), exception))
    return found


def _unconstrained(toolkit: Toolkit, constraints: tuple[Program, ...]) -> frozenset[str]:
    return toolkit.constrained - constrained.flags(constraints, toolkit.constrained)
