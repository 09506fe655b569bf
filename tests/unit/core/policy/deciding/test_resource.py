"""Which resource a call is about."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.policy.commandline.commandlines import command, named, slot
from tests.unit.core.policy.deciding import decisions
from tests.unit.core.policy.deciding.decisions import GH, GIT, READER
from toolcall_operator.core.policy.commandline import parser
from toolcall_operator.core.policy.commandline.values import CommandLine
from toolcall_operator.core.policy.deciding import resource
from toolcall_operator.core.policy.deciding.effects import UNTOLD


def found(spec: Any, *argv: str, **changed: Any) -> str:  # noqa: ANN401 (fields of a manifest)
    """The id of the resource that a command line is about."""
    kit = decisions.toolkit(spec, **changed)
    line = parser.parse(kit.grammar, argv)
    assert isinstance(line, CommandLine), line
    return resource.resource_id(kit, line)


def asking(id_: dict[str, Any], *variants: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    """Subcommand `get`, which asks for a permission on the resource of this id."""
    return {
        "subcommands": [
            command(
                "get",
                named("--name", "string"),
                named("--count", "int"),
                named("--all"),
                slot("items", "stringList"),
                permission=permission(id_),
                permissionVariants=variants,
            )
        ],
        **more,
    }


def permission(id_: dict[str, Any]) -> dict[str, Any]:
    """A permission on the resource of this id."""
    return {"stateImpact": "readonly", "check": {"resourceType": "thing", "permission": "read", **id_}}


def variant(when: str, id_: dict[str, Any]) -> dict[str, Any]:
    """A permission that counts under a condition."""
    return {"when": when, "check": permission(id_)}


def test_git_and_gh_name_one_repository_in_one_way() -> None:
    address = "https://github.com/acme/x"

    assert found(GIT, "clone", "https://GitHub.com:443/acme/x#readme") == address
    assert found(GH, "pr", "view", "1", "--repo", "Acme/X") == address


def test_a_call_that_is_about_no_resource_has_no_id() -> None:
    assert found(GIT, "status") == ""
    assert found(READER) == ""
    assert found(READER, "get", **asking({"resourceIDTemplate": "workspace"})) == ""


def test_a_resource_that_cannot_be_told_is_not_the_same_as_none() -> None:
    assert found(GH, "pr", "view", "1") == UNTOLD
    assert found(GIT, "clone", "https://github.com/acme/../evil/x") == UNTOLD
    assert found(GIT, "clone", "https://github.com\\@evil.com/acme/x") == UNTOLD


@pytest.mark.parametrize(
    ("template", "argv", "id_"),
    (
        pytest.param("{name}", ("--name", "x"), "x", id="flag"),
        pytest.param("a/{name}/{count}", ("--name", "x", "--count", "5"), "a/x/5", id="several, and a number"),
        pytest.param("{name}", (), UNTOLD, id="absent"),
        pytest.param("{name}", ("--name", ""), UNTOLD, id="empty"),
        pytest.param("{all}", ("--all",), UNTOLD, id="flag without a value"),
        pytest.param("{items}", ("x",), UNTOLD, id="list"),
    ),
)
def test_a_template_is_filled_from_flags_and_arguments(template: str, argv: tuple[str, ...], id_: str) -> None:
    assert found(READER, "get", *argv, **asking({"resourceIDTemplate": template})) == id_


def test_an_expression_sees_flags_arguments_and_the_subcommand() -> None:
    expression = {"resourceIDExpr": "args.subcommand + '/' + args.name + '/' + args.items[0]"}

    assert found(READER, "get", "--name", "x", "y", **asking(expression)) == "get/x/y"
    assert found(READER, "get", "y", **asking(expression)) == UNTOLD


def test_the_first_variant_whose_condition_holds_counts() -> None:
    several = asking(
        {"resourceIDTemplate": "own-{name}"},
        variant("args.name == 'a'", {"resourceIDTemplate": "first-{name}"}),
        variant("args.name in ['a', 'b']", {"resourceIDTemplate": "second-{name}"}),
    )

    assert found(READER, "get", "--name", "a", **several) == "first-a"
    assert found(READER, "get", "--name", "b", **several) == "second-b"
    assert found(READER, "get", "--name", "c", **several) == "own-c"
    assert found(READER, "get", **several) == UNTOLD


def test_the_toolkit_speaks_for_subcommands_that_say_nothing() -> None:
    kit = {
        "subcommands": [command("get", named("--name", "string"))],
        "permission": permission({"resourceIDTemplate": "{name}"}),
    }

    assert found(READER, "get", "--name", "x", **kit) == "x"


@pytest.mark.parametrize(
    ("transform", "text", "made"),
    (
        ("lowercase", "AbC", "abc"),
        ("casefold_identity", "AbC", "abc"),
        ("remove_spaces", " a\tb\r\nc ", "abc"),
        ("basename", "/a/b/", "b"),
        ("normalize_url", "HTTPS://Example.COM:443/A/b?Q=1#x", "https://example.com/A/b?Q=1"),
        ("normalize_url", "http://example.com:443/", "http://example.com:443/"),
        ("normalize_url", "https://user@example.com/a", "https://user@example.com/a"),
        ("normalize_url", "workspace", "workspace"),
        ("normalize_url", "https://example.com/a/%2E%2e/b", None),
        ("normalize_url", "https://example.com/./a", None),
        ("normalize_url", "https://exa mple.com/", None),
        ("github_repo_id", "git@github.com:Acme/X.git", "https://github.com/acme/x"),
        ("github_repo_id", "https://github.com/acme/x.git/", "https://github.com/acme/x"),
        ("github_repo_id", "ssh://git@github.com/acme/x", "https://github.com/acme/x"),
        ("github_repo_id", "acme/x", "https://github.com/acme/x"),
        ("github_repo_id", "acme/..", "acme/.."),
        ("github_repo_id", "https://evil.com/acme/x", "https://evil.com/acme/x"),
        ("github_repo_id", "acme/x/y", "acme/x/y"),
        ("github_repo_url_id", "acme/x", "https://github.com/acme/x"),
        ("sha256", "x", "x"),
        ("spicedb_object_id", "a?b", "a?b"),
        ("spicedb_escape", "a?b", "a?b"),
    ),
)
def test_a_transform_makes_two_spellings_one_and_never_two_resources(
    transform: str, text: str, made: str | None
) -> None:
    assert resource.TRANSFORMS[transform](text) == made
