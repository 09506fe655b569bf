"""The loops: over the elements of a list or the keys of a map, each turn counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from toolcall_operator.core.policy.cel import logic, values
from toolcall_operator.core.policy.cel.errors import EvaluationError, Exhausted
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.nodes import LoopKind
from toolcall_operator.core.policy.cel.values import Value

Step = Callable[[Frame], Value]


@dataclass(frozen=True, slots=True)
class Turns:
    """What a loop goes over, where its element is put, and what a turn costs in steps."""

    kind: LoopKind
    source: Step
    place: int
    cost: int

    def over(self, frame: Frame) -> Iterable[Value]:
        """Each element, after it was put in its place.

        Raises:
            EvaluationError: the source is nothing to go over, or too large; or the turns cost too much.
        """
        source = values.seen(self.source(frame), f"what {self.kind}() goes over")
        if not isinstance(source, (list, dict)):
            raise EvaluationError(f"{self.kind}() goes over a list or a map, not over {values.type_name(source)}")
        for each in source:
            frame.charge(self.cost)
            element = values.from_key(each) if type(each) is values.Key else values.seen(each, "")
            frame.values[self.place] = element
            yield element


def quantified(turns: Turns, test: Step) -> Step:
    """all() and exists(): an error counts only when no element decides."""
    deciding = turns.kind == "exists"

    def run(frame: Frame) -> bool:
        trouble: EvaluationError | None = None
        for _ in turns.over(frame):
            try:
                verdict = test(frame)
            except Exhausted:
                raise
            except EvaluationError as error:
                frame.charge(logic.FAILING)
                trouble = trouble or error
                continue
            if verdict is deciding:
                return deciding
            if verdict is not (not deciding):
                trouble = trouble or logic.no_bool(f"the condition of {turns.kind}()", verdict)
        if trouble is not None:
            raise trouble
        return not deciding

    return run


def single(turns: Turns, test: Step) -> Step:
    """exists_one()."""
    holds = _holds(turns, test)

    def run(frame: Frame) -> bool:
        return sum(holds(frame) for _ in turns.over(frame)) == 1

    return run


def filtered(turns: Turns, test: Step) -> Step:
    """filter()."""
    holds = _holds(turns, test)
    return lambda frame: [each for each in turns.over(frame) if holds(frame)]


def mapped(turns: Turns, test: Step | None, result: Step) -> Step:
    """map(), of the elements that pass a test if there is one."""
    if test is None:
        return lambda frame: [result(frame) for _ in turns.over(frame)]
    holds = _holds(turns, test)
    return lambda frame: [result(frame) for _ in turns.over(frame) if holds(frame)]


def _holds(turns: Turns, test: Step) -> Callable[[Frame], bool]:
    def run(frame: Frame) -> bool:
        verdict = test(frame)
        if isinstance(verdict, bool):
            return verdict
        raise logic.no_bool(f"the condition of {turns.kind}()", verdict)

    return run
