"""The CRDs: structural, bounded, described, and of one mind with the models."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.api import conformance, manifests
from toolcall_operator.api import crds, parsing
from toolcall_operator.api.base import Model

SCHEMAS = {kind.name: crds.schema(kind) for kind in crds.KINDS}
DEFINITIONS = {kind.name: crds.definition(kind) for kind in crds.KINDS}
EVERY_KIND = pytest.mark.parametrize("kind", SCHEMAS)
KEYWORDS = {
    "type", "description", "properties", "items", "additionalProperties", "required", "enum", "default", "format",
    "pattern", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "maxProperties",
    "x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
}  # fmt: skip
HASH = "0" * 64
WHOLE_CALL = manifests.call(
    args=["a"], env={"A": "b"}, stdin="c", timeout="90s", mode="stream", streamTokenHash=HASH,
    captureOutputs=["/work/out/a"], inputArtifacts=[{"artifactRef": "r", "path": "p"}],
    workspace={"mode": "isolated"}, arguments={"a": None}, cancel=True,
    credentials=[{"inject": {"envVar": "A"}, "source": manifests.STATIC}], ttlSecondsAfterFinished=60,
)  # fmt: skip


def nodes(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every node of a schema by its path."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            yield from nodes(schema[inner], f"{path}[]")


def every(kind: str) -> list[tuple[str, dict[str, Any]]]:
    return [(path, node) for path, node in nodes(SCHEMAS[kind], kind) if ".metadata" not in path]


@EVERY_KIND
def test_every_node_has_one_type_and_no_keyword_that_crds_do_not_take(kind: str) -> None:
    for path, node in every(kind):
        assert ("type" in node) != ("x-kubernetes-int-or-string" in node), path
        assert node.keys() <= KEYWORDS, path


@EVERY_KIND
def test_every_field_is_described_in_whole_sentences(kind: str) -> None:
    for path, node in every(kind):
        if not path.endswith("[]"):
            assert node.get("description", "").endswith("."), path


@EVERY_KIND
def test_every_text_list_and_map_is_bounded(kind: str) -> None:
    bounds = {"string": {"maxLength", "enum", "format"}, "array": {"maxItems"}}
    for path, node in every(kind):
        if path.endswith((".apiVersion", ".kind")) and path.count(".") == 1:
            continue
        wanted = {"maxProperties"} if "additionalProperties" in node else bounds.get(node.get("type", ""))
        assert wanted is None or wanted & node.keys(), path


@EVERY_KIND
def test_every_rule_has_a_message_and_speaks_of_declared_fields(kind: str) -> None:
    for path, node in every(kind):
        for rule in node.get("x-kubernetes-validations", ()):
            assert rule["message"], path
            for chain in re.findall(r"\b(?:self|oldSelf)\.([\w.]+)", rule["rule"]):
                assert declared(node, chain), (path, chain)
            assert declared(node, rule.get("fieldPath", "").lstrip(".")), path


def declared(node: dict[str, Any], chain: str) -> bool:
    here = node
    for name in filter(None, chain.split(".")):
        here = here.get("properties", {}).get(name)
        if here is None:
            return False
    return True


@EVERY_KIND
def test_every_default_is_a_value_the_field_allows(kind: str) -> None:
    for path, node in every(kind):
        if "default" in node:
            assert not list(conformance.objections(node["default"], node)), path


@EVERY_KIND
def test_the_keys_of_a_keyed_list_are_required_fields(kind: str) -> None:
    for path, node in every(kind):
        keys = set(node.get("x-kubernetes-list-map-keys", ()))
        assert keys <= set(node.get("items", {}).get("required", ())), path


@EVERY_KIND
def test_the_schema_declares_exactly_the_fields_of_the_model(kind: str) -> None:
    model = parsing.KINDS[kind]
    spec: Any = model.model_fields["spec"].annotation

    assert SCHEMAS[kind]["properties"].keys() == names(model)
    assert SCHEMAS[kind]["properties"]["spec"]["properties"].keys() == names(spec)


def names(model: type[Model]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


@EVERY_KIND
def test_columns_and_selectable_fields_show_declared_fields(kind: str) -> None:
    (version,) = DEFINITIONS[kind]["spec"]["versions"]
    paths = [column["jsonPath"] for column in version["additionalPrinterColumns"]]
    paths += [field["jsonPath"] for field in version.get("selectableFields", ())]

    for path in paths:
        plain = re.sub(r"\[\?.*$", "", path).lstrip(".")
        assert plain == "metadata.creationTimestamp" or declared(SCHEMAS[kind], plain), path


def test_names_scopes_and_categories_are_those_of_the_group() -> None:
    found = {
        name: (spec["scope"], spec["names"]["plural"], spec["names"]["shortNames"], spec["names"]["categories"])
        for name, spec in ((name, definition["spec"]) for name, definition in DEFINITIONS.items())
    }

    categories = ["authzed", "spicebox"]
    assert found == {
        "ToolCall": ("Namespaced", "toolcalls", ["tc"], categories),
        "SpiceboxSession": ("Namespaced", "spiceboxsessions", ["sbxses"], categories),
        "SpiceboxClass": ("Cluster", "spiceboxclasses", ["sbxcls"], categories),
    }


def test_finished_calls_can_be_selected() -> None:
    (version,) = DEFINITIONS["ToolCall"]["spec"]["versions"]

    assert version["selectableFields"] == [{"jsonPath": ".status.finished"}]
    assert version["subresources"] == {"status": {}}


def test_every_field_of_a_call_but_cancel_is_unchangeable() -> None:
    spec = SCHEMAS["ToolCall"]["properties"]["spec"]
    kept = {rule["fieldPath"].lstrip(".") for rule in spec["x-kubernetes-validations"] if "oldSelf" in rule["rule"]}

    assert kept == spec["properties"].keys() - {"cancel"}


def test_the_claim_is_written_once() -> None:
    messages = [rule["message"] for rule in SCHEMAS["ToolCall"]["x-kubernetes-validations"]]

    assert any("status.dispatch is written once" in message for message in messages)


def test_defaults_are_spelled_as_manifests_spell_them() -> None:
    call = SCHEMAS["ToolCall"]["properties"]["spec"]["properties"]
    limits = SCHEMAS["SpiceboxClass"]["properties"]["spec"]["properties"]["limits"]

    assert (call["timeout"]["default"], call["mode"]["default"], call["cancel"]["default"]) == ("1m", "sync", False)
    assert (limits["default"], limits["properties"]["outputBytes"]["default"]) == ({}, "1Mi")


@pytest.mark.parametrize(
    "manifest",
    (
        manifests.call(),
        WHOLE_CALL,
        manifests.session_class(),
        manifests.session_class(resources={"cpu": 2, "memory": 1024, "ephemeralStorage": "1e9"}),
        manifests.tool(service={"name": "records", "path": "/lookup"}),
        manifests.tool(command=["a"], parameters={"type": "object", "properties": {"a": {}}}),
        manifests.session(owner={"app": "web", "user": "alice"}, toolspecs=[], toolConfig={"a": [1]}),
    ),
)
def test_what_the_model_takes_the_schema_takes(manifest: dict[str, Any]) -> None:
    parsing.parse(manifest)

    assert not list(conformance.objections(manifest, SCHEMAS[manifest["kind"]]))


@pytest.mark.parametrize(
    "manifest",
    (
        manifests.call(session="Work"),
        manifests.call(tool="-x"),
        manifests.call(env={"A": "\0"}),
        manifests.call(env={"A": "x" * 32_769}),
        manifests.call(args=[1]),
        manifests.call(args=["a"] * 1025),
        manifests.call(timeout="10 minutes"),
        manifests.call(mode="async"),
        manifests.call(streamTokenHash="x"),
        manifests.call(ttlSecondsAfterFinished=-1),
        manifests.call(preDispatchSnapshot={"sessionUID": "u", "turnIndex": -1, "sequence": 0}),
        manifests.call(arguments=[]),
        manifests.call(timout="1s"),
        manifests.credential({"header": {"name": "X Y"}}),
        manifests.credential({"envVar": "A"}, type="other"),
        manifests.session_class(resources={"cpu": "1", "memory": "1Gi"}),
        manifests.session_class(resources={**manifests.RESOURCES, "memory": "-1"}),
        manifests.session_class(sandbox={"kind": "microvm"}),
        manifests.session_class(tools=[{"name": "a", "command": ["a"]}] * 2),
        manifests.session(owner={"app": "web/x", "user": "a"}),
    ),
)
def test_what_the_schema_refuses_the_model_refuses(manifest: dict[str, Any]) -> None:
    assert list(conformance.objections(manifest, SCHEMAS[manifest["kind"]]))
    with pytest.raises(parsing.Malformed):
        parsing.parse(manifest)


@pytest.mark.parametrize(
    "manifest",
    (
        manifests.call(args=["x" * 131_072]),
        manifests.call(inputArtifacts=[{"artifactRef": "r", "path": "p"}, {"artifactRef": "s", "path": "p"}]),
        manifests.credential({"envVar": "NOT-A-NAME"}),
    ),
)
def test_where_the_schema_is_stricter_the_core_has_a_reason_of_its_own(manifest: dict[str, Any]) -> None:
    assert list(conformance.objections(manifest, SCHEMAS["ToolCall"]))
    parsing.parse(manifest)
