"""From the JSON schema that pydantic draws of a model to the structural schema that a CRD takes."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, NoDefault
from pydantic_core import core_schema

from toolcall_operator.api.schema import STRICTER

Schema = dict[str, Any]

_NOT_IN_CRDS = frozenset({"title", "propertyNames", "$defs", "const"})
_REFERENCE = "#/$defs/"


class _Drawing(GenerateJsonSchema):
    """Draws defaults as a manifest writes them (``60s``), not as pydantic does (``PT1M``)."""

    def get_default_value(self, schema: core_schema.WithDefaultSchema) -> Any:  # noqa: ANN401 (a default is of any type)
        """The default, through the serializer of its field."""
        default = super().get_default_value(schema)
        way_back = schema["schema"].get("serialization", {}).get("function")
        return default if default is NoDefault or way_back is None else way_back(default)


def of(model: type[BaseModel]) -> Schema:
    """The schema of a model's manifest: no references, no null, nothing a CRD does not know."""
    return unmarked(marked(model))


def marked(model: type[BaseModel]) -> Schema:
    """The same, still with the marks on what only the API server refuses (``schema.STRICTER``)."""
    template = f"{_REFERENCE}{{model}}"
    drawn = model.model_json_schema(by_alias=True, ref_template=template, schema_generator=_Drawing)
    return _node(drawn, drawn.get("$defs", {}))


def unmarked(schema: Schema) -> Schema:
    """A schema without marks."""
    return {key: _unmarked(value) for key, value in schema.items() if key != STRICTER}


def _unmarked(value: object) -> object:
    if isinstance(value, dict):
        return unmarked(value)
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def _node(schema: Mapping[str, Any], known: Mapping[str, Schema]) -> Schema:
    """One node and all below it."""
    whole = _resolved(schema, known)
    node = {key: value for key, value in whole.items() if key not in _NOT_IN_CRDS}
    if "const" in whole:
        node["enum"] = [whole["const"]]
    if node.get("default") in (None, []):
        node.pop("default", None)
    if node.get("additionalProperties") in (True, False):
        del node["additionalProperties"]  # unknown fields are pruned by the API server, not declared
    for inner in ("items", "additionalProperties"):
        if inner in node:
            node[inner] = _node(node[inner], known)
    if "properties" in node:
        node["properties"] = {name: _node(inner, known) for name, inner in node["properties"].items()}
    return node


def _resolved(schema: Mapping[str, Any], known: Mapping[str, Schema]) -> Schema:
    """The node itself, where it is a reference or may be null as well; what stands beside the reference wins."""
    beside = {key: value for key, value in schema.items() if key not in {"$ref", "anyOf"}}
    if "$ref" in schema:
        return {**_resolved(known[schema["$ref"].removeprefix(_REFERENCE)], known), **beside}
    if "anyOf" in schema:
        (one,) = (branch for branch in schema["anyOf"] if branch != {"type": "null"})
        return {**_resolved(one, known), **beside}
    return beside
