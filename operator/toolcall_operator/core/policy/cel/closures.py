"""A checked expression made into a Python function, once; evaluating it is calling that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from toolcall_operator.core.policy.cel import functions, logic, loops, nodes, prepared, reaching, standard, values
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.loops import Turns
from toolcall_operator.core.policy.cel.nodes import (
    Call,
    Conditional,
    ListOf,
    Literal,
    Logic,
    Loop,
    MapOf,
    Name,
    Node,
    Select,
)
from toolcall_operator.core.policy.cel.values import TypeName, Value

Step = Callable[[Frame], Value]


@dataclass(frozen=True, slots=True)
class Places:
    """Where in a frame each name has its value; the next loop's element is put behind them."""

    known: Mapping[str, int]
    size: int

    def inside(self, name: str) -> Places:
        """The inside of a loop whose element has this name."""
        return Places({**self.known, name: self.size}, self.size + 1)


def built(node: Node, places: Places) -> Step:
    """The function that gives the value of a node.

    Raises:
        Fault: a pattern in it is bad.
    """
    build: Callable[..., Step] = _BUILDERS[type(node)]
    return build(node, places)


def _literal(node: Literal, _: Places) -> Step:
    value = node.value
    return lambda _: value


def _select(node: Select, places: Places) -> Step:
    operand = built(node.operand, places)
    return reaching.asked(operand, node) if node.asked else reaching.selected(operand, node)


def _logic(node: Logic, places: Places) -> Step:
    return logic.joined(node.operator, [built(part, places) for part in node.parts])


def _conditional(node: Conditional, places: Places) -> Step:
    return logic.chosen(built(node.test, places), built(node.yes, places), built(node.no, places))


def _list(node: ListOf, places: Places) -> Step:
    items = [built(item, places) for item in node.items]
    return lambda frame: [item(frame) for item in items]


def _name(node: Name, places: Places) -> Step:
    place = places.known.get(node.name)
    if place is None:
        named = TypeName(node.name)
        return lambda _: named
    return lambda frame: frame.values[place]


def _call(node: Call, places: Places) -> Step:
    parts = node.args if node.target is None else (node.target, *node.args)
    if node.function.startswith("call."):
        return _of_call(node, places)
    if equality := _equality(node, places):
        return equality
    prepared.check_range(node, parts)
    if searching := prepared.searching(node, parts):
        search, text = searching
        return _applied(search, [built(text, places)])
    steps = [built(part, places) for part in parts]
    if node.function == "_[_]":
        return reaching.indexed(steps[0], steps[1], node)
    table = standard.FUNCTIONS if node.target is None else standard.METHODS
    return _applied(table[node.function], steps)


def _applied(function: standard.Function, steps: list[Step]) -> Step:
    match steps:
        case [one]:
            return lambda frame: function(frame, one(frame))
        case [one, other]:
            return lambda frame: function(frame, one(frame), other(frame))
        case _:
            return lambda frame: function(frame, *(step(frame) for step in steps))


def _equality(node: Call, places: Places) -> Step | None:
    """Equality with a text that stands in the policy, the commonest test of all: Python's own is the language's."""
    if node.function not in {"_==_", "_!=_"}:
        return None
    one, other = node.args
    if isinstance(one, Literal):
        one, other = other, one
    if not isinstance(other, Literal) or not isinstance(other.value, str):
        return None
    step, text = built(one, places), other.value
    if node.function == "_==_":
        return lambda frame: step(frame) == text
    return lambda frame: step(frame) != text


def _of_call(node: Call, places: Places) -> Step:
    """call.flag(), call.hasFlag() and call.hasEnv()."""
    field = "env" if node.function == "call.hasEnv" else "flags"
    group = built(Select(node.at, Name(node.at, "call"), field), places)
    name = built(node.args[0], places)
    function = functions.flag if node.function == "call.flag" else functions.has

    def run(frame: Frame) -> Value:
        return function(group(frame), name(frame))

    return run


def _map(node: MapOf, places: Places) -> Step:
    entries = [(built(key, places), built(value, places)) for key, value in node.entries]
    return lambda frame: {values.key(key(frame)): value(frame) for key, value in entries}


def _loop(node: Loop, places: Places) -> Step:
    inner = places.inside(node.name)
    body = [part for part in (node.test, node.result) if part is not None]
    cost = 1 + sum(_COSTS.get(type(each), 1) for part in body for each, _ in nodes.everything(part))
    turns = Turns(node.kind, built(node.source, places), places.size, cost)
    test = built(node.test, inner) if node.test is not None else None
    if node.result is not None:
        return loops.mapped(turns, test, built(node.result, inner))
    if test is None:
        raise LookupError(f"a {node.kind}() without a condition")
    if node.kind in {"all", "exists"}:
        return loops.quantified(turns, test)
    return loops.single(turns, test) if node.kind == "exists_one" else loops.filtered(turns, test)


_COSTS: Mapping[type[Node], int] = {Call: 4, ListOf: 2, MapOf: 4}
"""What a turn of a loop costs for what is in it, in steps; work on large values is counted where it is done."""

_BUILDERS: Mapping[type[Node], Callable[..., Step]] = {
    Literal: _literal,
    Name: _name,
    Select: _select,
    Call: _call,
    Logic: _logic,
    Conditional: _conditional,
    ListOf: _list,
    MapOf: _map,
    Loop: _loop,
}
