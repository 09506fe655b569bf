"""What is wrong with what a toolspec asks of the runner: not carried out here, but told here if it is broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolcall_operator.api import paths
from toolcall_operator.api.parsing import Problem
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspecSpec
from toolcall_operator.core.policy.cel import errors, parser
from toolcall_operator.core.policy.cel.errors import Fault

_OPTIONAL = ("forEach", "when")
_NOTHING: Mapping[str, Any] = {}


def structure(spec: SpiceboxToolspecSpec) -> Iterator[Problem]:
    """What lacks, or is no text where an expression has to be."""
    for index, block in enumerate(spec.observes):
        for field in ("facts", "subjects"):
            if not isinstance(block.get(field), dict if field == "facts" else list) or not block[field]:
                yield Problem(f"spec.observes[{index}].{field}", "needs at least one entry")
    for path, found in _expressions(spec):
        if not isinstance(found, str) or not found.strip():
            yield Problem(path, "must be an expression")


def syntax(spec: SpiceboxToolspecSpec) -> Iterator[Problem]:
    """What is no expression. Which names and functions there are is known to the runner alone."""
    for path, found in _expressions(spec):
        try:
            parser.parsed(str(found))
        except Fault as fault:
            yield Problem(path, str(errors.located(fault, str(found))))


def _expressions(spec: SpiceboxToolspecSpec) -> Iterator[tuple[str, Any]]:
    """What stands where an expression has to be, None for nothing, with its path."""
    for index, block in enumerate(spec.observes):
        path = f"spec.observes[{index}]"
        yield from _fields(_mapping(block.get("facts")), f"{path}.facts")
        subjects = block.get("subjects")
        for at, subject in enumerate(subjects if isinstance(subjects, list) else ()):
            yield from _named(_mapping(subject), f"{path}.subjects[{at}]", "resourceType", "resourceID")
        yield from _optional(block, path)
    for index, block in enumerate(spec.writes_relationships):
        path = f"spec.writesRelationships[{index}]"
        yield from _named(_mapping(block.get("tuple")), f"{path}.tuple", "resource", "relation", "subject")
        yield from _optional(block, path)


def _mapping(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else _NOTHING


def _fields(block: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name, found in block.items():
        yield path + paths.step(name), found


def _named(block: Mapping[str, Any], path: str, *names: str) -> Iterator[tuple[str, Any]]:
    for name in names:
        yield f"{path}.{name}", block.get(name)


def _optional(block: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name in _OPTIONAL:
        if block.get(name) is not None:
            yield f"{path}.{name}", block[name]
