"""From a document to an object, or to everything that is wrong with it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.api import manifests
from toolcall_operator.api import parsing
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.api.toolcall import ToolCall

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers() | st.booleans(), inner, max_size=3)
    ),
    max_leaves=10,
)
OURS = "must be ToolCall or SpiceboxClass or SpiceboxSession or SpiceboxToolkit or SpiceboxToolspec or AgentIdentity"
FIELDS = st.sampled_from(
    ["session", "tool", "args", "env", "stdin", "timeout", "credentials", "arguments", "cancel", "mode", "x"]
)


def malformed(raw: object) -> parsing.Malformed:
    with pytest.raises(parsing.Malformed) as refusal:
        parsing.parse(raw)
    return refusal.value


@pytest.mark.parametrize(
    ("manifest", "kind"),
    (
        (manifests.call(), ToolCall),
        (manifests.session_class(), SpiceboxClass),
        (manifests.session(), SpiceboxSession),
        (manifests.toolkit(), SpiceboxToolkit),
        (manifests.toolspec(), SpiceboxToolspec),
        (manifests.agent_identity(), AgentIdentity),
    ),
    ids=["ToolCall", "SpiceboxClass", "SpiceboxSession", "SpiceboxToolkit", "SpiceboxToolspec", "AgentIdentity"],
)
def test_a_document_becomes_an_object_of_its_kind(manifest: dict[str, Any], kind: type) -> None:
    assert isinstance(parsing.parse(manifest), kind)


def test_all_problems_are_told_at_once_in_the_order_of_the_document() -> None:
    error = malformed(
        {
            "kind": "ToolCall",
            "spec": {"timout": "1s", "env": {"B": 1, "A": "\0"}, "args": ["a", 2, True], "mode": "x", "tool": "echo"},
            "metadata": {"labels": {"a": 1}},
            "extra": 1,
        }
    )

    assert [problem.path for problem in error.problems] == [
        "spec.timout",
        "spec.env.B",
        "spec.env.A",
        "spec.args[1]",
        "spec.args[2]",
        "spec.mode",
        "spec.session",
        "metadata.labels.a",
        "metadata.name",
        "extra",
        "apiVersion",
    ]


def test_the_error_carries_what_can_be_known_of_the_object() -> None:
    error = malformed({**manifests.call(mode="x"), "metadata": {"name": "one"}})

    assert (error.kind, error.name) == ("ToolCall", "one")
    assert str(error) == "spec.mode must be 'sync', 'stream' or 'interactive'"


@pytest.mark.parametrize(
    ("raw", "problems"),
    (
        (None, {"": "must be an object with apiVersion, kind, metadata and spec"}),
        ("text", {"": "must be an object with apiVersion, kind, metadata and spec"}),
        ([], {"": "must be an object with apiVersion, kind, metadata and spec"}),
        ({}, {"apiVersion": "is required", "kind": "is required"}),
        (
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}},
            {
                "apiVersion": "must be agentprimitives.authzed.com/v1alpha1",
                "kind": OURS,
            },
        ),
        (
            {**manifests.call(), "apiVersion": "agentprimitives.authzed.com/v2"},
            {"apiVersion": "must be agentprimitives.authzed.com/v1alpha1"},
        ),
        ({**manifests.call(), "kind": ["ToolCall"]}, {"kind": OURS}),
        ({**manifests.call(), "metadata": {}}, {"metadata.name": "is required"}),
        ({**manifests.call(), "metadata": None, "spec": None}, {"metadata": "is required", "spec": "is required"}),
        ({**manifests.call(), "spec": []}, {"spec": "must be an object"}),
    ),
)
def test_a_document_that_is_none_of_ours_is_told_so(raw: object, problems: dict[str, str]) -> None:
    assert {problem.path: problem.message for problem in malformed(raw).problems} == problems


@pytest.mark.parametrize(
    ("spec", "path", "meant"),
    (
        ({"timout": "1s"}, "spec.timout", "timeout"),
        ({"stream_token_hash": "a"}, "spec.stream_token_hash", "streamTokenHash"),
        ({"Stdin": "a"}, "spec.Stdin", "stdin"),
        ({"workspace": {"shareClaimName": "a"}}, "spec.workspace.shareClaimName", "sharedClaimName"),
        ({"inputArtifacts": [{"artifactRef": "a", "path": "b", "pth": "c"}]}, "spec.inputArtifacts[0].pth", "path"),
    ),
)
def test_an_unknown_field_is_told_with_the_one_that_may_be_meant(spec: dict[str, Any], path: str, meant: str) -> None:
    (problem,) = malformed(manifests.call(**spec)).problems

    assert (problem.path, problem.message) == (path, f"is not a known field; did you mean {meant}?")


def test_an_unknown_field_that_is_like_no_other_is_told_without_a_guess() -> None:
    (problem,) = malformed(manifests.call(zzz=1)).problems

    assert problem.message == "is not a known field"


@pytest.mark.parametrize(
    "spec",
    (
        {"env": {"TOKEN": ["hunter2"]}},
        {"env": {"TOKEN": "hunter2\0"}},
        {"args": ["hunter2\0", {"hunter2": 1}]},
        {"stdin": ["hunter2"]},
        {"stdin": "hunter2" + "x" * 2**20},
        {"arguments": "hunter2"},
        {"credentials": [{"inject": "hunter2", "source": "hunter2"}]},
        {"streamTokenHash": "hunter2"},
        {"timeout": "hunter2"},
        {"mode": "hunter2"},
        {"tool": "hunter 2 hunter2"},
    ),
)
def test_no_message_repeats_a_value(spec: dict[str, Any]) -> None:
    error = malformed(manifests.call(**spec))

    assert "hunter2" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None


def test_a_spec_that_would_not_fit_into_the_cluster_is_refused_whole() -> None:
    (problem,) = malformed(manifests.call(stdin="x" * 2**20, args=["y" * 10**5] * 3)).problems

    assert problem.path == "spec"
    assert problem.message.startswith("must be at most 1.2 MiB as JSON (1258291 bytes), and is 1348")


def test_names_in_a_path_are_quoted_where_they_are_no_plain_words_and_cut_where_they_are_endless() -> None:
    error = malformed(manifests.call(env={"a.b": 1, "c d": 2, "\n": 3, "x" * 10_000: 4}))

    assert [problem.path for problem in error.problems] == [
        'spec.env["a.b"]',
        'spec.env["c d"]',
        'spec.env["\\n"]',
        f'spec.env["{"x" * 256}"]',
    ]


def test_the_attributes_of_python_are_no_fields_of_a_manifest() -> None:
    (problem,) = malformed(manifests.session_class(runtime_class_name="kata")).problems

    assert problem.path == "spec.runtime_class_name"


def test_lists_are_flattened_and_empty_documents_passed_over() -> None:
    one, two, three = manifests.call(), manifests.session(), manifests.session_class()
    inner = {"apiVersion": "v1", "kind": "List", "items": [two, None]}

    assert list(parsing.documents({"kind": "ToolCallList", "items": [one, inner, three]})) == [one, two, three]
    assert list(parsing.documents(one)) == [one]
    assert list(parsing.documents(None)) == []


def test_a_list_without_items_is_a_document_that_is_none_of_ours() -> None:
    (document,) = parsing.documents({"kind": "List", "items": "none"})

    assert "kind" in {problem.path for problem in malformed(document).problems}


@given(st.dictionaries(FIELDS, JSON))
def test_any_spec_is_an_object_or_a_list_of_plain_problems(spec: dict[str, Any]) -> None:
    try:
        parsed = parsing.parse(manifests.call(**spec))
    except parsing.Malformed as error:
        messages = [problem.message for problem in error.problems]
        assert messages
        assert "is not valid" not in messages
    else:
        assert isinstance(parsed, ToolCall)


@given(JSON)
def test_any_document_is_an_object_or_malformed(raw: object) -> None:
    for document in parsing.documents(raw):
        with pytest.raises(parsing.Malformed):
            parsing.parse(document)
