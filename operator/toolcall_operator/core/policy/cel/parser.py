"""A source made into nodes, by the precedence of the operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal as OneOf

from toolcall_operator.core.policy.cel import calls, literals, nodes, tokens
from toolcall_operator.core.policy.cel.errors import Fault
from toolcall_operator.core.policy.cel.nodes import Call, Conditional, ListOf, Literal, Logic, MapOf, Name, Node, Select
from toolcall_operator.core.policy.cel.reading import Reading

DEPTH = 64
"""How deep the tree may be: a chain of additions, selections or calls is one level deeper with each link."""

_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_RELATIONS = ("<", "<=", ">", ">=", "==", "!=", "in")
_STRENGTH = dict.fromkeys(_RELATIONS, 1) | dict.fromkeys("+-", 2) | dict.fromkeys("*/%", 3)


def parsed(source: str) -> Node:
    """The tree of a source.

    Raises:
        Fault: it is no expression of the language, or too deep.
    """
    reading = Reading(source)
    node = _expression(reading)
    reading.take("end")
    for part, depth in nodes.everything(node):
        if depth > DEPTH:
            raise Fault(part.at, f"the expression is more than {DEPTH} levels deep")
    return node


def _expression(reading: Reading) -> Node:
    with reading.deeper():
        at = reading.at
        node = _logic(reading, "||")
        if not reading.taken("?"):
            return node
        yes = _logic(reading, "||")
        reading.take(":")
        return Conditional(at, node, yes, _expression(reading))


def _logic(reading: Reading, operator: OneOf["&&", "||"]) -> Node:
    at = reading.at
    parts = [_part(reading, operator)]
    while reading.taken(operator):
        parts.append(_part(reading, operator))
    return parts[0] if len(parts) == 1 else Logic(at, operator, tuple(parts))


def _part(reading: Reading, operator: OneOf["&&", "||"]) -> Node:
    return _logic(reading, "&&") if operator == "||" else _operation(reading, 1)


def _operation(reading: Reading, strength: int) -> Node:
    """What binds as strongly as this or more; operators of one strength bind from the left."""
    left = _unary(reading)
    while _STRENGTH.get(reading.kind, 0) >= strength:
        operator = reading.take(reading.kind)
        right = _operation(reading, _STRENGTH[operator.kind] + 1)
        left = Call(operator.at, f"_{operator.kind}_", None, (left, right))
    return left


def _unary(reading: Reading) -> Node:
    operator, at = reading.kind, reading.at
    if operator not in {"!", "-"}:
        return _member(reading)
    odd = False
    while reading.taken(operator):
        odd = not odd
    if operator == "-" and odd and reading.kind in {"int", "double"}:
        return _links(reading, _number(reading, negative=True))
    operand = _member(reading)
    return Call(at, f"{operator}_", None, (operand,)) if odd else operand


def _member(reading: Reading) -> Node:
    return _links(reading, _primary(reading))


def _links(reading: Reading, node: Node) -> Node:
    while reading.kind in {".", "["}:
        at = reading.at
        if reading.taken("["):
            node = Call(at, "_[_]", None, (node, _expression(reading)))
            reading.take("]")
            continue
        reading.take(".")
        name = reading.take("name")
        if reading.taken("("):
            node = calls.understood(Call(name.at, name.text, node, _several(reading, ")")))
        else:
            node = Select(name.at, node, name.text)
    return node


def _primary(reading: Reading) -> Node:
    read = _BEGINNINGS.get(reading.kind)
    if read is None:
        raise reading.unexpected("an expression")
    return read(reading)


def _constant(reading: Reading) -> Literal:
    token = reading.take(reading.kind)
    return Literal(token.at, _CONSTANTS[token.kind])


def _text(reading: Reading) -> Literal:
    token = reading.take("text")
    return Literal(token.at, literals.text(token.text, token.at))


def _bracketed(reading: Reading) -> Node:
    reading.take("(")
    node = _expression(reading)
    reading.take(")")
    return node


def _list(reading: Reading) -> ListOf:
    return ListOf(reading.take("[").at, _several(reading, "]"))


def _number(reading: Reading, *, negative: bool = False) -> Literal:
    token = reading.take(reading.kind)
    return Literal(token.at, literals.number(token.kind, token.text, token.at, negative=negative))


def _named(reading: Reading) -> Node:
    token = reading.take("name")
    if token.text in tokens.RESERVED:
        raise Fault(token.at, f"{token.text} is a reserved word")
    if reading.taken("("):
        return calls.understood(Call(token.at, token.text, None, _several(reading, ")")))
    if reading.kind == "{":
        raise Fault(token.at, f"{token.text}{{…}}: there are no messages here, only maps")
    return Name(token.at, token.text)


def _several(reading: Reading, end: OneOf[")", "]"]) -> tuple[Node, ...]:
    """What stands before `end`, which is taken; a list may have a comma after its last element."""
    found: list[Node] = []
    while not reading.taken(end):
        found.append(_expression(reading))
        if reading.taken(end):
            break
        reading.take(",")
        if end == ")" and reading.kind == end:
            raise reading.unexpected("an argument")
    return tuple(found)


def _map(reading: Reading) -> MapOf:
    at = reading.take("{").at
    entries: list[tuple[Node, Node]] = []
    while not reading.taken("}"):
        key = _expression(reading)
        reading.take(":")
        entries.append((key, _expression(reading)))
        if reading.taken("}"):
            break
        reading.take(",")
    return MapOf(at, tuple(entries))


_BEGINNINGS: dict[str, Callable[[Reading], Node]] = {
    **dict.fromkeys(_CONSTANTS, _constant),
    **dict.fromkeys(("int", "uint", "double"), _number),
    "text": _text,
    "name": _named,
    "[": _list,
    "{": _map,
    "(": _bracketed,
}
"""What reads an expression, by the kind of its first word."""
