"""Whether a call may be made: what the toolspecs of its session that speak of its tool say together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from toolcall_operator.core.policy.deciding import decision
from toolcall_operator.core.policy.deciding.case import Invocation
from toolcall_operator.core.policy.deciding.decision import Judgement
from toolcall_operator.core.policy.deciding.redaction import Redactor
from toolcall_operator.core.policy.loading.toolspecs import Toolspec

MESSAGE = 1_024
"""Characters of a condition's message."""

_NOT_JUDGED = "has not been judged yet"


@dataclass(frozen=True, slots=True)
class Pending:
    """A toolspec that nobody has judged yet; `tool` is empty where it is not known what it speaks of."""

    name: str
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Invalid:
    """A toolspec that cannot judge calls, and why: its condition's reason and message."""

    name: str
    reason: str
    message: str
    tool: str = ""


Candidate = Toolspec | Pending | Invalid


@dataclass(frozen=True, slots=True)
class Failure:
    """One toolspec that did not allow the call, or with an empty name, that there is none. Fit to be shown."""

    spec_name: str
    reason: str
    path: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Denied:
    """Nobody allows the call: why, by each toolspec, and in one message. `judgements` tell more of some of them."""

    failures: tuple[Failure, ...]
    message: str
    judgements: tuple[Judgement, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The toolspec that allows the call, and what those before it said."""

    toolspec: Toolspec = field(repr=False)
    judgement: Judgement
    before: tuple[Judgement, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Toolspecs that may still allow the call, by their names, and what it ends with if they never can."""

    names: tuple[str, ...]
    refusal: Denied

    @property
    def message(self) -> str:
        """What is said of the call meanwhile."""
        return _cut(f"no toolspec allows the call yet; it waits for some to be judged: {', '.join(self.names)}")


Decision = Allowed | Denied | Waiting


def decide(tool: str, candidates: Sequence[Candidate], invocation: Callable[[Toolspec], Invocation]) -> Decision:
    """The decision on a call of `tool`; `candidates` are the toolspecs that speak of it, in their order.

    The first that allows counts. `invocation` is the call as its process would be started under a toolspec, whose
    toolkit has defaults for the environment.
    """
    judgements: list[Judgement] = []
    failures: list[Failure] = []
    for candidate in candidates:
        if isinstance(candidate, Toolspec):
            judgement = decision.judge(candidate, invocation(candidate))
            if judgement.denial is None:
                return Allowed(candidate, judgement, tuple(judgements))
            judgements.append(judgement)
            failures.append(_denied(judgement))
        else:
            failures.append(_unable(candidate))
    denied = _together(tool, failures, judgements)
    pending = tuple(each.name for each in candidates if isinstance(each, Pending))
    return Waiting(pending, denied) if pending else denied


def _denied(judgement: Judgement) -> Failure:
    denial = judgement.denial
    if denial is None:
        raise LookupError("a toolspec that allows has not failed")
    return Failure(judgement.name, denial.reason, denial.path, denial.message)


def _unable(candidate: Pending | Invalid) -> Failure:
    if isinstance(candidate, Pending):
        return Failure(candidate.name, _NOT_JUDGED)
    return Failure(candidate.name, Redactor().fit(f"is not valid ({candidate.reason}): {candidate.message}"))


def _together(tool: str, failures: Iterable[Failure], judgements: Iterable[Judgement]) -> Denied:
    every = tuple(failures) or (Failure("", Redactor().fit(f"no toolspec of the session speaks of {tool}")),)
    return Denied(every, _message(every), tuple(judgements))


def _message(failures: tuple[Failure, ...]) -> str:
    if len(failures) == 1 and not failures[0].spec_name:
        return failures[0].reason
    each = "; ".join(f"{failure.spec_name}: {failure.reason}" for failure in failures)
    return _cut(f"all {len(failures)} candidate spec(s) denied — {each}")


def _cut(message: str) -> str:
    return message if len(message) <= MESSAGE else message[: MESSAGE - 1] + "…"
