"""Reaching into lists and maps: a field, an element, and whether it is there."""

from __future__ import annotations

from collections.abc import Callable

from toolcall_operator.core.policy.cel import nodes, values
from toolcall_operator.core.policy.cel.errors import EvaluationError
from toolcall_operator.core.policy.cel.frame import Frame
from toolcall_operator.core.policy.cel.nodes import Call, Literal, Select
from toolcall_operator.core.policy.cel.values import Value

Step = Callable[[Frame], Value]


def selected(operand: Step, node: Select) -> Step:
    """The value of a field of a map."""
    field, path, owner = node.field, nodes.path(node), nodes.path(node.operand)

    def run(frame: Frame) -> Value:
        group = operand(frame)
        if not isinstance(group, dict):
            raise _no_map(group, owner, field)
        try:
            value = group[field]
        except KeyError:
            raise EvaluationError(f"{owner or 'a map'} has no key {field}") from None
        return value if type(value) is str else values.seen(value, path)

    return run


def asked(operand: Step, node: Select) -> Step:
    """Whether a map has a field."""
    field, owner = node.field, nodes.path(node.operand)

    def run(frame: Frame) -> Value:
        group = operand(frame)
        if not isinstance(group, dict):
            raise _no_map(group, owner, field)
        return field in group

    return run


def indexed(operand: Step, index: Step, node: Call) -> Step:
    """An element of a list by its number, or the value of a key of a map."""
    owner, key = nodes.path(node.args[0]), node.args[1]
    name = f"key {key.value}" if isinstance(key, Literal) and isinstance(key.value, str) else "such key"
    path = f"{owner}[…]" if owner else ""

    def run(frame: Frame) -> Value:
        group, place = operand(frame), index(frame)
        if isinstance(group, list):
            return values.seen(_element(group, place, owner), path)
        if not isinstance(group, dict):
            raise EvaluationError(f"{owner or 'a value'} is {values.type_name(group)}, which has no elements")
        if isinstance(place, str):
            frame.charge_text(len(place))
        try:
            return values.seen(group[values.key(place)], path)
        except KeyError:
            raise EvaluationError(f"{owner or 'a map'} has no {name}") from None

    return run


def _element(group: list[Value], place: Value, owner: str) -> Value:
    if isinstance(place, float) and place.is_integer():
        place = int(place)
    if not isinstance(place, int) or isinstance(place, bool):
        raise EvaluationError(f"an element of a list has a number, not {values.type_name(place)}")
    if not 0 <= place < len(group):
        raise EvaluationError(f"{owner or 'a list'} has no element of such a number")
    return group[place]


def _no_map(group: Value, owner: str, field: str) -> EvaluationError:
    return EvaluationError(f"{owner or 'a value'} is {values.type_name(group)}, so it has no field {field}")
