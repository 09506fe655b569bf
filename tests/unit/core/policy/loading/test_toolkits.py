"""Whether a toolkit can be used, and everything that is wrong with one that cannot."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.manifests import EFFECTS, subcommand
from tests.unit.core.policy.loading import policies
from toolcall_operator.core.policy.loading import toolkits
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason

TOKEN = {"name": "SAY_TOKEN", "sensitive": True, "credential": "say"}
LONG_NAME = "A" * 257


def told(**spec: Any) -> dict[str, str]:  # noqa: ANN401 (fields of a manifest)
    """The problems of a toolkit with these fields, by path."""
    found = toolkits.problems(policies.spiceboxtoolkit(**spec).spec)
    assert len({problem.path for problem in found}) == len(found)
    return {problem.path: problem.message for problem in found}


def of_subcommand(**fields: Any) -> dict[str, str]:  # noqa: ANN401 (fields of a manifest)
    """The same of a toolkit whose one subcommand has these fields, seen from there."""
    found = told(subcommands=[subcommand(**fields)], env={"allowed": [TOKEN]})
    return {path.removeprefix("spec.subcommands[0]."): message for path, message in found.items()}


def test_an_ordinary_toolkit_is_read_with_all_that_toolspecs_can_name() -> None:
    found = policies.toolkit(
        env={"allowed": [TOKEN]},
        globalFlags=[{"long": "help", "short": "h", "type": "bool"}],
        subcommands=[
            subcommand(flags=[{"short": "C", "type": "path", "requiresConstraint": True}]),
            subcommand("out", "loud", positional=[{"name": "word", "type": "string"}]),
        ],
    )

    assert (found.resource, set(found.env)) == ("one", {"SAY_TOKEN"})
    assert found.subcommands == {"", "out loud"}
    assert found.flag_names == {"help", "h", "C"}
    assert found.slot_names == {"word"}
    assert found.constrained == {"C"}


def test_a_toolkit_that_cannot_be_read_is_not_loaded_and_its_problems_are_told() -> None:
    assert toolkits.judged(policies.UNREAD) == Objection(
        PolicyReason.SPEC_LOAD_FAILED, "spec.target.binary is required; spec.name is long"
    )


def test_everything_that_is_wrong_is_told_at_once() -> None:
    found = toolkits.judged(
        policies.spiceboxtoolkit(version=None, parser={"kind": "builtin", "name": "git"}, envDefaults={"A-B": ""})
    )

    assert isinstance(found, Objection)
    assert found.reason is PolicyReason.SPEC_LOAD_FAILED
    assert [each.split(" ")[0] for each in found.message.split("; ")] == [
        "spec.version",
        "spec.parser.kind",
        "spec.envDefaults",
    ]


@pytest.mark.parametrize(
    ("spec", "path", "says"),
    (
        ({"version": None}, "spec.version", "is required"),
        ({"version": ""}, "spec.version", "is required"),
        ({"target": {"binary": "say", "versionRange": "about 2"}}, "spec.target.versionRange", "no range"),
        ({"target": {"binary": "say", "pinnedBinaryHash": "sha256:0"}}, "spec.target.pinnedBinaryHash", "nothing here"),
        ({"parser": {"kind": "builtin"}}, "spec.parser.kind", "must be declarative"),
        ({"parser": {"kind": "declarative", "name": "git"}}, "spec.parser.name", "cannot be set"),
        ({"env": {"allowed": [{"name": "A"}, {"name": "B-C"}]}}, "spec.env.allowed[1].name", "no process"),
        ({"env": {"allowed": [{"name": LONG_NAME}]}}, "spec.env.allowed[0].name", "no process"),
        ({"globalFlags": [{"type": "bool"}]}, "spec.globalFlags[0]", "has no name"),
        ({"permission": {"stateImpact": "readonly", "check": {"resourceType": "a", "permission": "b",
          "resourceIDTemplate": "{folder}"}}}, "spec.permission.check.resourceIDTemplate", '"folder"'),
    ),
)  # fmt: skip
def test_what_is_wrong_with_a_toolkit_is_told_by_its_field(spec: dict[str, Any], path: str, says: str) -> None:
    found = told(**spec)

    assert found.keys() == {path}
    assert says in found[path]


def test_a_hash_that_is_an_empty_text_is_none() -> None:
    assert told(target={"binary": "say", "pinnedBinaryHash": ""}) == {}


def test_a_sensitive_variable_without_a_credential_is_named() -> None:
    found = told(env={"allowed": [{"name": "SAY_TOKEN", "sensitive": True}, {"name": "SAY_HOST"}]})

    assert found == {"spec.env.allowed[0].credential": "is required: SAY_TOKEN is sensitive"}


def test_all_defaults_that_cannot_be_given_or_are_sensitive_are_listed_in_order() -> None:
    secrets = [{**TOKEN, "name": name} for name in ("Z_TOKEN", "A_TOKEN", "OTHER")]
    defaults = dict.fromkeys(("Z_TOKEN", "9", "A-B", "A_TOKEN", "SAY_LOUD"), "")

    objection = toolkits.judged(policies.spiceboxtoolkit(env={"allowed": secrets}, envDefaults=defaults))

    assert isinstance(objection, Objection)
    assert objection.reason is PolicyReason.SPEC_LOAD_FAILED
    assert "spec.envDefaults must not set 9, A-B: " in objection.message
    assert "spec.envDefaults must not set A_TOKEN, Z_TOKEN: " in objection.message


@pytest.mark.parametrize(
    ("fields", "path"),
    (
        ({"flags": [{"long": "loud", "type": "bool", "optionalValue": True}]}, "flags[0].optionalValue"),
        ({"flags": [{"long": "way", "type": "enum"}]}, "flags[0].values"),
        ({"flags": [{"type": "bool"}]}, "flags[0]"),
        (
            {"positional": [{"name": name, "type": "string", "afterDashDash": True} for name in "ab"]},
            "positional[1].afterDashDash",
        ),
        ({"timeout": "0s"}, "timeout"),
        ({"timeout": "soon"}, "timeout"),
        ({"timeout": "-1s"}, "timeout"),
    ),
)
def test_flags_and_arguments_that_cannot_be_and_a_timeout_of_nothing_fail_to_load_by_their_field(
    fields: dict[str, Any], path: str
) -> None:
    assert of_subcommand(**fields).keys() == {path}


@pytest.mark.parametrize("part", ("required", "writes"))
def test_a_credential_that_no_variable_carries_is_named(part: str) -> None:
    creds = {"required": [], "writes": [], part: ["SAY_TOKEN", "OTHER_TOKEN"]}

    found = of_subcommand(effects={**EFFECTS, "creds": creds})

    assert found == {f"effects.creds.{part}[1]": "names OTHER_TOKEN, which spec.env.allowed lacks"}


@pytest.mark.parametrize(
    ("part", "path"),
    (
        ({"network": {"destinations": ["{flag:host}"]}}, "effects.network.destinations[0]"),
        ({"network": {"destinations": ["a", "{what:host}"]}}, "effects.network.destinations[1]"),
        ({"filesystem": {"paths": ["{positional:way}"]}}, "effects.filesystem.paths[0]"),
        ({"filesystem": {"paths": ["{flag:way"]}}, "effects.filesystem.paths[0]"),
    ),
)
def test_a_template_that_names_what_is_not_there_is_told_by_its_field(part: dict[str, Any], path: str) -> None:
    found = of_subcommand(effects={**EFFECTS, **part}, flags=[{"long": "way", "type": "path"}])

    assert found.keys() == {path}


def test_a_template_may_name_global_flags() -> None:
    effects = {**EFFECTS, "filesystem": {"paths": ["{flag:C}", "{positional:file}", "{cwd}"]}}

    found = told(
        globalFlags=[{"short": "C", "type": "path"}],
        subcommands=[subcommand(effects=effects, positional=[{"name": "file", "type": "path"}])],
    )

    assert found == {}


def test_a_subcommand_that_is_described_twice_is_told() -> None:
    found = told(subcommands=[subcommand("a"), subcommand("b"), subcommand("a")])

    assert found == {"spec.subcommands[2].path": "is that of spec.subcommands[0], too"}


def test_the_message_of_many_problems_is_bounded_and_says_how_many_more() -> None:
    many = [subcommand(str(index), timeout="0s") for index in range(60)]

    found = toolkits.judged(policies.spiceboxtoolkit(subcommands=many))

    assert isinstance(found, Objection)
    assert len(found.message) <= 1024
    assert found.message.startswith("spec.subcommands[0].timeout must be more than 0s; spec.subcommands[1].timeout")
    assert found.message.endswith(" more")
