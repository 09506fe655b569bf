"""What a SpiceboxToolspec may say."""

from typing import Any

import pytest

from tests.unit.api import conformance, manifests
from toolcall_operator.api import crds, parsing
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec, SpiceboxToolspecSpec

SCHEMA = next(crds.schema(kind) for kind in crds.KINDS if kind.model is SpiceboxToolspec)
PUBLIC = manifests.toolspec(
    intent="May read.",
    require={"verifiedBinaryVersion": True},
    deny={"effects": {"destructive": True, "reads": ["network"], "writes": ["filesystem"], "creds": {"writes": True}}},
    allow={
        "network": {"destinations": ["forge.example"]},
        "filesystem": {"pathsUnder": ["/workspace"]},
        "creds": {"required": ["FORGE_TOKEN"]},
    },
    exceptions=[
        {
            "overrides": ["deny.effects.reads", "deny.effects.writes"],
            "when": "config.relaxed == true",
            "message": "It was asked for.",
        }
    ],
    constraints=[{"cel": "call.flag('depth') == ''", "message": "Only whole copies."}, {"cel": "true"}],
    sensitive={"env": ["FORGE_HOST"], "flags": ["topic"], "positional": ["folder"]},
    secretOutput={"name": "kubeconfig", "source": "file:/work/out/config", "description": "It expires."},
    observes=[
        {
            "facts": {"open": "item.open"},
            "subjects": [{"resourceType": "'repository'", "resourceID": "item.id"}],
            "forEach": "result.items",
            "when": "true",
        }
    ],
    writesRelationships=[
        {
            "tuple": {"resource": "'a:b'", "relation": "'owner'", "subject": "session"},
            "exclusive": True,
            "requireSlotBound": True,
        }
    ],
)


def spec(manifest: dict[str, Any]) -> SpiceboxToolspecSpec:
    read = parsing.parse(manifest)
    assert isinstance(read, SpiceboxToolspec)
    return read.spec


def problems(manifest: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(parsing.Malformed) as malformed:
        parsing.parse(manifest)
    return {problem.path: problem.message for problem in malformed.value.problems}


def test_every_field_that_other_operators_of_this_api_know_is_taken() -> None:
    assert list(conformance.objections(PUBLIC, SCHEMA)) == []
    assert spec(PUBLIC).exceptions[0].overrides == ("deny.effects.reads", "deny.effects.writes")


def test_an_allow_list_that_is_not_there_is_something_else_than_an_empty_one() -> None:
    unsaid = spec(manifests.toolspec()).allow
    empty = spec(
        manifests.toolspec(
            allow={
                "network": {"destinations": []},
                "filesystem": {"pathsUnder": []},
                "creds": {"required": []},
            }
        )
    ).allow

    assert (unsaid.network.destinations, unsaid.filesystem.paths_under, unsaid.creds.required) == (None, None, None)
    assert (empty.network.destinations, empty.filesystem.paths_under, empty.creds.required) == ((), (), ())


def test_an_empty_allow_list_is_still_there_after_the_way_to_a_store_and_back() -> None:
    manifest = manifests.toolspec(allow={"network": {"destinations": []}})

    kept = parsing.parse(manifest).to_manifest()

    assert kept["spec"]["allow"] == {"network": {"destinations": []}}
    assert spec(kept).allow.network.destinations == ()


def test_what_is_not_said_allows_nothing_more() -> None:
    read = spec(manifests.toolspec())

    assert (read.allow.stdin, read.require.verified_binary_version, read.deny.effects.destructive) == (
        False,
        False,
        False,
    )
    assert (read.exceptions, read.constraints) == ((), ())


def test_a_toolspec_that_does_not_say_which_subcommands_it_allows_is_refused_by_name() -> None:
    unsaid = manifests.toolspec()
    del unsaid["spec"]["allowSubcommands"]

    assert problems(unsaid) == {"spec.allowSubcommands": "is required"}
    assert [(each.path, each.keyword) for each in conformance.objections(unsaid, SCHEMA)] == [("spec", "required")]


def test_a_text_that_stands_twice_in_a_list_is_taken() -> None:
    twice = manifests.toolspec(
        allowSubcommands=["", ""],
        deny={"effects": {"reads": ["network"] * 3, "writes": ["filesystem"] * 3}},
        allow={
            "network": {"destinations": ["a", "a"]},
            "filesystem": {"pathsUnder": ["/a", "/a"]},
            "creds": {"required": ["A", "A"]},
        },
        exceptions=[{"overrides": ["deny.effects.reads"] * 2, "when": "true"}],
        sensitive={"env": ["A", "A"], "flags": ["a", "a"], "positional": ["a", "a"]},
    )

    assert list(conformance.objections(twice, SCHEMA)) == []
    assert spec(twice).allow_subcommands == ("", "")


@pytest.mark.parametrize(
    ("fields", "path"),
    (
        ({"toolkit": {"revision": "1"}}, "spec.toolkit.name"),
        ({"toolkit": {"name": "say"}}, "spec.toolkit.revision"),
        ({"deny": {"effects": {"writes": ["disk"]}}}, "spec.deny.effects.writes[0]"),
        ({"secretOutput": {"name": "a"}}, "spec.secretOutput.source"),
        ({"allow": {"network": {"hosts": []}}}, "spec.allow.network.hosts"),
        ({"constraints": [{"cel": "x" * 4097}]}, "spec.constraints[0].cel"),
    ),
)
def test_a_toolspec_that_says_too_little_or_what_there_is_not_is_told_the_field(
    fields: dict[str, Any], path: str
) -> None:
    assert problems(manifests.toolspec(**fields)).keys() == {path}
