"""Calls whose pattern stands in the policy: it is made, and refused if bad, when the policy loads."""

from __future__ import annotations

from collections.abc import Callable

from toolcall_operator.core.policy.cel import patterns, values, versions
from toolcall_operator.core.policy.cel.errors import EvaluationError, Fault
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.nodes import Call, Literal, Node
from toolcall_operator.core.policy.cel.patterns import BadPattern, Pattern
from toolcall_operator.core.policy.cel.values import Value

_MADE: dict[str, tuple[Callable[[str], Pattern], int]] = {
    "matches": (patterns.regular, 1),
    "glob.match": (patterns.glob, 0),
}
"""By function: what makes its pattern, and which of the two arguments that is."""


def searching(node: Call, parts: tuple[Node, ...]) -> tuple[Callable[[Frame, Value], Value], Node] | None:
    """What a call with a literal pattern does to its other argument, and that; None for other calls.

    Raises:
        Fault: the pattern is bad.
    """
    if node.function not in _MADE:
        return None
    made, place = _MADE[node.function]
    source = _literal(parts[place])
    if source is None:
        return None
    try:
        pattern = made(source)
    except BadPattern as bad:
        raise Fault(parts[place].at, f"the pattern of {node.function}() {bad}") from None
    return _searched(node.function, pattern), parts[1 - place]


def check_range(node: Call, parts: tuple[Node, ...]) -> None:
    """A literal range of versions is one.

    Raises:
        Fault: it is not.
    """
    if node.function == "semver.satisfies":
        wanted = _literal(parts[1])
        if wanted is not None and versions.parsed(wanted) is None:
            raise Fault(parts[1].at, "no range of versions; they are written like >=2.40.0 <3.0.0, ^1.2, ~1.2.3 or 1.x")


def _searched(function: str, pattern: Pattern) -> Callable[[Frame, Value], Value]:
    def run(frame: Frame, text: Value) -> bool:
        if isinstance(text, str):
            return pattern.found(frame, text)
        raise EvaluationError(f"{function}() takes texts, not {values.type_name(text)}")

    return run


def _literal(node: Node) -> str | None:
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else None
