"""Which toolspecs judge the calls of which tool of a class, and which of them a session is left with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from toolcall_operator import errors
from toolcall_operator.api.spiceboxclass import SpiceboxClass, SpiceboxClassSpec
from toolcall_operator.api.spiceboxsession import SpiceboxSessionSpec
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.policy.loading.reasons import Objection
from toolcall_operator.core.policy.loading.toolspecs import Toolspec


@dataclass(frozen=True, slots=True)
class NotInClass:
    """The toolspecs that a session names and its class does not have."""

    names: tuple[str, ...]

    def message(self, session_class: SpiceboxClass) -> str:
        """What to tell of it."""
        names = errors.foreign(", ".join(self.names))
        return f"spec.toolspecs names what SpiceboxClass {session_class.metadata.name} does not have: {names}"


def effective(session: SpiceboxSessionSpec, session_class: SpiceboxClassSpec) -> tuple[str, ...] | NotInClass:
    """The toolspecs that judge the calls of a session: those it names, in its order, or else all of its class."""
    of_class = tuple(each.name for each in session_class.toolspecs)
    if session.toolspecs is None:
        return of_class
    chosen = tuple(each.name for each in session.toolspecs)
    strange = tuple(name for name in chosen if name not in of_class)
    return NotInClass(strange) if strange else chosen


def coverage(spec: SpiceboxClassSpec, library: Library) -> Mapping[str, tuple[str, ...]]:
    """For every tool that is a program, the toolspecs that judge its calls, in the order of the class.

    Services and HTTP endpoints are no programs: what is asked of them is no command line. A class without toolspecs has
    none that judge, and needs none.
    """
    if not spec.toolspecs:
        return {}
    found = {tool.name: tuple[str, ...]() for tool in spec.tools if tool.command is not None}
    for each in spec.toolspecs:
        toolspec = library.toolspec(each.name)
        if isinstance(toolspec, Toolspec) and toolspec.tool in found:
            found[toolspec.tool] = (*found[toolspec.tool], each.name)
    return found


def uncovered(spec: SpiceboxClassSpec, library: Library) -> tuple[str, ...]:
    """The tools that need a toolspec and have none."""
    return tuple(tool for tool, names in coverage(spec, library).items() if not names)


def lacking(spec: SpiceboxClassSpec, library: Library) -> str | None:
    """What to tell of the tools that need a toolspec and have none, and why each toolspec of the class is none."""
    tools = uncovered(spec, library)
    if not tools:
        return None
    why = "; ".join(_why(spec, library))
    return f"spec.toolspecs has none that judges calls of {', '.join(tools)}{': ' if why else ''}{why}"


def _why(spec: SpiceboxClassSpec, library: Library) -> Iterator[str]:
    """Of each toolspec that covers no tool of the class, why."""
    covering = {name for names in coverage(spec, library).values() for name in names}
    for each in spec.toolspecs:
        found = library.toolspec(each.name)
        if found is None:
            yield f"there is no SpiceboxToolspec {each.name}"
        elif isinstance(found, Objection):
            yield f"{each.name} is not valid ({found.reason})"
        elif each.name not in covering:
            yield f"{each.name} speaks of {found.tool}, which is no program of the class"
