"""What is wrong with the permissions of a toolkit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.manifests import EFFECTS, subcommand
from tests.unit.core.policy.loading import policies
from toolcall_operator.core.policy.loading import toolkits

CHECK = {"resourceType": "repository", "permission": "read"}
OF_ID = "permission.check.resourceIDTemplate"


def told(check: dict[str, Any] | None = None, **fields: Any) -> dict[str, str]:  # noqa: ANN401 (fields of a manifest)
    """The problems of a subcommand with this check, or with these fields, seen from there."""
    permission = {"stateImpact": "readonly", "check": {**CHECK, **(check or {})}}
    described = subcommand(
        flags=[{"long": "repo", "type": "string"}],
        positional=[{"name": "folder", "type": "path"}],
        **{"permission": permission, **fields},
    )
    found = toolkits.problems(policies.spiceboxtoolkit(subcommands=[described]).spec)
    return {problem.path.removeprefix("spec.subcommands[0]."): problem.message for problem in found}


def of_toolkit(permission: dict[str, Any]) -> dict[str, str]:
    """The problems of a toolkit whose subcommands have this permission."""
    return {each.path: each.message for each in toolkits.problems(policies.spiceboxtoolkit(permission=permission).spec)}


@pytest.mark.parametrize(
    "check",
    (
        {},
        {"resourceIDTemplate": "workspace"},
        {"resourceIDTemplate": "{repo}/{folder}"},
        {"resourceIDExpr": "args.repo"},
        {"resourceIDExpr": "has(args.repo) ? args.repo : args.folder"},
        {"resourceIDTransforms": ["lowercase", "remove_spaces", "basename", "normalize_url", "sha256"]},
    ),
)
def test_a_check_that_names_what_is_there_has_no_problem(check: dict[str, Any]) -> None:
    assert told(check) == {}


@pytest.mark.parametrize(
    ("check", "field", "says"),
    (
        ({"resourceIDTemplate": "{owner}/{repo}"}, "resourceIDTemplate", '"owner"'),
        ({"resourceIDTemplate": "{repo}", "resourceIDExpr": "args.repo"}, "resourceIDExpr", "cannot stand beside"),
        ({"resourceIDExpr": "call.repo"}, "resourceIDExpr", "1:1"),
        ({"resourceIDExpr": "args."}, "resourceIDExpr", "1:6"),
        ({"resourceIDExpr": "1 + 1"}, "resourceIDExpr", "string"),
        ({"resourceIDTransforms": ["lowercase", "rot13"]}, "resourceIDTransforms[1]", "is none of basename"),
    ),
)
def test_what_is_wrong_with_a_check_is_told_by_its_field(check: dict[str, Any], field: str, says: str) -> None:
    found = told(check)

    assert found.keys() == {f"permission.check.{field}"}
    assert says in found[f"permission.check.{field}"]


def test_a_variant_is_looked_at_as_well() -> None:
    permission = {"stateImpact": "readonly", "check": {**CHECK, "resourceIDTemplate": "{owner}"}}

    found = told(
        permissionVariants=[{"when": "args.repo == 'a'", "check": permission}, {"when": "1", "check": permission}]
    )

    assert found.keys() == {
        "permissionVariants[0].check.check.resourceIDTemplate",
        "permissionVariants[1].when",
        "permissionVariants[1].check.check.resourceIDTemplate",
    }


@pytest.mark.parametrize("impact", ("readonly", "readwrite", "external", "ReadOnly", "EXTERNAL"))
def test_a_permission_that_is_not_always_granted_needs_a_check_wherever_it_stands(impact: str) -> None:
    unchecked, lacking = {"stateImpact": impact}, f"is required where stateImpact is {impact.lower()}"

    assert told(permission=unchecked) == {"permission.check": lacking}
    assert told(permissionVariants=[{"when": "true", "check": unchecked}]) == {
        "permissionVariants[0].check.check": lacking
    }
    assert of_toolkit(unchecked) == {"spec.permission.check": lacking}


@pytest.mark.parametrize("impact", ("stateless", "passthrough", "Stateless", "PassThrough"))
def test_a_permission_that_is_always_granted_has_no_check(impact: str) -> None:
    checked = {"stateImpact": impact, "check": CHECK}

    assert told(permission={"stateImpact": impact}) == {}
    assert told(permission=checked) == {
        "permission.check": f"cannot be where stateImpact is {impact.lower()}, which is granted without a check"
    }
    assert of_toolkit(checked).keys() == {"spec.permission.check"}


@pytest.mark.parametrize("impact", ("", "read", "reads", "readonly ", "read-only", "none", "statele\u017f\u017f"))
def test_an_impact_that_there_is_not_is_told_which_there_are(impact: str) -> None:
    words = "must be one of readonly, readwrite, external, stateless, passthrough"

    for checked in ({}, {"check": CHECK}):
        assert told(permission={"stateImpact": impact, **checked}) == {"permission.stateImpact": words}


def test_a_toolkit_without_any_permission_needs_none() -> None:
    effects = {**EFFECTS, "destructive": True, "writes": ["network"]}

    assert toolkits.problems(policies.spiceboxtoolkit(subcommands=[subcommand(effects=effects)]).spec) == ()


@pytest.mark.parametrize("impact", ("passthrough", "stateless", "Stateless"))
@pytest.mark.parametrize("whose", ("subcommand", "toolkit"))
def test_what_destroys_is_not_granted_without_a_check(impact: str, whose: str) -> None:
    permission = {"stateImpact": impact}
    destructive = subcommand(
        effects={**EFFECTS, "destructive": True}, permission=permission if whose == "subcommand" else None
    )
    spec = policies.spiceboxtoolkit(subcommands=[destructive], permission=permission if whose == "toolkit" else None)

    (problem,) = toolkits.problems(spec.spec)

    where = "spec.permission" if whose == "toolkit" else "spec.subcommands[0].permission"
    assert problem.path == f"{where}.stateImpact"
    assert (
        problem.message
        == f"is {impact.lower()}, which is granted without a check, and spec.subcommands[0] is destructive"
    )


def test_a_destructive_subcommand_with_a_permission_of_its_own_is_not_judged_by_that_of_all() -> None:
    own = subcommand(effects={**EFFECTS, "destructive": True}, permission={"stateImpact": "external", "check": CHECK})

    spec = policies.spiceboxtoolkit(subcommands=[own], permission={"stateImpact": "passthrough"}).spec

    assert toolkits.problems(spec) == ()
