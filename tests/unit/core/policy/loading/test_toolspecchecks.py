"""What is wrong with a toolspec, field by field."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.manifests import subcommand
from tests.unit.core.policy.loading import policies
from toolcall_operator.core.policy.loading import toolspecchecks
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason

TOOLKIT = policies.toolkit(
    globalFlags=[{"long": "help", "short": "h", "type": "bool"}],
    subcommands=[subcommand(positional=[{"name": "word", "type": "string"}])],
)
EXCEPTION = {"overrides": ["deny.effects.writes"], "when": "true"}
SECRET = {"name": "kubeconfig", "source": "stdout"}


def told(**spec: Any) -> dict[str, str]:  # noqa: ANN401 (fields of a manifest)
    """The problems of a toolspec with these fields, by path."""
    found = toolspecchecks.problems(policies.spiceboxtoolspec(**spec).spec, TOOLKIT)
    return {problem.path: problem.message for problem in found}


@pytest.mark.parametrize(
    "spec",
    (
        {},
        {"exceptions": [EXCEPTION], "constraints": [{"cel": "true"}]},
        {"sensitive": {"env": ["ANY"], "flags": ["help", "h", "--help", "-h"], "positional": ["word"]}},
        {"secretOutput": SECRET},
        {"secretOutput": {**SECRET, "source": "file:/work/out/a"}},
        {"allow": {"filesystem": {"pathsUnder": ["/", "/workspace/", "/work//out"]}}},
    ),
)
def test_a_toolspec_that_is_whole_has_no_problem(spec: dict[str, Any]) -> None:
    assert told(**spec) == {}


@pytest.mark.parametrize(
    ("spec", "path"),
    (
        ({"name": None}, "name"),
        ({"name": ""}, "name"),
        ({"version": None}, "version"),
        ({"exceptions": [{"when": "true"}]}, "exceptions[0].overrides"),
        ({"exceptions": [EXCEPTION, {"overrides": ["deny.effects.writes"]}]}, "exceptions[1].when"),
        ({"constraints": [{"cel": "true"}, {"message": "No."}]}, "constraints[1].cel"),
    ),
)
def test_what_lacks_is_required(spec: dict[str, Any], path: str) -> None:
    assert told(**spec) == {f"spec.{path}": "is required"}


@pytest.mark.parametrize(
    ("spec", "path"),
    (
        ({"secretOutput": {**SECRET, "name": " "}}, "secretOutput.name"),
        ({"secretOutput": {**SECRET, "source": "stderr"}}, "secretOutput.source"),
        ({"secretOutput": {**SECRET, "source": "file:out/a"}}, "secretOutput.source"),
        ({"secretOutput": {**SECRET, "source": ""}}, "secretOutput.source"),
        ({"allow": {"filesystem": {"pathsUnder": ["/a", "b"]}}}, "allow.filesystem.pathsUnder[1]"),
        ({"allow": {"filesystem": {"pathsUnder": ["/a/../etc"]}}}, "allow.filesystem.pathsUnder[0]"),
        ({"allow": {"filesystem": {"pathsUnder": ["~"]}}}, "allow.filesystem.pathsUnder[0]"),
        ({"sensitive": {"env": ["A-B"]}}, "sensitive.env[0]"),
        ({"sensitive": {"flags": ["help", "hepl"]}}, "sensitive.flags[1]"),
        ({"sensitive": {"positional": ["help"]}}, "sensitive.positional[0]"),
        ({"observes": [{}]}, "observes[0].facts"),
    ),
)
def test_what_can_mean_nothing_is_told_by_its_field(spec: dict[str, Any], path: str) -> None:
    assert f"spec.{path}" in told(**spec)


@pytest.mark.parametrize(
    "rule",
    (
        "deny.effects.destructive",
        "deny.effects.reads",
        "deny.effects.writes",
        "deny.effects.creds.writes",
        "allow.network.destinations",
        "allow.filesystem.pathsUnder",
        "allow.creds.required",
    ),
)
def test_seven_rules_can_be_overridden(rule: str) -> None:
    assert told(exceptions=[{"overrides": [rule], "when": "true"}]) == {}


@pytest.mark.parametrize(
    "rule",
    (
        *("parse", "revision", "binaryVersion", "allowSubcommands"),
        *("binary", "env", "allow.stdin", "flags", "constraints", "constraints[0]"),
    ),
)
def test_an_exception_of_a_rule_that_always_counts_is_told_that_it_is_not_overridable(rule: str) -> None:
    found = policies.judged(TOOLKIT, exceptions=[{"overrides": [rule], "when": "true"}])

    assert found == Objection(
        PolicyReason.SPEC_LOAD_FAILED, f"spec.exceptions[0].overrides[0] is {rule}, which is not overridable"
    )


def test_an_exception_of_a_rule_that_there_is_not_is_told_which_there_are() -> None:
    found = policies.judged(TOOLKIT, exceptions=[{**EXCEPTION, "overrides": ["deny.effects.writes", "deny.writes"]}])

    assert isinstance(found, Objection)
    assert found.reason is PolicyReason.SPEC_LOAD_FAILED
    assert found.message.startswith(
        'spec.exceptions[0].overrides[1] is "deny.writes", not a rule path that can be overridden: '
    )
    assert "deny.effects.writes" in found.message
