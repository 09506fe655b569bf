"""What a SpiceboxSession may say."""

from typing import Any

import pytest

from tests.unit.api import manifests
from toolcall_operator.api import crds, parsing
from toolcall_operator.api.spiceboxsession import SpiceboxSession


def parsed(manifest: dict[str, Any]) -> SpiceboxSession:
    read = parsing.parse(manifest)
    assert isinstance(read, SpiceboxSession)
    return read


def problems(manifest: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(parsing.Malformed) as malformed:
        parsing.parse(manifest)
    return {problem.path: problem.message for problem in malformed.value.problems}


def test_the_smallest_session_names_its_class() -> None:
    spec = parsed(manifests.session()).spec

    assert (spec.class_, spec.agent, spec.default_env, spec.owner, spec.scopes) == ("plain", None, {}, None, ())


def test_no_toolspecs_named_is_something_else_than_an_empty_list_of_them() -> None:
    assert parsed(manifests.session()).spec.toolspecs is None
    assert parsed(manifests.session(toolspecs=[])).spec.toolspecs == ()


@pytest.mark.parametrize(
    "owner", ({"app": "web", "user": "alice"}, {"issuer": "https://idp.example/realms/x", "subject": "auth0|123"})
)
def test_an_owner_is_a_user_of_an_application_or_the_subject_of_a_token(owner: dict[str, str]) -> None:
    assert parsed(manifests.session(owner=owner)).to_manifest()["spec"]["owner"] == owner


@pytest.mark.parametrize(
    "owner",
    (
        {},
        {"app": "web"},
        {"user": "alice"},
        {"app": "web", "subject": "s"},
        {"app": "web", "user": "alice", "issuer": "https://idp.example", "subject": "s"},
        {"app": "web", "user": "alice", "issuer": "https://idp.example"},
    ),
)
def test_half_an_owner_or_two_are_refused(owner: dict[str, str]) -> None:
    assert problems(manifests.session(owner=owner)) == {
        "spec.owner": "needs either app and user, or issuer and subject"
    }


@pytest.mark.parametrize(
    ("owner", "part"),
    (
        ({"app": "web/x", "user": "alice"}, "app"),
        ({"app": "web", "user": "al ice"}, "user"),
        ({"app": "web", "user": ""}, "user"),
        ({"issuer": "http://idp.example", "subject": "s"}, "issuer"),
        ({"issuer": "https://idp.example|x", "subject": "s"}, "issuer"),
        ({"issuer": "https://idp.example", "subject": "s" * 256}, "subject"),
    ),
)
def test_an_owner_that_could_be_read_as_another_is_refused(owner: dict[str, str], part: str) -> None:
    assert problems(manifests.session(owner=owner)).keys() == {f"spec.owner.{part}"}


def test_the_class_that_was_resolved_is_a_whole_class() -> None:
    resolved = {**manifests.session(), "status": {"resolvedClass": manifests.session_class()["spec"]}}

    status = parsed(resolved).status

    assert status is not None
    assert status.resolved_class is not None
    assert status.resolved_class.limits.max_concurrent_calls == 64


@pytest.mark.parametrize("field", ("class", "mounts", "toolspecs", "toolConfig"))
def test_what_the_sandbox_was_made_of_and_its_calls_are_judged_by_stays_once_the_session_is_bound(field: str) -> None:
    schema = next(crds.schema(kind) for kind in crds.KINDS if kind.model is SpiceboxSession)

    (rule,) = (rule for rule in schema["x-kubernetes-validations"] if rule["fieldPath"] == f".spec.{field}")

    assert rule["rule"] == (
        "!has(oldSelf.status) || !has(oldSelf.status.resolvedClass) || "
        f"has(self.spec.{field}) == has(oldSelf.spec.{field}) && "
        f"(!has(self.spec.{field}) || self.spec.{field} == oldSelf.spec.{field})"
    )
    assert rule["message"].startswith(f"spec.{field} cannot change any more: ")
