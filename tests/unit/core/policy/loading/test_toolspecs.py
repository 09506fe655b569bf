"""Whether a toolspec can judge calls, and in which order it is told that it cannot."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.manifests import subcommand
from tests.unit.core.policy.loading import policies
from toolcall_operator.api import parsing
from toolcall_operator.core.policy.loading import toolspecs
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason
from toolcall_operator.core.unread import Unread

EFFECTS = "deny.effects.writes"


def objection(**spec: Any) -> Objection:  # noqa: ANN401 (fields of a manifest)
    """What speaks against a toolspec with these fields."""
    found = policies.judged(**spec)
    assert isinstance(found, Objection), found
    return found


def test_a_toolspec_is_read_with_its_toolkit_and_everything_compiled() -> None:
    toolkit = policies.toolkit()

    found = policies.toolspec(
        toolkit,
        constraints=[{"cel": "true"}, {"cel": "size(call.argv) < 3", "message": "Short."}],
        exceptions=[
            {"overrides": [EFFECTS, "deny.effects.reads"], "when": "config.a == 1"},
            {"overrides": [EFFECTS, EFFECTS], "when": "config.b == 1", "message": "Asked."},
        ],
    )

    assert (found.name, found.tool, found.toolkit) == ("one", "say", toolkit)
    assert [program.source for program in found.constraints] == ["true", "size(call.argv) < 3"]
    assert [program.source for program, _ in found.exceptions[EFFECTS]] == ["config.a == 1", "config.b == 1"]
    assert [exception.message for _, exception in found.exceptions["deny.effects.reads"]] == [None]


def test_a_toolspec_without_a_toolkit_is_told_why() -> None:
    found = toolspecs.judged(
        policies.spiceboxtoolspec(version=None), lambda wanted: f"names {wanted.name}, which is not"
    )

    assert found == Objection(PolicyReason.TOOLKIT_MISSING, "spec.toolkit names say, which is not")


def test_a_toolspec_that_cannot_be_read_is_not_loaded() -> None:
    found = toolspecs.judged(policies.UNREAD, lambda _: policies.toolkit())

    assert isinstance(found, Objection)
    assert (found.reason, found.message) == (
        PolicyReason.SPEC_LOAD_FAILED,
        "spec.target.binary is required; spec.name is long",
    )


@pytest.mark.parametrize(
    ("spec", "reason", "says"),
    (
        (
            {"version": None, "constraints": [{"cel": "nobody"}], "allowSubcommands": ["quiet"]},
            PolicyReason.SPEC_LOAD_FAILED,
            "spec.version",
        ),
        (
            {"constraints": [{"cel": "nobody"}], "allowSubcommands": ["quiet"]},
            PolicyReason.CEL_COMPILE_ERROR,
            "spec.constraints[0].cel 1:1",
        ),
        ({"allowSubcommands": ["loud", "quiet"]}, PolicyReason.UNKNOWN_SUBCOMMAND, "spec.allowSubcommands[1]"),
    ),
)
def test_the_first_phase_that_finds_anything_is_told(spec: dict[str, Any], reason: PolicyReason, says: str) -> None:
    found = objection(**spec)

    assert found.reason is reason
    assert found.message.startswith(says)


WRONG: dict[str, Any] = {
    "version": None,
    "constraints": [{"cel": "nobody"}, {"message": "No cel."}],
    "allowSubcommands": ["quiet"],
}


def test_every_phase_tells_what_it_finds_and_no_field_twice_where_all_of_it_is_asked_for() -> None:
    found = [*toolspecs.objections(policies.spiceboxtoolspec(**WRONG), lambda _: policies.toolkit())]

    assert [(each.reason, [problem.path for problem in each.problems]) for each in found] == [
        (PolicyReason.SPEC_LOAD_FAILED, ["spec.version", "spec.constraints[1].cel"]),
        (PolicyReason.CEL_COMPILE_ERROR, ["spec.constraints[0].cel"]),
        (PolicyReason.UNKNOWN_SUBCOMMAND, ["spec.allowSubcommands[0]"]),
    ]
    assert found[0] == objection(**WRONG)


def test_without_its_toolkit_everything_else_is_told_that_can_be() -> None:
    wrong = policies.spiceboxtoolspec(**WRONG, sensitive={"flags": ["any"], "positional": ["any"], "env": ["A-B"]})

    found = [*toolspecs.objections(wrong, lambda _: "is not there")]

    assert [(each.reason, [problem.path for problem in each.problems]) for each in found] == [
        (PolicyReason.TOOLKIT_MISSING, ["spec.toolkit"]),
        (PolicyReason.SPEC_LOAD_FAILED, ["spec.version", "spec.constraints[1].cel", "spec.sensitive.env[0]"]),
        (PolicyReason.CEL_COMPILE_ERROR, ["spec.constraints[0].cel"]),
    ]


def test_nothing_speaks_against_a_toolspec_that_can_judge_and_one_thing_against_what_cannot_be_read() -> None:
    assert not [*toolspecs.objections(policies.spiceboxtoolspec(), lambda _: policies.toolkit())]
    (found,) = toolspecs.objections(policies.UNREAD, lambda _: policies.toolkit())
    assert found.reason is PolicyReason.SPEC_LOAD_FAILED


def test_everything_that_one_phase_finds_is_told() -> None:
    found = objection(
        constraints=[{"cel": "call.flagg('a')"}, {"cel": "true"}, {"cel": "1"}],
        exceptions=[{"overrides": [EFFECTS], "when": "call ="}],
    )

    assert found.reason is PolicyReason.CEL_COMPILE_ERROR
    assert [each.split(" ")[0] for each in found.message.split("; ") if each.startswith("spec.")] == [
        "spec.constraints[0].cel",
        "spec.constraints[2].cel",
        "spec.exceptions[0].when",
    ]


def test_a_constraint_that_gives_no_bool_is_told_when_the_toolspec_loads() -> None:
    found = objection(constraints=[{"cel": "call.subcommand"}])

    assert found.reason is PolicyReason.CEL_COMPILE_ERROR
    assert found.message.startswith("spec.constraints[0].cel 1:1: ")


def test_a_subcommand_that_the_toolkit_lacks_is_named_with_the_toolkit() -> None:
    found = objection(allowSubcommands=["", "loud", "lound"])

    assert found == Objection(
        PolicyReason.UNKNOWN_SUBCOMMAND, 'spec.allowSubcommands[2] names "lound", which SpiceboxToolkit one lacks'
    )


def test_a_toolspec_that_does_not_say_which_subcommands_it_allows_fails_to_load_by_name() -> None:
    manifest = policies.spiceboxtoolspec().to_manifest()
    del manifest["spec"]["allowSubcommands"]

    with pytest.raises(parsing.Malformed) as malformed:
        parsing.parse(manifest)
    found = toolspecs.judged(Unread.of(manifest, malformed.value.problems), lambda _: policies.toolkit())

    assert found == Objection(PolicyReason.SPEC_LOAD_FAILED, "spec.allowSubcommands is required")


def test_a_toolspec_that_allows_no_subcommand_loads() -> None:
    assert policies.toolspec(allowSubcommands=[]).spec.allow_subcommands == ()


def test_an_empty_allow_list_of_an_object_from_a_store_still_binds() -> None:
    manifest = policies.spiceboxtoolspec(allow={"network": {"destinations": []}}).to_manifest()

    found = toolspecs.judged(_read(manifest), lambda _: policies.toolkit())

    assert isinstance(found, toolspecs.Toolspec)
    assert found.spec.allow.network.destinations == ()
    assert found.spec.allow.filesystem.paths_under is None


def _read(manifest: dict[str, Any]) -> Any:  # noqa: ANN401 (the kind is the manifest's)
    return parsing.parse(manifest)


RISKY = {"short": "c", "type": "stringList", "requiresConstraint": True}


@pytest.mark.parametrize(
    ("constraints", "unconstrained"),
    (
        ([], {"c"}),
        ([{"cel": "call.subcommand != 'c'"}], {"c"}),
        ([{"cel": "call.subcommand == 'loud'"}, {"cel": "!call.hasFlag('c')"}], set()),
    ),
    ids=["no constraint", "one about something else", "one that names it"],
)
def test_a_flag_that_needs_a_constraint_is_unconstrained_until_one_names_it(
    constraints: list[dict[str, str]], unconstrained: set[str]
) -> None:
    toolkit = policies.toolkit(globalFlags=[RISKY], subcommands=[subcommand("loud")])

    assert policies.toolspec(toolkit, allowSubcommands=[], constraints=constraints).unconstrained == unconstrained


def test_what_makes_a_toolspec_and_what_calls_hold_is_not_shown() -> None:
    shown = repr(policies.toolspec(sensitive={"env": ["SAY_TOKEN"]}, constraints=[{"cel": "config.a == 'secret'"}]))

    assert "secret" not in shown
