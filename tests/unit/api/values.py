"""Values for a schema: mostly what it allows, and what lies just beyond."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

_TEXT = st.characters(codec="utf-8")
_JSON = st.none() | st.booleans() | st.integers(-5, 5) | st.text(_TEXT, max_size=5)
_AMOUNTS = ("0", "1", "500m", "0.5", "1.5", "64Mi", "1.5Gi", "1e3", "+.5k", "4Pi", "5Pi", "1u", "1.0005", "1Ei", "-1")
_LENGTHS = (
    "0s",
    "1ms",
    "0.5ms",
    "1m30s",
    "24h",
    "24h1ms",
    "168h",
    "168h0.001s",
    "10m",
    "2562047h",
    "2562048h",
    "1.50s",
)


def of(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values of the schema's type."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return _numbers(schema) | st.sampled_from(_AMOUNTS) | _texts(schema)
    return _OF_TYPE[schema["type"]](schema)


def _numbers(schema: Mapping[str, Any]) -> st.SearchStrategy[int]:
    least, most = schema.get("minimum", -(2**31)), schema.get("maximum", 2**53)
    return st.sampled_from((least - 1, least, most, most + 1)) | st.integers(least, most)


def _texts(schema: Mapping[str, Any]) -> st.SearchStrategy[str]:
    if schema.get("format") == "date-time":
        return st.just("2026-01-31T12:00:00Z")
    if schema.get("pattern", "").endswith("h)+$"):
        return st.sampled_from(_LENGTHS) | st.from_regex(schema["pattern"])
    if "pattern" in schema:
        return st.from_regex(re.compile(schema["pattern"])) | st.text(_TEXT, max_size=5)
    return st.text(_TEXT, max_size=min(schema["maxLength"], 10))


def _objects(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    if "additionalProperties" in schema:
        return st.dictionaries(st.text(_TEXT, max_size=5), of(schema["additionalProperties"]), max_size=3)
    if "properties" not in schema:
        return st.dictionaries(st.text(_TEXT, max_size=5), _JSON, max_size=3)
    fields, required = schema["properties"], set(schema.get("required", ()))
    return st.fixed_dictionaries(
        {name: of(inner) for name, inner in fields.items() if name in required},
        optional={name: of(inner) for name, inner in fields.items() if name not in required},
    )


def _lists(schema: Mapping[str, Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(of(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)


_OF_TYPE: Mapping[str, Callable[[Mapping[str, Any]], st.SearchStrategy[Any]]] = {
    "integer": _numbers,
    "boolean": lambda _: st.booleans(),
    "array": _lists,
    "object": _objects,
    "string": _texts,
}
