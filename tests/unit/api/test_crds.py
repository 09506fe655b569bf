"""The CRDs: structural, bounded, described, and of one mind with the models."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.api import conformance, manifests, values
from toolcall_operator.api import crds, parsing, schema, structural
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
        "SpiceboxToolkit": ("Cluster", "spiceboxtoolkits", ["sbxtk"], categories),
        "SpiceboxToolspec": ("Cluster", "spiceboxtoolspecs", ["sbxtsp"], categories),
        "AgentIdentity": ("Namespaced", "agentidentities", ["agid"], categories),
    }


def test_finished_calls_can_be_selected() -> None:
    (version,) = DEFINITIONS["ToolCall"]["spec"]["versions"]

    assert version["selectableFields"] == [{"jsonPath": ".status.finished"}]
    assert version["subresources"] == {"status": {}}


def test_every_field_of_a_call_but_cancel_is_unchangeable() -> None:
    spec = SCHEMAS["ToolCall"]["properties"]["spec"]
    (rule,) = (rule["rule"] for rule in spec["x-kubernetes-validations"] if "oldSelf" in rule["rule"])
    kept = set(re.findall(r"has\(self\.(\w+)\) == has\(oldSelf\.\1\)", rule))

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
        manifests.session_class(
            resources={"cpu": 2, "memory": 1024, "ephemeralStorage": "1e9", "pidsLimit": 4_194_304}
        ),
        manifests.session_class(terminationGracePeriod="168h"),
        manifests.tool(service={"name": "records", "path": "/lookup"}),
        manifests.tool(command=["a"], parameters={"type": "object", "properties": {"a": {}}}),
        manifests.session(owner={"app": "web", "user": "alice"}, toolspecs=[], toolConfig={"a": [1]}),
        manifests.toolkit(subcommands=[manifests.subcommand("a", "b", flags=[{"short": "C", "type": "path"}])]),
        manifests.toolspec(allow={"network": {"destinations": []}}, exceptions=[{}], constraints=[{}]),
        manifests.agent_identity(refreshThreshold="168h", credentials=[manifests.static_credential()]),
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
        manifests.session_class(resources={**manifests.RESOURCES, "memory": -1}),
        manifests.session_class(resources={**manifests.RESOURCES, "memory": "0.5"}),
        manifests.session_class(resources={**manifests.RESOURCES, "memory": "5Pi"}),
        manifests.session_class(resources={**manifests.RESOURCES, "cpu": -1}),
        manifests.session_class(resources={**manifests.RESOURCES, "cpu": "1u"}),
        manifests.session_class(resources={**manifests.RESOURCES, "pidsLimit": 4_194_305}),
        manifests.session_class(terminationGracePeriod="168h1ms"),
        manifests.session_class(terminationGracePeriod="1.0005s"),
        manifests.session_class(sessionDefaults={"idleTTL": "2562048h"}),
        manifests.session_class(writablePaths=["/a", "/a"]),
        manifests.tool(command=[""]),
        manifests.call(env={"A": "é" * 16_385}),
        manifests.call(stdin="é" * 524_289),
        manifests.session_class(sandbox={"kind": "microvm"}),
        manifests.session_class(tools=[{"name": "a", "command": ["a"]}] * 2),
        manifests.session(owner={"app": "web/x", "user": "a"}),
        manifests.toolkit(parser={"kind": "regex"}),
        manifests.toolkit(env={"allowed": [{"name": "A"}] * 2}),
        manifests.toolkit(globalFlags=[{"long": "a", "type": "float"}]),
        manifests.toolkit(globalFlags=[{"long": "--a", "type": "bool"}]),
        manifests.toolkit(globalFlags=[{"short": "ab", "type": "bool"}]),
        manifests.toolkit(globalFlags=[{"long": "a", "type": "stringList", "arity": 0}]),
        manifests.toolkit(subcommands=[manifests.subcommand("--a")]),
        manifests.toolspec(allowSubcommands=None),
        manifests.session_class(allowedEnvNames=["A", "A"]),
        manifests.toolspec(toolkit={"name": "say"}),
        manifests.toolspec(deny={"effects": {"reads": ["disk"]}}),
        manifests.agent_identity(credentials=[manifests.static_credential()] * 2),
        manifests.agent_identity(credentials=[manifests.static_credential(type="oauth")]),
        manifests.agent_identity(credentials=[{"name": "a", "type": "static"}]),
        manifests.agent_identity(refreshThreshold="168h1ms"),
    ),
)
def test_what_the_schema_refuses_the_model_refuses(manifest: dict[str, Any]) -> None:
    assert list(conformance.objections(manifest, SCHEMAS[manifest["kind"]]))
    with pytest.raises(parsing.Malformed):
        parsing.parse(manifest)


MARKED = {kind.name: structural.marked(kind.model) for kind in crds.KINDS}
SMALLEST = {
    "ToolCall": manifests.call(),
    "SpiceboxClass": manifests.session_class(),
    "SpiceboxSession": manifests.session(),
    "SpiceboxToolkit": manifests.toolkit(),
    "SpiceboxToolspec": manifests.toolspec(),
    "AgentIdentity": manifests.agent_identity(),
}


@EVERY_KIND
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(data=st.data())
def test_the_schema_and_the_model_accept_the_same_but_for_what_is_marked(kind: str, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from(["spec", "spec", "spec", "status"]))
    node = MARKED[kind]["properties"][part]
    field = data.draw(st.sampled_from(sorted(node["properties"])))
    smallest = SMALLEST[kind]
    value = data.draw(values.of(node["properties"][field]))
    manifest = {**smallest, part: {**smallest.get(part, {}), field: value}}

    objections = list(conformance.objections(manifest, MARKED[kind]))

    if all(objection.stricter for objection in objections):
        parsing.parse(manifest)
    else:
        with pytest.raises(parsing.Malformed):
            parsing.parse(manifest)


LONG, NO_NAME = "x" * 131_072, "NOT-A-NAME"
NO_NAMES = {"pattern": NO_NAME, "maxLength": "A" * 257}
TOKEN_HASH_IS_MISSING = "streamTokenHash is required when mode is stream or interactive"
STRICTER = {
    ("ToolCall", "spec.args[]", "maxLength"): manifests.call(args=[LONG]),
    ("ToolCall", "spec.inputArtifacts", "x-kubernetes-list-map-keys"): manifests.call(
        inputArtifacts=[{"artifactRef": "r", "path": "p"}, {"artifactRef": "s", "path": "p"}]
    ),
    ("ToolCall", "spec.credentials[].inject.envVar", "pattern"): manifests.credential({"envVar": NO_NAME}),
    ("ToolCall", "spec.credentials[].inject.envVar", "maxLength"): manifests.credential({"envVar": "A" * 257}),
    ("ToolCall", "spec", TOKEN_HASH_IS_MISSING): manifests.call(mode="stream"),
    ("ToolCall", "spec", "maxDuration can be set only when mode is interactive"): manifests.call(maxDuration="1s"),
    ("ToolCall", "spec", "idleTimeout can be set only when mode is interactive"): manifests.call(idleTimeout="1s"),
    ("SpiceboxClass", "spec.tools[].command[]", "maxLength"): manifests.tool(command=["a", LONG]),
    ("SpiceboxClass", "spec.tools[].defaultArgs[]", "maxLength"): manifests.tool(command=["a"], defaultArgs=[LONG]),
    ("SpiceboxClass", "spec.allowedEnvNames[]", "pattern"): manifests.session_class(allowedEnvNames=[NO_NAME]),
    ("SpiceboxClass", "spec.allowedEnvNames[]", "maxLength"): manifests.session_class(allowedEnvNames=["A" * 257]),
    ("SpiceboxToolkit", "spec.target.versionProbe.args[]", "maxLength"): manifests.toolkit(
        target={"binary": "say", "versionProbe": {"args": [LONG], "extract": {"kind": "line1"}}}
    ),
    **{
        ("SpiceboxToolkit", "spec.env.allowed[].name", keyword): manifests.toolkit(env={"allowed": [{"name": name}]})
        for keyword, name in NO_NAMES.items()
    },
    **{
        ("SpiceboxToolkit", f"spec.subcommands[].effects.creds.{part}[]", keyword): manifests.toolkit(
            subcommands=[
                manifests.subcommand(
                    effects={**manifests.EFFECTS, "creds": {"required": [], "writes": [], part: [name]}}
                )
            ]
        )
        for part in ("required", "writes")
        for keyword, name in NO_NAMES.items()
    },
    **{
        ("SpiceboxToolspec", "spec.allow.creds.required[]", keyword): manifests.toolspec(
            allow={"creds": {"required": [name]}}
        )
        for keyword, name in NO_NAMES.items()
    },
}


@pytest.mark.parametrize("difference", STRICTER, ids=" ".join)
def test_where_the_schema_is_stricter_the_core_has_a_reason_of_its_own(difference: tuple[str, str, str]) -> None:
    kind, path, keyword = difference

    (objection,) = conformance.objections(STRICTER[difference], MARKED[kind])

    assert (re.sub(r"\[\d+\]", "[]", objection.path), objection.keyword, objection.stricter) == (path, keyword, True)
    parsing.parse(STRICTER[difference])


def test_every_mark_has_its_example() -> None:
    found = {
        (kind, path.removeprefix(f"{kind}."), keyword)
        for kind, schema in MARKED.items()
        for path, node in nodes(schema, kind)
        for keyword in marks(node)
        if ".status" not in path  # what a session keeps of its class was judged when the class was
    }

    assert found == STRICTER.keys()


def marks(node: dict[str, Any]) -> Iterator[str]:
    """The keywords, and the messages of the rules, that are marked; of a keyed list, its keys."""
    yield from set(node.get(schema.STRICTER, ())) - {"x-kubernetes-list-type"}
    yield from (rule["message"] for rule in node.get(schema.RULES, ()) if schema.STRICTER in rule)


@EVERY_KIND
def test_no_mark_is_left_in_a_crd(kind: str) -> None:
    assert schema.STRICTER not in str(DEFINITIONS[kind])
