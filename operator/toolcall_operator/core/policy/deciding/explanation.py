"""A decision told to people: who was asked, which rule decided, and what the call was read as. Nothing sensitive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from toolcall_operator.core.policy.commandline import parser, quoting
from toolcall_operator.core.policy.deciding import redaction
from toolcall_operator.core.policy.deciding.candidates import Allowed, Decision, Denied, Failure, Waiting
from toolcall_operator.core.policy.deciding.decision import Judgement, Outcome, Step
from toolcall_operator.core.policy.deciding.effects import Touched

_SHOWN = 16


def text(decision: Decision) -> str:
    """The whole decision, line by line: first how it ended, then each toolspec that was asked, in order."""
    return "\n".join(_lines(decision))


def _lines(decision: Decision) -> Iterator[str]:
    match decision:
        case Allowed():
            yield f"allowed by toolspec {decision.judgement.name}"
            yield from _judgements((*decision.before, decision.judgement))
        case Denied():
            yield f"denied: {decision.message}"
            yield from _unjudged(decision)
            yield from _judgements(decision.judgements)
        case Waiting():
            yield f"waiting for toolspec {', '.join(decision.names)}; if they never can judge, the call is"
            yield from _lines(decision.refusal)


def _unjudged(denied: Denied) -> Iterator[str]:
    judged = {judgement.name for judgement in denied.judgements}
    for failure in denied.failures:
        if failure.spec_name and failure.spec_name not in judged:
            yield from _failed(failure)


def _failed(failure: Failure) -> Iterator[str]:
    yield ""
    yield f"toolspec {failure.spec_name}: {failure.reason}"


def _judgements(judgements: Iterable[Judgement]) -> Iterator[str]:
    for judgement in judgements:
        yield ""
        yield from judgement_lines(judgement)


def judgement_lines(judgement: Judgement) -> Iterator[str]:
    """What one toolspec said: its answer, the command line as it was read, the effects, and every rule."""
    toolkit = judgement.toolspec.toolkit.spec
    yield f"toolspec {judgement.name}, for toolkit {toolkit.name} of revision {toolkit.toolkit_revision}"
    yield from _answer(judgement)
    yield from _command_line(judgement)
    yield from _effects(judgement)
    yield from _group("environment, by its names", (", ".join(sorted(judgement.invocation.env)),))
    yield from _group("rules", (*(_step(step) for step in judgement.trace if _binds(step)), _unbound(judgement)))
    yield from _group("warnings", judgement.warnings)


def _answer(judgement: Judgement) -> Iterator[str]:
    denial = judgement.denial
    if denial is None:
        yield "  allows the call"
        return
    yield f"  denies the call by {denial.path}: {denial.reason}"
    if denial.message:
        yield f"  the rule says: {denial.message}"


def _command_line(judgement: Judgement) -> Iterator[str]:
    if judgement.line is not None:
        line = judgement.line
        yield from _group(
            f"command line, subcommand {quoting.quoted(line.subcommand.name)}",
            parser.render(line, lambda text: redaction.quoted(text, judgement.shown)).splitlines(),
        )


def _effects(judgement: Judgement) -> Iterator[str]:
    if judgement.effects is None:
        return
    found, described = judgement.effects, judgement.effects.described
    yield from _group(
        "effects",
        (
            f"destructive: {'yes' if described.destructive else 'no'}",
            f"reads: {_several(described.reads)}",
            f"writes: {_several(described.writes)}",
            f"connects to: {_places(found.destinations, judgement.shown)}",
            f"files: {_places(found.paths, judgement.shown)}",
            f"credentials: {_several(described.creds.required)}",
            f"changes credentials: {_several(described.creds.writes)}",
        ),
    )


def _several(texts: Iterable[str]) -> str:
    return ", ".join(texts) or "none"


def _places(places: Touched, shown: Callable[[str], str]) -> str:
    found = [redaction.quoted(each, shown) for each in places.known[:_SHOWN]]
    found += [f"and {len(places.known) - _SHOWN} more"] if len(places.known) > _SHOWN else []
    refused = [f"{redaction.quoted(each, shown)} (refused)" for each in places.refused[:_SHOWN]]
    return _several((*found, *refused, *places.untold))


def _binds(step: Step) -> bool:
    return step.outcome is not Outcome.NOT_BOUND


def _unbound(judgement: Judgement) -> str:
    paths = ", ".join(step.path for step in judgement.trace if not _binds(step))
    return f"not bound: {paths}" if paths else ""


def _step(step: Step) -> str:
    return f"{step.path}: {step.outcome}" + (f" ({step.detail})" if step.detail else "")


def _group(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A title with its lines below it; neither if there is none."""
    every = [line for line in lines if line]
    if every:
        yield f"  {title}"
        yield from (f"    {line}" for line in every)
