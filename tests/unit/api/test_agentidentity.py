"""What an AgentIdentity may say."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.api import conformance, manifests
from toolcall_operator.api import crds, parsing
from toolcall_operator.api.agentidentity import AgentIdentity, AgentIdentitySpec

SCHEMA = next(crds.schema(kind) for kind in crds.KINDS if kind.model is AgentIdentity)
ONE_BLOCK = "needs exactly one of static, oauth and githubApp, the one its type names"
STATIC = manifests.static_credential()
OAUTH = {"name": "mail", "type": "oauth", "oauth": {"secretRef": {"name": "mail"}}}
GITHUB_APP = {
    "name": "app",
    "type": "githubApp",
    "githubApp": {"secretRef": {"name": "app"}, "repositories": ["docs"], "permissions": {"contents": "read"}},
}
WHOLE = manifests.agent_identity(
    description="Writes release notes.",
    refreshThreshold="5m",
    credentials=[{**STATIC, "allowedHosts": ["*.forge.example", "forge.example:8443"]}, OAUTH, GITHUB_APP],
)


def spec(manifest: dict[str, Any]) -> AgentIdentitySpec:
    read = parsing.parse(manifest)
    assert isinstance(read, AgentIdentity)
    return read.spec


def problems(*credentials: Any, **fields: Any) -> dict[str, str]:  # noqa: ANN401 (fields of a manifest)
    manifest = manifests.agent_identity(credentials=list(credentials), **fields)
    with pytest.raises(parsing.Malformed) as malformed:
        parsing.parse(manifest)
    return {problem.path: problem.message for problem in malformed.value.problems}


def test_every_field_is_taken_by_the_model_and_by_the_schema_alike() -> None:
    read = spec(WHOLE)

    assert list(conformance.objections(WHOLE, SCHEMA)) == []
    assert [(each.name, each.type) for each in read.credentials] == [
        ("forge", "static"),
        ("mail", "oauth"),
        ("app", "githubApp"),
    ]
    assert read.refresh_threshold == timedelta(minutes=5)


def test_an_identity_may_have_no_credentials_yet() -> None:
    assert spec(manifests.agent_identity()).credentials == ()


def test_a_whole_identity_comes_back_as_it_was_written() -> None:
    assert parsing.parse(WHOLE).to_manifest() == WHOLE


@pytest.mark.parametrize(
    "credential",
    (
        {"name": "a", "type": "static"},
        {"name": "a", "type": "oauth", "static": STATIC["static"]},
        {**STATIC, "oauth": OAUTH["oauth"]},
        {**GITHUB_APP, "static": STATIC["static"], "oauth": OAUTH["oauth"]},
    ),
    ids=("without a block", "with the block of another type", "with two blocks", "with three"),
)
def test_a_credential_has_the_block_of_its_type_and_no_other(credential: dict[str, Any]) -> None:
    manifest = manifests.agent_identity(credentials=[credential])

    assert problems(credential) == {"spec.credentials[0]": ONE_BLOCK}
    assert [each.keyword for each in conformance.objections(manifest, SCHEMA)] == [f"a credential {ONE_BLOCK}"]


def test_two_credentials_of_one_name_are_refused() -> None:
    assert problems(STATIC, {**OAUTH, "name": "forge"}).keys() == {"spec.credentials"}


@pytest.mark.parametrize(
    ("credential", "path"),
    (
        ({**STATIC, "name": ""}, "spec.credentials[0].name"),
        ({**STATIC, "name": "a b"}, "spec.credentials[0].name"),
        ({**STATIC, "type": "federated"}, "spec.credentials[0].type"),
        ({**STATIC, "static": {"secretRef": {"name": "a"}}}, "spec.credentials[0].static.secretRef.key"),
        ({**STATIC, "static": {"secretRef": {"name": "A", "key": "k"}}}, "spec.credentials[0].static.secretRef.name"),
        ({**STATIC, "value": "hunter2-hunter2"}, "spec.credentials[0].value"),
        ({**STATIC, "allowedHosts": ["https://forge.example"]}, "spec.credentials[0].allowedHosts[0]"),
        (
            {**GITHUB_APP, "githubApp": {"secretRef": {"name": "app"}, "permissions": {"contents": "all"}}},
            "spec.credentials[0].githubApp.permissions.contents",
        ),
    ),
)
def test_a_credential_that_says_too_little_or_what_there_is_not_is_told_the_field(
    credential: dict[str, Any], path: str
) -> None:
    found = problems(credential)

    assert found.keys() == {path}
    assert "hunter2" not in str(found)


def test_access_tokens_are_renewed_a_week_before_their_end_at_most() -> None:
    assert problems(refreshThreshold="169h") == {"spec.refreshThreshold": "must be at most 168h"}
