"""From a document as it was read to a model of its kind, or to everything that is wrong with it, in plain words.

No message holds a value of a document: arguments, environment and standard input may be secrets put in the wrong place.
"""

import difflib
import functools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from toolcall_operator.api import paths, structural
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.base import API_VERSION, Manifest
from toolcall_operator.api.paths import Parts
from toolcall_operator.api.schema import bytes_in
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.api.toolcall import ToolCall

Parsed = ToolCall | SpiceboxClass | SpiceboxSession | SpiceboxToolkit | SpiceboxToolspec | AgentIdentity
KINDS: Mapping[str, type[Parsed]] = {
    "ToolCall": ToolCall,
    "SpiceboxClass": SpiceboxClass,
    "SpiceboxSession": SpiceboxSession,
    "SpiceboxToolkit": SpiceboxToolkit,
    "SpiceboxToolspec": SpiceboxToolspec,
    "AgentIdentity": AgentIdentity,
}
LARGEST_SPEC = 1_258_291
"""1.2 MiB: the API server keeps at most 1.5 MiB of an object, and its status needs room."""

_LIST_KINDS = frozenset({"List", *(f"{kind}List" for kind in KINDS)})


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where (``spec.args[3]``), and what is allowed there."""

    path: str
    message: str

    def __str__(self) -> str:
        """Where and what, as one sentence."""
        return f"{self.path} {self.message}" if self.path else f"the document {self.message}"


class Malformed(ValueError):
    """A document that is not a manifest of ours, with everything that is wrong with it in the order of the document."""

    def __init__(self, problems: Sequence[Problem], kind: str = "", name: str = "") -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)
        self.kind = kind
        self.name = name


def documents(raw: object) -> Iterator[object]:
    """The documents in ``raw``: the items of a List and of Lists within it, or ``raw`` itself; none if it is empty."""
    if raw is None:
        return
    items = list_items(raw)
    if items is None:
        yield raw
        return
    for item in items:
        yield from documents(item)


def list_items(raw: object) -> Sequence[object] | None:
    """The items of a document that is a List; None for every other."""
    if not isinstance(raw, Mapping) or _text(raw.get("kind")) not in _LIST_KINDS:
        return None
    items = raw.get("items")
    return items if isinstance(items, list | tuple) else None


def parse(raw: object) -> Parsed:
    """The object that a document describes.

    Raises:
        Malformed: it describes none of ours; every problem is told at once.
    """
    if not isinstance(raw, Mapping):
        raise Malformed([Problem("", "must be an object with apiVersion, kind, metadata and spec")])
    model = KINDS.get(_text(raw.get("kind")))
    problems = dict(_head(raw))
    if model is None:
        raise Malformed([_problem(parts, message) for parts, message in problems.items()], *_names(raw))
    parsed = _validated(model, raw)
    problems |= dict(_size(raw))
    if isinstance(parsed, dict):
        problems |= parsed
    elif not problems:
        return parsed
    ordered = sorted(problems.items(), key=lambda item: _rank(raw, item[0]))
    raise Malformed([_problem(parts, message) for parts, message in ordered], *_names(raw))


def _validated(model: type[Parsed], raw: Mapping[str, Any]) -> Parsed | dict[Parts, str]:
    """The object, or every problem by where it is. What pydantic raised goes no further: it holds the values."""
    try:
        return model.model_validate({**raw, "apiVersion": API_VERSION}, by_alias=True, by_name=False)
    except ValidationError as error:
        return {_parts(detail): _message(detail, model) for detail in error.errors(include_url=False)}


def _head(raw: Mapping[str, Any]) -> Iterator[tuple[Parts, str]]:
    """What is wrong with the two fields that say what a document is."""
    for field, allowed in (("apiVersion", [API_VERSION]), ("kind", list(KINDS))):
        if raw.get(field) is None:
            yield (field,), "is required"
        elif _text(raw[field]) not in allowed:
            yield (field,), f"must be {' or '.join(allowed)}"


def _size(raw: Mapping[str, Any]) -> Iterator[tuple[Parts, str]]:
    """Whether the spec is larger than the API server could keep."""
    try:
        size = bytes_in(json.dumps(raw.get("spec"), ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError):
        return  # no JSON: the field in which that stands has a problem of its own
    if size > LARGEST_SPEC:
        yield ("spec",), f"must be at most 1.2 MiB as JSON ({LARGEST_SPEC} bytes), and is {size} bytes"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _names(raw: Mapping[str, Any]) -> tuple[str, str]:
    """The kind and name of a document, as far as they can be read."""
    metadata = raw.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else ""
    return _text(raw.get("kind"))[: paths.LONGEST_NAME], _text(name)[: paths.LONGEST_NAME]


# Where ----------------------------------------------------------------------------------------------------------------
def _parts(detail: ErrorDetails) -> Parts:
    """Where an error is."""
    return tuple(part for part in detail["loc"] if part != "[key]")


def _problem(parts: Parts, message: str) -> Problem:
    return Problem(paths.written(parts), message)


def _rank(raw: Mapping[str, Any], parts: Parts) -> list[float]:
    """How far down the document these parts lead; what is missing comes after its siblings."""
    rank: list[float] = []
    here: object = raw
    for part in parts:
        if isinstance(here, Mapping):
            rank.append(list(here).index(part) if part in here else math.inf)
            here = here.get(part)
        else:
            rank.append(part if isinstance(part, int) else math.inf)
            here = here[part] if isinstance(here, list | tuple) and isinstance(part, int) else None
    return rank


# What -----------------------------------------------------------------------------------------------------------------
_MESSAGES = {
    "missing": "is required",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "tuple_type": "must be a list",
    "string_unicode": "must be valid Unicode text",
    "invalid_key": "must have text as its name; put the name in quotes",
    "literal_error": "must be {expected}",
    "string_too_long": "must be at most {max_length} characters",
    "string_too_short": "must be at least {min_length} characters",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "too_long": "must hold at most {max_length} entries",
    "too_short": "must hold at least {min_length} entries",
    "refused": "{message}",
}
_OBJECT_TYPES = frozenset({"mapping_type", "dict_type", "model_type", "model_attributes_type"})


def _message(detail: ErrorDetails, model: type[Manifest]) -> str:
    """What is allowed where an error was found."""
    kind = detail["type"]
    if kind == "extra_forbidden":
        return _unknown(_parts(detail), model)
    if kind == "string_type" and "[key]" in detail["loc"]:
        kind = "invalid_key"
    if kind == "string_type":
        scalar = isinstance(detail["input"], bool | int | float)
        return "must be text; put it in quotes" if scalar else "must be text"
    if kind in _OBJECT_TYPES:
        return "must be an object"
    return _MESSAGES.get(kind, "is not valid").format(**detail.get("ctx", {}))


def _unknown(parts: Parts, model: type[Manifest]) -> str:
    """What to say of a field that does not exist: which one may have been meant."""
    node = _schema(model)
    for part in parts[:-1]:
        node = node.get("properties", {}).get(part) or node.get("items") or node.get("additionalProperties") or {}
    known = {name.lower(): name for name in node.get("properties", {})}
    near = difflib.get_close_matches(
        str(parts[-1])[: paths.LONGEST_NAME].lower().replace("_", ""), known, n=1, cutoff=0.75
    )
    return f"is not a known field; did you mean {known[near[0]]}?" if near else "is not a known field"


@functools.cache
def _schema(model: type[Manifest]) -> structural.Schema:
    return structural.of(model)
