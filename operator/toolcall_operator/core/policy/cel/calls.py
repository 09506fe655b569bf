"""What a written call stands for: has(), a loop, a function with a dotted name, or a plain function or method."""

from __future__ import annotations

from toolcall_operator.core.policy.cel import signatures
from toolcall_operator.core.policy.cel.errors import Fault
from toolcall_operator.core.policy.cel.nodes import Call, Loop, LoopKind, Name, Node, Select

_LOOPS: dict[tuple[str, int], LoopKind] = {
    ("all", 2): "all",
    ("exists", 2): "exists",
    ("exists_one", 2): "exists_one",
    ("filter", 2): "filter",
    ("map", 2): "map",
    ("map", 3): "map",
}


def understood(call: Call) -> Node:
    """The node that a call, as it was written, stands for.

    Raises:
        Fault: a loop without a plain name for its element, or has() of something other than a field.
    """
    if call.target is None:
        return _asked(call.args[0]) if call.function == "has" and len(call.args) == 1 else call
    dotted = f"{call.target.name}.{call.function}" if isinstance(call.target, Name) else ""
    if dotted in signatures.FUNCTIONS:
        return Call(call.at, dotted, None, call.args)
    kind = _LOOPS.get((call.function, len(call.args)))
    return _loop(call, kind, call.target) if kind else call


def _loop(call: Call, kind: LoopKind, source: Node) -> Loop:
    name, *rest = call.args
    if not isinstance(name, Name):
        raise Fault(name.at, f"the first argument of {kind}() must be a name for the element")
    if kind == "map":
        *test, result = rest
        return Loop(call.at, kind, source, name.name, test[0] if test else None, result)
    return Loop(call.at, kind, source, name.name, rest[0])


def _asked(field: Node) -> Select:
    if not isinstance(field, Select) or field.asked:
        raise Fault(field.at, "has() takes a field, as in has(call.flags.force)")
    return Select(field.at, field.operand, field.field, asked=True)
