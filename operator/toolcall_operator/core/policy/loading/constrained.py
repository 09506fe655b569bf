"""Which flags the constraints of a toolspec speak of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolcall_operator.core.policy.cel import nodes, parser
from toolcall_operator.core.policy.cel.nodes import Call, Literal, Node, Select
from toolcall_operator.core.policy.cel.programs import Program

_FLAGS = "call.flags"
_ASKING = ("call.flag", "call.hasFlag")


def flags(constraints: Iterable[Program], wanted: frozenset[str]) -> frozenset[str]:
    """Which of the `wanted` flags they ask for by their plain names: `call.flags`, `call.flag()`, `call.hasFlag()`."""
    # Only what could name one is read once more: reading is most of what loading a toolspec costs.
    sources = (each.source for each in constraints if any(name in each.source for name in wanted))
    trees = map(parser.parsed, sources)
    return wanted.intersection(name for tree in trees for node, _ in nodes.everything(tree) for name in _named(node))


def _named(node: Node) -> Iterator[str]:
    match node:
        case Select(operand=operand, field=field) if nodes.path(operand) == _FLAGS:
            yield field
        case Call(function="_[_]", args=(operand, Literal(value=str(name)))) if nodes.path(operand) == _FLAGS:
            yield name
        case Call(function="_in_", args=(Literal(value=str(name)), operand)) if nodes.path(operand) == _FLAGS:
            yield name
        case Call(function=function, args=(Literal(value=str(name)),)) if function in _ASKING:
            yield name
