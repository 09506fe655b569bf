"""The parts of an expression, as the parser makes them: `at` is where each stands in the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal as OneOf

LoopKind = OneOf["all", "exists", "exists_one", "map", "filter"]


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that stands in the source."""

    at: int
    value: object


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, or a type by its name."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`; or, when only `asked`, has(operand.field)."""

    at: int
    operand: Node
    field: str
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator (`_+_`, `!_`, `_[_]`), on a target if it is written as a method."""

    at: int
    function: str
    target: Node | None
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Logic:
    """`a && b && …` or `a || b || …`, two parts or more."""

    at: int
    operator: OneOf["&&", "||"]
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`test ? yes : no`."""

    at: int
    test: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[item, …]`."""

    at: int
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """`{key: value, …}`."""

    at: int
    entries: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A macro over the elements of a list or the keys of a map: `source.kind(name, test)`, a map's `result` too."""

    at: int
    kind: LoopKind
    source: Node
    name: str
    test: Node | None
    result: Node | None = None


Node = Literal | Name | Select | Call | Logic | Conditional | ListOf | MapOf | Loop


def children(node: Node) -> tuple[Node, ...]:
    """The parts of a node, in the order of the source."""
    parts: Callable[..., Iterable[Node | None]] = _PARTS[type(node)]
    return tuple(part for part in parts(node) if part is not None)


def everything(node: Node) -> Iterator[tuple[Node, int]]:
    """The node and all its parts, each with its depth, the node's being 1; for trees of any depth."""
    waiting = [(node, 1)]
    while waiting:
        part, depth = waiting.pop()
        yield part, depth
        waiting.extend((child, depth + 1) for child in children(part))


def path(node: Node) -> str:
    """How people call the value of a node: `call.flags`; "" for one that is computed."""
    match node:
        case Name():
            return node.name
        case Select(operand=operand, field=field, asked=False):
            before = path(operand)
            return before and f"{before}.{field}"
        case _:
            return ""


_PARTS: dict[type[Node], Callable[..., Iterable[Node | None]]] = {
    Literal: lambda _: (),
    Name: lambda _: (),
    Select: lambda node: (node.operand,),
    Call: lambda node: (node.target, *node.args),
    Logic: lambda node: node.parts,
    Conditional: lambda node: (node.test, node.yes, node.no),
    ListOf: lambda node: node.items,
    MapOf: lambda node: (part for entry in node.entries for part in entry),
    Loop: lambda node: (node.source, node.test, node.result),
}
