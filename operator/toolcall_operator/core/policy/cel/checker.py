"""What type an expression gives, and whether everything it names is there: the check when a policy loads."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from toolcall_operator.core.policy.cel import signatures, statictypes, values
from toolcall_operator.core.policy.cel.errors import Fault
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
from toolcall_operator.core.policy.cel.signatures import Signature
from toolcall_operator.core.policy.cel.statictypes import BOOL, DYN, Bound, Type, list_of, map_of

NESTING = 2
"""How deep loops may lie in each other: three over 200 arguments would take seconds."""

_KEYS = frozenset({"bool", "int", "uint", "double", "string", "dyn"})
_LITERALS = {bool: "bool", int: "int", values.Uint: "uint", float: "double", str: "string", bytes: "bytes"}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an expression may name where it stands, and in how many loops that is."""

    names: Mapping[str, Type]
    loops: tuple[str, ...] = ()

    def inside(self, name: str, element: Type) -> Surroundings:
        """The inside of a loop over such elements."""
        return replace(self, names={**self.names, name: element}, loops=(*self.loops, name))


def checked(node: Node, around: Surroundings) -> Type:
    """The type of what the expression gives.

    Raises:
        Fault: it names something that is not there, or can only fail.
    """
    check: Callable[..., Type] = _CHECKS[type(node)]
    return check(node, around)


def _literal(node: Literal, _: Surroundings) -> Type:
    return Type(_LITERALS.get(type(node.value), "null_type"))


def _name(node: Name, around: Surroundings) -> Type:
    if (found := around.names.get(node.name)) is not None:
        return found
    if node.name in signatures.TYPES:
        return Type("type")
    raise Fault(node.at, f"there is no variable {node.name}{_near(node.name, around.names)}")


def _select(node: Select, around: Surroundings) -> Type:
    operand = checked(node.operand, around)
    if operand.name not in {"map", "dyn"}:
        raise Fault(node.at, f"{operand} has no field {node.field}; only maps have fields")
    found = _field(node, operand, node.field)
    return BOOL if node.asked else found


def _field(node: Node, operand: Type, field: str) -> Type:
    if operand.fields is None:
        return operand.parts[1] if operand.name == "map" else DYN
    if field not in operand.fields:
        raise Fault(node.at, f"there is no field {field}{_near(field, operand.fields)}")
    return operand.fields[field]


def _call(node: Call, around: Surroundings) -> Type:
    known = signatures.FUNCTIONS if node.target is None else signatures.METHODS
    if node.function.startswith("call.") and "call" not in around.names:
        raise Fault(node.at, f"there is no variable call, so no {node.function}()")
    if node.function not in known:
        raise Fault(node.at, _unknown(node))
    parts = node.args if node.target is None else (node.target, *node.args)
    given = tuple(checked(part, around) for part in parts)
    if node.function == "_[_]" and given[0].fields is not None:
        key = parts[1]
        if isinstance(key, Literal) and isinstance(key.value, str):
            return _field(node, given[0], key.value)
    return _applied(node, known[node.function], given)


def _applied(node: Call, candidates: Iterable[Signature], given: tuple[Type, ...]) -> Type:
    results = [result for each in candidates if (result := _result(each, given)) is not None]
    if not results:
        raise Fault(node.at, f"{operator(node.function)} does not take ({', '.join(map(str, given))})")
    return results[0] if all(result == results[0] for result in results) else DYN


def _result(signature: Signature, given: tuple[Type, ...]) -> Type | None:
    bound: Bound = {}
    if len(signature.takes) != len(given):
        return None
    if not all(statictypes.fits(wanted, each, bound) for wanted, each in zip(signature.takes, given, strict=True)):
        return None
    return statictypes.resolved(signature.gives, bound)


def _logic(node: Logic, around: Surroundings) -> Type:
    for part in node.parts:
        _must_be_bool(part, checked(part, around), f"a part of {node.operator}")
    return BOOL


def _conditional(node: Conditional, around: Surroundings) -> Type:
    _must_be_bool(node.test, checked(node.test, around), "the condition before ?")
    yes, no = checked(node.yes, around), checked(node.no, around)
    if not statictypes.agree(yes, no):
        raise Fault(node.at, f"the two sides of : must give the same type, not {yes} and {no}")
    return statictypes.joined(yes, no)


def _list(node: ListOf, around: Surroundings) -> Type:
    if len(node.items) > values.ELEMENTS:
        raise Fault(node.at, f"a list of more than {values.ELEMENTS} elements")
    return list_of(statictypes.common(checked(item, around) for item in node.items))


def _map(node: MapOf, around: Surroundings) -> Type:
    if len(node.entries) > values.ELEMENTS:
        raise Fault(node.at, f"a map of more than {values.ELEMENTS} keys")
    keys = [checked(key, around) for key, _ in node.entries]
    for (key, _), given in zip(node.entries, keys, strict=True):
        if given.name not in _KEYS:
            raise Fault(key.at, f"a key of a map is a bool, a number or a string, not {given}")
    return map_of(statictypes.common(keys), statictypes.common(checked(value, around) for _, value in node.entries))


def _loop(node: Loop, around: Surroundings) -> Type:
    source = checked(node.source, around)
    if source.name not in {"list", "map", "dyn"}:
        raise Fault(node.at, f"{node.kind}() goes over a list or the keys of a map, not over {source}")
    if node.name in around.names and node.name not in around.loops:
        raise Fault(node.at, f"the element of {node.kind}() cannot be named {node.name}, which is a variable")
    inner = around.inside(node.name, source.parts[0] if source.parts else DYN)
    if len(inner.loops) > NESTING:
        raise Fault(node.at, f"loops lie more than {NESTING} deep in each other")
    if node.test is not None:
        _must_be_bool(node.test, checked(node.test, inner), f"the condition of {node.kind}()")
    if node.kind == "filter":
        return list_of(inner.names[node.name])
    return BOOL if node.result is None else list_of(checked(node.result, inner))


def _must_be_bool(node: Node, given: Type, what: str) -> None:
    if given.name not in {"bool", "dyn"}:
        raise Fault(node.at, f"{what} must be a bool, not {given}")


def operator(function: str) -> str:
    """A function as people write it: the operator alone, a name with its parentheses."""
    return function.strip("_") if "_" in {function[0], function[-1]} else f"{function}()"


def _unknown(node: Call) -> str:
    if node.target is None and node.function in signatures.METHODS:
        return f"{node.function}() is called on a value: x.{node.function}(…)"
    if f"call.{node.function}" in signatures.FUNCTIONS:
        return f"{node.function}() is a function of call alone: call.{node.function}(…)"
    dotted = f"{node.target.name}.{node.function}" if isinstance(node.target, Name) else node.function
    return f"there is no function {dotted}(){_near(dotted, [*signatures.FUNCTIONS, *signatures.METHODS])}"


def _near(name: str, known: Iterable[str]) -> str:
    """What may have been meant by a name, to be put behind it."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


_CHECKS: Mapping[type[Node], Callable[..., Type]] = {
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
