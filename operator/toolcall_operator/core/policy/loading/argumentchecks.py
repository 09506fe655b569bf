"""What is wrong with flags and arguments as a toolkit describes them, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolcall_operator.api.commandline import Argument, Flag, Positional
from toolcall_operator.api.parsing import Problem


def flags(described: Sequence[Flag], path: str) -> Iterator[Problem]:
    """The problems of the flags of one scope, which stand at `path`."""
    for index, flag in enumerate(described):
        yield from _flag(flag, f"{path}[{index}]")
    yield from _names_taken(described, path)


def positionals(described: Sequence[Positional], path: str, *, double_dash: bool) -> Iterator[Problem]:
    """The problems of the arguments of one subcommand; `double_dash` is whether the program knows one."""
    for index, slot in enumerate(described):
        yield from _argument(slot, f"{path}[{index}]")
    behind = [index for index, slot in enumerate(described) if slot.after_dash_dash]
    for index in behind[1:]:
        yield Problem(
            f"{path}[{index}].afterDashDash", f"must be set at most once, and is set at {path}[{behind[0]}] already"
        )
    if behind and not double_dash:
        yield Problem(f"{path}[{behind[0]}].afterDashDash", "cannot be: spec.parser.doubleDash is Refused")


def _flag(flag: Flag, path: str) -> Iterator[Problem]:
    yield from _argument(flag, path)
    if not flag.name:
        yield Problem(path, "needs long or short: it has no name")
    if flag.optional_value and flag.type == "bool":
        yield Problem(f"{path}.optionalValue", "cannot be true for type bool, which has no value")
    if flag.arity > 1 and flag.type != "stringList":
        yield Problem(f"{path}.arity", f"can be more than 1 only for type stringList, and this is {flag.type}")
    if flag.arity > 1 and flag.optional_value:
        yield Problem(f"{path}.arity", "can be more than 1 only where optionalValue is false")


def _argument(argument: Argument, path: str) -> Iterator[Problem]:
    """What each type needs, and what has a meaning for it alone."""
    if argument.type == "enum" and not argument.values:
        yield Problem(f"{path}.values", "is required for type enum")
    if argument.type == "bool" and argument.values:
        yield Problem(f"{path}.values", "cannot be for type bool")
    for field, bound in (("minimum", argument.minimum), ("maximum", argument.maximum)):
        if bound is not None and argument.type != "int":
            yield Problem(f"{path}.{field}", f"is for type int only, and this is {argument.type}")
    if argument.minimum is not None and argument.maximum is not None and argument.minimum > argument.maximum:
        yield Problem(f"{path}.minimum", "must be at most maximum")


def _names_taken(described: Sequence[Flag], path: str) -> Iterator[Problem]:
    """Flags that could be taken for one another, on the command line or by the name of their value."""
    taken: dict[str, int] = {}
    problems: dict[str, Problem] = {}
    for index, flag in enumerate(described):
        for field, text in _names(flag):
            if (first := taken.setdefault(text, index)) != index:
                where = f"{path}[{index}].{field}"
                problems[where] = Problem(where, f"is a name that {path}[{first}] has already")
    yield from problems.values()


def _names(flag: Flag) -> Iterator[tuple[str, str]]:
    """What a flag is known by, and the field that says so."""
    if flag.long:
        yield "long", f"--{flag.long}"
    if flag.short:
        yield "short", f"-{flag.short}"
    if flag.name:
        yield "long" if flag.long else "short", flag.name
