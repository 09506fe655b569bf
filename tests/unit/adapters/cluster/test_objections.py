"""What the API server's refusals say of a manifest; the bodies are Kubernetes' own, but for their length."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcall_operator import errors
from toolcall_operator.adapters.cluster import objections
from toolcall_operator.adapters.cluster.objections import NotTaken
from toolcall_operator.adapters.cluster.refusals import Refusal

UNCHECKED = "Invalid value: null: some validation rules were not checked because the object was invalid"


def body(message: str, *causes: tuple[str, str]) -> bytes:
    details = {"causes": [{"field": field, "message": text} for field, text in causes]}
    said: dict[str, Any] = {"kind": "Status", "message": message, **({"details": details} if causes else {})}
    return json.dumps(said).encode()


CASES = {
    "a rule of the kind": (
        422,
        body("it is invalid", ("spec.args", "Invalid value: args cannot be changed: it is settled")),
        ["spec.args args cannot be changed: it is settled"],
    ),
    "a rule of the kind about several fields, which names the one it means": (
        422,
        body("it is invalid", ("spec", "Invalid value: spec.args cannot be changed: it is settled")),
        ["spec.args cannot be changed: it is settled"],
    ),
    "several fields, and a rule that was not checked": (
        422,
        body(
            "it is invalid",
            ("spec.timeout", "Invalid value: \"10 minutes\": spec.timeout in body should match '^a:b$'"),
            ("spec.mode", 'Unsupported value: "batch": supported values: "sync", "stream"'),
            ("spec.stdin", "Too long: may not be more than 1048576 bytes"),
            ("<nil>", UNCHECKED),
        ),
        [
            "spec.timeout should match '^a:b$'",
            'spec.mode supported values: "sync", "stream"',
            "spec.stdin Too long: may not be more than 1048576 bytes",
        ],
    ),
    "a field there is none": (
        500,
        body("failed to create typed patch object (/b; v1, Kind=ToolCall): .spec.sesion: field not declared in schema"),
        ["spec.sesion field not declared in schema"],
    ),
    "a value of another type": (
        500,
        body("failed to create typed patch object (/b; v1, Kind=ToolCall): .spec.args[0]: expected string, got &{1}"),
        ["spec.args[0] expected string"],
    ),
    "a field that somebody else owns": (
        409,
        body("Apply failed with 1 conflict", (".spec.tool", 'conflict with "kubectl" using v1')),
        ['spec.tool was set by "kubectl" to something else'],
    ),
    "a namespace there is none": (404, body('namespaces "x" not found'), ['namespaces "x" not found']),
    "an object that is too large": (
        500,
        body("etcdserver: request is too large"),
        ["etcdserver: request is too large"],
    ),
    "a body that says nothing": (403, b"no", ["is refused with HTTP 403"]),
}


@pytest.mark.parametrize(("status", "answer", "told"), CASES.values(), ids=CASES.keys())
def test_what_is_wrong_with_a_manifest_is_told_by_its_fields(status: int, answer: bytes, told: list[str]) -> None:
    error = objections.error(Refusal.parse(status, answer))

    assert isinstance(error, NotTaken)
    assert [str(objection) for objection in error.objections] == told


@pytest.mark.parametrize(
    "value",
    ('"hunter2"', '"a \\"hunter2\\" b"', '{"k":"hunter2"}', '["hunter2"]'),
    ids=("text", "text with quotes", "an object", "a list"),
)
def test_no_value_of_a_manifest_is_told(value: str) -> None:
    error = objections.error(
        Refusal.parse(422, body("it is invalid", ("spec.env", f"Invalid value: {value}: must be short")))
    )

    assert str(error) == "spec.env must be short"


@pytest.mark.parametrize("status", (401, 429, 500, 503, 504))
def test_what_is_wrong_with_the_server_is_not_held_against_the_manifest(status: int) -> None:
    error = objections.error(Refusal.parse(status, body("not now")))

    assert type(error) is errors.Unavailable
    assert str(error) == f"the API server answers with HTTP {status}: not now"


def test_no_text_can_command_a_terminal_or_fill_it() -> None:
    error = objections.error(Refusal.parse(422, body("it is invalid", ("spec.x", "\x1b[2J" + "long " * 1000))))

    assert str(error).isprintable()
    assert len(str(error)) < 300
