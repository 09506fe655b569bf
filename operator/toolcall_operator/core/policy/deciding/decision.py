"""Whether one toolspec allows a call, which rule decided, and what every other rule said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from toolcall_operator.api.spiceboxtoolspec import PolicyException
from toolcall_operator.core.policy.cel.errors import EvaluationError
from toolcall_operator.core.policy.commandline import parser, quoting
from toolcall_operator.core.policy.commandline.values import CommandLine, Unparsed
from toolcall_operator.core.policy.deciding import effectrules, gates, redaction, sensitive
from toolcall_operator.core.policy.deciding.case import Case, Invocation
from toolcall_operator.core.policy.deciding.effects import Resolved
from toolcall_operator.core.policy.deciding.gates import Rule
from toolcall_operator.core.policy.loading.toolspecs import Toolspec

__all__ = ["ENV", "PATHS_UNDER", "Denial", "Invocation", "Judgement", "Outcome", "Step", "judge"]

BINARY = "binary"
PARSE = "parse"
ENV = "env"
PATHS_UNDER = "allow.filesystem.pathsUnder"
VERSION_UNVERIFIED = "VersionUnverified"

_FAILED = "constraint failed"


class Outcome(StrEnum):
    """What came of a rule: an objection that an exception lifted is overridden, a rule the toolspec lacks not bound."""

    HELD = "Held"
    DENIED = "Denied"
    OVERRIDDEN = "Overridden"
    NOT_BOUND = "NotBound"


@dataclass(frozen=True, slots=True)
class Step:
    """What came of one rule. `detail` is fit to be shown."""

    path: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Denial:
    """The rule that refused: where it stands, why, and what it says itself. All of it is fit to be shown."""

    path: str
    reason: str
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a toolspec says of a call; it allows it if there is no denial.

    `trace` is what came of every rule that was looked at, in order. `shown` replaces what must not be seen of the call
    in any text; `line` and `effects` are None if the call was not understood, and are not fit to be shown themselves.
    """

    toolspec: Toolspec = field(repr=False)
    invocation: Invocation = field(repr=False)
    denial: Denial | None
    trace: tuple[Step, ...]
    line: CommandLine | None = field(repr=False)
    effects: Resolved | None = field(repr=False)
    warnings: tuple[str, ...]
    shown: Callable[[str], str] = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name of the toolspec."""
        return self.toolspec.name


def judge(toolspec: Toolspec, invocation: Invocation) -> Judgement:
    """What a toolspec says of a call. Whatever the call holds, this is an answer and no exception."""
    program, binary = invocation.program.rpartition("/")[2], toolspec.toolkit.spec.target.binary
    if program != binary:
        words = f"the tool runs {quoting.quoted(program)}, and the toolkit describes {quoting.quoted(binary)}"
        return _not_understood(toolspec, invocation, Denial(BINARY, words))
    line = parser.parse(toolspec.toolkit.grammar, invocation.argv)
    if isinstance(line, Unparsed):
        return _not_understood(toolspec, invocation, line)
    if not any(line.subcommand is each for each in toolspec.toolkit.spec.subcommands):
        words = "was read as a subcommand that the toolkit does not have"
        return _not_understood(toolspec, invocation, Denial(PARSE, words))
    return _judged(Case(toolspec, invocation, line))


def _not_understood(toolspec: Toolspec, invocation: Invocation, why: Unparsed | Denial) -> Judgement:
    redactor = sensitive.redactor(toolspec, invocation.env, invocation.cwd, None)
    if isinstance(why, Unparsed):
        why = Denial(PARSE, sensitive.words_of(toolspec, why, invocation.argv, redactor))
    denial = Denial(why.path, redactor.fit(why.reason))
    before = () if why.path == BINARY else (Step(BINARY, Outcome.HELD),)
    trace = (*before, Step(denial.path, Outcome.DENIED, denial.reason))
    return Judgement(toolspec, invocation, denial, trace, None, None, (), redactor.shown)


def _judged(case: Case) -> Judgement:
    trace = [Step(BINARY, Outcome.HELD), Step(PARSE, Outcome.HELD)]
    denial = _denial(case, trace)
    warnings = () if case.invocation.binary_version is not None else (VERSION_UNVERIFIED,)
    return Judgement(
        case.toolspec,
        case.invocation,
        denial,
        tuple(trace),
        case.line,
        case.effects,
        warnings,
        case.shown,
    )


def _denial(case: Case, trace: list[Step]) -> Denial | None:
    """The first denial; every step that was looked at for it is added to `trace`."""
    for steps in (_gates(case), _effects(case)):
        found = [*steps]
        trace += found
        denied = next((step for step in found if step.outcome is Outcome.DENIED), None)
        if denied:
            return Denial(denied.path, denied.detail)
    return _constraints(case, trace)


def _gates(case: Case) -> Iterator[Step]:
    """Up to the first that objects."""
    for rule in gates.GATES:
        step = _applied(rule, case)
        yield step
        if step.outcome is Outcome.DENIED:
            return


def _effects(case: Case) -> Iterator[Step]:
    """All of them, so that people see at once what else would be in the way."""
    for rule in effectrules.EFFECT_RULES:
        step = _applied(rule, case)
        yield _excepted(step, case) if step.outcome is Outcome.DENIED else step


def _applied(rule: Rule, case: Case) -> Step:
    if not rule.binds(case):
        return Step(rule.path, Outcome.NOT_BOUND)
    objection = rule.objection(case)
    if objection is None:
        return Step(rule.path, Outcome.HELD)
    return Step(rule.path, Outcome.DENIED, case.redactor.fit(objection))


def _excepted(denied: Step, case: Case) -> Step:
    """The step after the exceptions of its rule: the first that holds lifts it, one without a value says so."""
    troubles = ""
    for program, exception in case.toolspec.exceptions.get(denied.path, ()):
        try:
            lifts = program.evaluate(case.scope)
        except EvaluationError as error:
            troubles += f"; {_place(exception, case)} could not be evaluated: {error}"
            continue
        if lifts is True:
            words = exception.message or "an exception of the toolspec holds"
            return Step(denied.path, Outcome.OVERRIDDEN, _with(words, troubles, case))
    lifted = [each.message for _, each in case.toolspec.exceptions.get(denied.path, ()) if each.message]
    hint = f"; it does not count where: {' or '.join(lifted)}" if lifted else ""
    return replace(denied, detail=_with(denied.detail + hint, troubles, case)) if hint or troubles else denied


def _place(exception: PolicyException, case: Case) -> str:
    every = case.toolspec.spec.exceptions
    return f"exceptions[{next(index for index, each in enumerate(every) if each is exception)}]"


def _with(detail: str, troubles: str, case: Case) -> str:
    """The detail with troubles behind it, which have half of the room at least."""
    shown = case.redactor.fit(troubles, redaction.LONGEST // 2)
    return case.redactor.fit(detail, redaction.LONGEST - len(shown)) + shown


def _constraints(case: Case, trace: list[Step]) -> Denial | None:
    """Up to the first that does not hold, or has no value."""
    for index, program in enumerate(case.toolspec.constraints):
        path, said = f"constraints[{index}]", case.toolspec.spec.constraints[index].message
        message = said or _FAILED
        try:
            reason = "" if program.evaluate(case.scope) is True else f"{path} does not hold: {message}"
        except EvaluationError as error:
            reason = f"{path} could not be evaluated: {error}" + (f"; it says: {said}" if said else "")
        if reason:
            denial = Denial(path, case.redactor.fit(reason), case.redactor.fit(message))
            trace.append(Step(path, Outcome.DENIED, denial.reason))
            return denial
        trace.append(Step(path, Outcome.HELD))
    return None
