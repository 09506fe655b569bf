"""A small judge of manifests by a CRD's schema: the keywords our CRDs use, and no rules (those need an API server)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

TYPES: Mapping[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
}


def objections(value: object, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The paths at which the value is not what the schema allows."""
    if schema.get("x-kubernetes-int-or-string"):
        wrong = not isinstance(value, int | str)
    else:
        wrong = not isinstance(value, TYPES[schema["type"]]) or (
            schema["type"] == "integer" and isinstance(value, bool)
        )
    if wrong or ("enum" in schema and value not in schema["enum"]):
        yield path
    elif isinstance(value, str):
        yield from _of_text(value, schema, path)
    elif isinstance(value, int):
        yield from [path] * (not schema.get("minimum", value) <= value <= schema.get("maximum", value))
    elif isinstance(value, list):
        yield from _of_list(value, schema, path)
    elif isinstance(value, dict):
        yield from _of_object(value, schema, path)


def _of_text(value: str, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    fits = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
    if not fits or not re.search(schema.get("pattern", ""), value):
        yield path


def _of_list(value: list[Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if not schema.get("minItems", 0) <= len(value) <= schema["maxItems"]:
        yield path
    keys = schema.get("x-kubernetes-list-map-keys", ())
    named = [tuple(item.get(key) for key in keys) for item in value] if keys else []
    if len(named) != len(set(named)):
        yield path
    for index, item in enumerate(value):
        yield from objections(item, schema["items"], f"{path}[{index}]")


def _of_object(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if len(value) > schema.get("maxProperties", len(value)) or not value.keys() >= set(schema.get("required", ())):
        yield path
    for name, item in value.items():
        inner = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
        if inner:
            yield from objections(item, inner, f"{path}.{name}".lstrip("."))
        elif not schema.get("x-kubernetes-preserve-unknown-fields") and path != "metadata":
            yield f"{path}.{name}".lstrip(".")
