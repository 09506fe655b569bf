"""What documents ask of a cluster: which objects, in which order, without what only a cluster can say."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml

from toolcall_operator.cli import wanted
from toolcall_operator.cli.wanted import Wish
from toolcall_operator.local.manifests import Document
from toolcall_operator.local.yamlnodes import Positions

OURS = "agentprimitives.authzed.com/v1alpha1"


def an_object(kind: str, name: str, api_version: str = OURS, **metadata: object) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": {}}


def asked(*raws: object) -> Wish:
    return wanted.wish([Document("calls.yaml", line, raw, at(line)) for line, raw in enumerate(raws, 1)], "team")


def at(line: int) -> Positions:
    """The positions of a document that begins on that line, and whose fields nobody knows."""
    return Positions(yaml.ScalarNode("", "", yaml.Mark("", 0, line - 1, 0, "", 0)))


def test_namespaces_come_first_and_calls_last_and_what_calls_need_in_between() -> None:
    wish = asked(
        an_object("ToolCall", "first"),
        an_object("ToolCall", "second"),
        an_object("SpiceboxSession", "session"),
        an_object("SpiceboxClass", "class"),
        an_object("Secret", "secret", "v1"),
        an_object("Namespace", "namespace", "v1"),
        an_object("Deployment", "deployment", "apps/v1"),
    )

    names = [each.metadata["name"] for each in wish.objects]
    assert names == ["namespace", "secret", "deployment", "class", "session", "first", "second"]
    assert [each.metadata["name"] for each in wish.calls] == ["first", "second"]


@pytest.mark.parametrize(
    ("manifest", "namespace"),
    (
        (an_object("ToolCall", "call"), "team"),
        (an_object("ToolCall", "call", namespace="other"), "other"),
        (an_object("ToolCall", "call", namespace=None), "team"),
        (an_object("SpiceboxSession", "session"), "team"),
        (an_object("SpiceboxClass", "class"), None),
        (an_object("Namespace", "class", "v1"), None),
    ),
)
def test_a_call_that_names_no_namespace_is_in_the_one_of_the_run(
    manifest: dict[str, Any], namespace: str | None
) -> None:
    (each,) = asked(manifest).objects

    assert each.metadata.get("namespace") == namespace


def test_an_object_of_a_cluster_can_be_applied_to_another_one() -> None:
    exported = an_object(
        "ToolCall",
        "call",
        uid="of-there",
        resourceVersion="7",
        creationTimestamp="2026-01-01T00:00:00Z",
        managedFields=[{}],
        labels={"kept": "yes"},
    )

    (each,) = asked(exported | {"status": {"finished": True}}).objects

    assert each.manifest == an_object("ToolCall", "call", namespace="team", labels={"kept": "yes"})


def test_a_name_that_is_left_to_be_generated_is_chosen_once() -> None:
    generated = an_object("ToolCall", "x", generateName="step-")
    del generated["metadata"]["name"]

    first, second = asked(generated, generated).objects

    assert first.metadata["name"].startswith("step-")
    assert first.metadata["name"] != second.metadata["name"]
    assert "generateName" not in first.metadata


@pytest.mark.parametrize(
    ("raw", "told"),
    (
        ("text", "calls.yaml:1: error: must be an object with apiVersion, kind, metadata and spec"),
        ({"kind": "ToolCall"}, "calls.yaml:1: error: apiVersion is required"),
        (an_object("ToolCall", "x") | {"kind": 7}, "calls.yaml:1: error: kind must be text"),
        (an_object("ToolCall", "x") | {"metadata": None}, "calls.yaml:1: error: metadata must be an object"),
        (an_object("ToolCall", "x") | {"metadata": {}}, "calls.yaml:1: error: metadata.name is required"),
        (an_object("ToolCall", "x") | {"spec": math.nan}, "calls.yaml:1: error: holds something that JSON has no form"),
    ),
)
def test_a_document_that_cannot_be_sent_is_told_and_the_others_are_wanted(raw: object, told: str) -> None:
    wish = asked(raw, an_object("ToolCall", "fine"))

    assert str(wish.findings[0]).startswith(told)
    assert [each.metadata["name"] for each in wish.objects] == ["fine"]


def test_of_two_objects_of_one_name_the_first_counts() -> None:
    wish = asked(
        an_object("ToolCall", "same", labels={"first": ""}),
        an_object("ToolCall", "same", namespace="team"),
        an_object("ToolCall", "same", namespace="other"),
        an_object("SpiceboxSession", "same"),
    )

    assert [str(finding) for finding in wish.findings] == [
        "calls.yaml:2: error: metadata.name is taken by the object at calls.yaml:1"
    ]
    assert len(wish.objects) == 3
