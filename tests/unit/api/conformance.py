"""A small judge of manifests by a CRD's schema: the keywords and the kinds of rules that our CRDs use.

Rules that compare with the old object are passed over: there is none.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.unit.api import rules
from toolcall_operator.api.schema import RULES, STRICTER

TYPES: Mapping[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
}


@dataclass(frozen=True)
class Objection:
    """What the schema does not allow: where, by which keyword (or message of a rule), and whether that is marked."""

    path: str
    keyword: str
    stricter: bool = False


def objections(value: object, schema: Mapping[str, Any], path: str = "") -> Iterator[Objection]:
    """Everything about the value that the schema does not allow; rules are judged last, on what fits the model."""
    found = list(_of_value(value, schema, path))
    yield from found
    if all(objection.stricter for objection in found):
        for rule in schema.get(RULES, ()):
            if "oldSelf" not in rule["rule"] and not rules.holds(rule["rule"], _completed(value, schema)):
                yield Objection(path, rule["message"], STRICTER in rule)


def _completed(value: object, schema: Mapping[str, Any]) -> object:
    """The value with its defaults, which an API server fills in before it judges."""
    if not isinstance(value, dict):
        return value
    fields = schema.get("properties", {})
    return {name: field["default"] for name, field in fields.items() if "default" in field} | value


def _of_value(value: object, schema: Mapping[str, Any], path: str) -> Iterator[Objection]:
    if schema.get("x-kubernetes-int-or-string"):
        wrong = isinstance(value, bool) or not isinstance(value, int | str)
    else:
        wrong = not isinstance(value, TYPES[schema["type"]]) or (
            schema["type"] == "integer" and isinstance(value, bool)
        )
    if wrong or ("enum" in schema and value not in schema["enum"]):
        yield Objection(path, "type")
        return
    for keyword, holds in _keywords(value, schema):
        if not holds:
            yield Objection(path, keyword, keyword in schema.get(STRICTER, ()))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from objections(item, schema["items"], f"{path}[{index}]")
    if isinstance(value, dict):
        yield from _of_fields(value, schema, path)


def _keywords(value: object, schema: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """The keywords that bound such a value, and whether each holds."""
    if isinstance(value, str):
        yield "minLength", len(value) >= schema.get("minLength", 0)
        yield "maxLength", len(value) <= schema.get("maxLength", len(value))
        # In Go's patterns, as in JSON schema, $ is the very end; in Python's it is before a last line break, too.
        yield "pattern", bool(re.search(re.sub(r"\$$", r"\\Z", schema.get("pattern", "")), value))
    elif isinstance(value, list):
        yield "minItems", len(value) >= schema.get("minItems", 0)
        yield "maxItems", len(value) <= schema["maxItems"]
        keys = schema.get("x-kubernetes-list-map-keys", ())
        yield "x-kubernetes-list-map-keys", not keys or _distinct([[item.get(key) for key in keys] for item in value])
        yield "x-kubernetes-list-type", schema.get("x-kubernetes-list-type") != "set" or _distinct(value)
    elif isinstance(value, dict):
        yield "maxProperties", len(value) <= schema.get("maxProperties", len(value))
        yield "required", value.keys() >= set(schema.get("required", ()))
    elif isinstance(value, int):
        yield "minimum", schema.get("minimum", value) <= value
        yield "maximum", value <= schema.get("maximum", value)


def _distinct(items: list[Any]) -> bool:
    return all(item not in items[:index] for index, item in enumerate(items))


def _of_fields(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[Objection]:
    for name, item in value.items():
        below = f"{path}.{name}".lstrip(".")
        inner = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
        if inner:
            yield from objections(item, inner, below)
        elif not schema.get("x-kubernetes-preserve-unknown-fields") and path != "metadata":
            yield Objection(below, "unknown")
