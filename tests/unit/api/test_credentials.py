"""How a call may name the credentials it needs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.api import conformance, manifests
from toolcall_operator.api import crds, parsing
from toolcall_operator.api.credentials import Credential
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import status

SCHEMA = next(crds.schema(kind) for kind in crds.KINDS if kind.model is ToolCall)
PATH = "spec.credentials[0]"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

SOURCE = {**manifests.STATIC, "key": "token"}
VARIABLE = {"envVar": "GH_TOKEN"}
HEADER = {"header": {"name": "Authorization", "valuePrefix": "Bearer "}}
IDENTITY = {"name": "bot", "credential": "forge"}
ONE_PLACE = "needs exactly one of envVar and header"
ONE_ORIGIN = "needs exactly one of source and identity"

WHOLE = (
    {"inject": VARIABLE, "source": SOURCE},
    {"inject": HEADER, "source": {"type": "oauth", "namespace": "default", "name": "mail"}},
    {
        "inject": {"envVar": "A"},
        "source": {
            "type": "federated",
            "namespace": "default",
            "name": "idp",
            "resource": "https://mail.example",
            "resourceServerURL": "https://mail.example/",
            "scopes": ["mail"],
        },
    },
    {
        "inject": {"envVar": "B"},
        "source": {
            "type": "githubApp",
            "namespace": "default",
            "name": "app",
            "repositories": ["docs", ".github"],
            "permissions": {"contents": "read", "issues": "write", "members": "admin"},
        },
    },
    {"inject": {"envVar": "C"}, "identity": IDENTITY},
)


def asking(*credentials: dict[str, Any]) -> dict[str, Any]:
    return manifests.call(credentials=list(credentials))


def problems(*credentials: dict[str, Any]) -> dict[str, str]:
    """By field, what is wrong; nothing that looks like a secret shows."""
    with pytest.raises(parsing.Malformed) as malformed:
        parsing.parse(asking(*credentials))
    assert "hunter2" not in f"{malformed.value} {malformed.value!r}"
    return {problem.path: problem.message for problem in malformed.value.problems}


def read(*credentials: dict[str, Any]) -> tuple[Credential, ...]:
    found = parsing.parse(asking(*credentials))
    assert isinstance(found, ToolCall)
    return found.spec.credentials


def test_every_field_is_taken_by_the_model_and_by_the_schema_alike() -> None:
    assert list(conformance.objections(asking(*WHOLE), SCHEMA)) == []
    assert parsing.parse(asking(*WHOLE)).to_manifest() == asking(*WHOLE)


def test_what_is_not_written_is_nothing() -> None:
    (found,) = read({"inject": {"header": {"name": "X-Token"}}, "source": manifests.STATIC})

    assert found.identity is None
    assert found.inject.header is not None
    assert found.inject.header.value_prefix == ""
    assert found.source is not None
    assert (found.source.key, found.source.resource, found.source.resource_server_url) == (None, None, None)
    assert (found.source.scopes, found.source.repositories, dict(found.source.permissions)) == ((), (), {})


@pytest.mark.parametrize(
    "inject", ({}, VARIABLE | HEADER, {"envVar": None, "header": None}), ids=("neither", "both", "null twice")
)
def test_a_credential_that_goes_to_no_one_place_is_refused_naming_inject(inject: dict[str, Any]) -> None:
    asked = {"inject": inject, "source": SOURCE}

    assert problems(asked) == {f"{PATH}.inject": ONE_PLACE}
    if None not in inject.values():  # those the API server drops before it judges
        found = conformance.objections(asking(asked), SCHEMA)
        assert [(each.path, each.keyword) for each in found] == [(f"{PATH}.inject", f"inject {ONE_PLACE}")]


@pytest.mark.parametrize("inject", ({}, VARIABLE | HEADER), ids=("neither", "both"))
def test_such_a_call_in_a_file_ends_malformed_naming_inject(inject: dict[str, Any]) -> None:
    manifest = asking({"inject": inject, "source": SOURCE})
    with pytest.raises(parsing.Malformed) as malformed:
        parsing.parse(manifest)

    ended = status.malformed(manifest, [str(each) for each in malformed.value.problems], NOW)

    found = next(each for each in ended.conditions if each.type == "Failed")
    assert (found.status, found.reason) == ("True", "MalformedObject")
    assert found.message == f"{PATH}.inject {ONE_PLACE}"


@pytest.mark.parametrize("origin", ({}, {"source": SOURCE, "identity": IDENTITY}), ids=("neither", "both"))
def test_a_credential_comes_from_exactly_one_origin(origin: dict[str, Any]) -> None:
    asked = {"inject": VARIABLE, **origin}

    assert problems(asked) == {PATH: ONE_ORIGIN}
    assert [each.keyword for each in conformance.objections(asking(asked), SCHEMA)] == [f"a credential {ONE_ORIGIN}"]


def of_app(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a source)
    return {"inject": VARIABLE, "source": {"type": "githubApp", "namespace": "default", "name": "app", **fields}}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no place": ({"source": SOURCE}, "inject"),
    "a value of its own": ({"inject": VARIABLE, "source": SOURCE, "value": "hunter2"}, "value"),
    "a value beside its source": ({"inject": VARIABLE, "source": {**SOURCE, "value": "hunter2"}}, "source.value"),
    "a value instead of a source": ({"inject": VARIABLE, "source": "hunter2"}, "source"),
    "a value instead of an identity": ({"inject": VARIABLE, "identity": "hunter2"}, "identity"),
    "a type that there is not": ({"inject": VARIABLE, "source": {**SOURCE, "type": "hunter2"}}, "source.type"),
    "no namespace": ({"inject": VARIABLE, "source": {"type": "oauth", "name": "mail"}}, "source.namespace"),
    "no name": ({"inject": VARIABLE, "source": {"type": "oauth", "namespace": "default"}}, "source.name"),
    "a name that no Secret has": ({"inject": VARIABLE, "source": {**SOURCE, "name": "../mail"}}, "source.name"),
    "a key that no Secret has": ({"inject": VARIABLE, "source": {**SOURCE, "key": "a/b"}}, "source.key"),
    "an empty key": ({"inject": VARIABLE, "source": {**SOURCE, "key": ""}}, "source.key"),
    "an identity without a credential": ({"inject": VARIABLE, "identity": {"name": "bot"}}, "identity.credential"),
    "a credential of nobody": ({"inject": VARIABLE, "identity": {"credential": "forge"}}, "identity.name"),
    "a name that no credential has": (
        {"inject": VARIABLE, "identity": {**IDENTITY, "credential": "a b"}},
        "identity.credential",
    ),
    "an identity of another namespace": (
        {"inject": VARIABLE, "identity": {**IDENTITY, "namespace": "elsewhere"}},
        "identity.namespace",
    ),
    "a header of no name": ({"inject": {"header": {"name": ""}}, "source": SOURCE}, "inject.header.name"),
    "a header with two lines before the value": (
        {"inject": {"header": {"name": "X-Token", "valuePrefix": "a\r\nX-Other: "}}, "source": SOURCE},
        "inject.header.valuePrefix",
    ),
    "a header with letters beyond ASCII before the value": (
        {"inject": {"header": {"name": "X-Token", "valuePrefix": "Schlüssel "}}, "source": SOURCE},
        "inject.header.valuePrefix",
    ),
    "a repository with its owner": (of_app(repositories=["us/docs"]), "source.repositories[0]"),
    "too many repositories": (of_app(repositories=["docs"] * 101), "source.repositories"),
    "a level of permission that there is not": (
        of_app(permissions={"contents": "all"}),
        "source.permissions.contents",
    ),
    "too many permissions": (
        of_app(permissions={f"p{number}": "read" for number in range(65)}),
        "source.permissions",
    ),
    "too many scopes": (
        {"inject": VARIABLE, "source": {**SOURCE, "type": "federated", "scopes": ["a"] * 65}},
        "source.scopes",
    ),
}


@pytest.mark.parametrize(("asked", "field"), REFUSED.values(), ids=REFUSED.keys())
def test_a_credential_that_says_too_little_or_what_there_is_not_is_told_the_field(
    asked: dict[str, Any], field: str
) -> None:
    assert problems(asked).keys() == {f"{PATH}.{field}"}
    assert list(conformance.objections(asking(asked), SCHEMA)) != []


def test_a_call_may_ask_for_32_credentials() -> None:
    many = [{"inject": {"envVar": f"A{number}"}, "source": SOURCE} for number in range(33)]

    assert len(read(*many[:32])) == 32
    assert problems(*many).keys() == {"spec.credentials"}


def test_a_credential_does_not_change() -> None:
    (found,) = read(of_app(permissions={"contents": "read"}))

    assert found.source is not None
    with pytest.raises(TypeError):
        found.source.permissions["contents"] = "admin"  # type: ignore[index]  # the case
