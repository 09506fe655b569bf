"""What a SpiceboxToolkit may say."""

from typing import Any

import pytest

from tests.unit.api import conformance, manifests
from toolcall_operator.api import crds, parsing
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit, SpiceboxToolkitSpec

SCHEMA = next(crds.schema(kind) for kind in crds.KINDS if kind.model is SpiceboxToolkit)
CHECK = {
    "resourceType": "forge/repository",
    "permission": "read",
    "resourceIDTemplate": "{repository}",
    "resourceIDHint": "name the repository as a URL",
    "resourceIDTransforms": ["lowercase"],
    "enforceMode": "final",
    "extractionPrompt": "The repository.",
    "grantBindsArgs": ["repository"],
}
PERMISSION = {"stateImpact": "readonly", "toolName": "forge", "check": CHECK}
PUBLIC = manifests.toolkit(
    version="2.1",
    docs="Talks to a forge.",
    siteURL="https://forge.example",
    streamFormat="lines",
    envDefaults={"FORGE_PAGER": "cat"},
    target={
        "binary": "forge",
        "versionRange": "",
        "versionProbe": {"args": ["--version"], "extract": {"kind": "regex", "pattern": "([0-9.]+)"}},
        "pinnedBinaryHash": "sha256:0",
    },
    env={
        "allowed": [
            {
                "name": "FORGE_TOKEN",
                "sensitive": True,
                "credential": "forge-token",
                "description": "The token.",
                "title": "Forge",
                "provider": "forge",
                "prompt": "Ask for it.",
            },
            {"name": "FORGE_HOST", "credential": ""},
        ]
    },
    globalFlags=[{"long": "", "short": "C", "type": "path"}, {"long": "help", "short": "", "type": "bool"}],
    permission=PERMISSION,
    spicedbSchema={"rawZed": "definition a {}", "resources": [{"name": "a", "standing": "required"}]},
    subcommands=[
        {
            "path": ["repository", "clone"],
            "description": "Copies a repository.",
            "mode": "stream",
            "timeout": "10m",
            "effects": {
                "destructive": False,
                "reads": ["network"],
                "writes": ["filesystem"],
                "network": {"destinations": ["{positional:repository}"]},
                "filesystem": {"paths": ["{positional:folder}"]},
                "creds": {"required": ["FORGE_TOKEN"], "writes": []},
            },
            "flags": [
                {"long": "depth", "type": "int", "description": "How deep."},
                {"long": "topic", "type": "stringList", "splitOn": ",", "sensitive": True},
                {"long": "kind", "type": "enum", "values": ["a", "b"]},
                {"long": "sign", "type": "string", "optionalValue": True},
            ],
            "positional": [
                {"name": "repository", "type": "url", "required": True},
                {"name": "folder", "type": "path", "values": [], "splitOn": ""},
                {"name": "rest", "type": "stringList", "afterDashDash": True},
            ],
            "permission": PERMISSION,
            "permissionVariants": [{"when": "has(args.depth)", "check": PERMISSION}],
        }
    ],
)


def spec(manifest: dict[str, Any]) -> SpiceboxToolkitSpec:
    read = parsing.parse(manifest)
    assert isinstance(read, SpiceboxToolkit)
    return read.spec


def problems(manifest: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(parsing.Malformed) as malformed:
        parsing.parse(manifest)
    return {problem.path: problem.message for problem in malformed.value.problems}


def test_every_field_that_other_operators_of_this_api_know_is_taken() -> None:
    assert list(conformance.objections(PUBLIC, SCHEMA)) == []
    assert spec(PUBLIC).subcommands[0].name == "repository clone"


def test_what_stands_there_as_an_empty_text_is_not_there() -> None:
    read = spec(PUBLIC)
    short_only, long_only = read.global_flags

    assert (short_only.long, short_only.short, short_only.name) == (None, "C", "C")
    assert (long_only.long, long_only.short, long_only.name) == ("help", None, "help")
    assert (read.target.version_range, read.env.allowed[1].credential) == (None, None)
    assert read.subcommands[0].positional[1].split_on is None


def test_what_is_not_said_is_the_strict_reading() -> None:
    read = spec(manifests.toolkit())

    assert (read.parser.bundled_shorts, read.parser.attached_values, read.parser.flags_end) == (
        False,
        False,
        "AtDoubleDash",
    )
    assert (read.subcommands[0].name, read.subcommands[0].stdin, read.env_defaults) == ("", "Data", {})


def test_a_text_that_stands_twice_in_a_list_is_taken() -> None:
    effects = {
        **manifests.EFFECTS,
        "reads": ["network"] * 3,
        "writes": ["network"] * 3,
        "creds": {"required": ["A", "A"], "writes": ["A", "A"]},
    }
    kinds = {"long": "kind", "type": "enum", "values": ["a", "a"]}

    twice = manifests.toolkit(subcommands=[manifests.subcommand(effects=effects, flags=[kinds])])

    assert list(conformance.objections(twice, SCHEMA)) == []
    assert spec(twice).subcommands[0].flags[0].values == ("a", "a")


@pytest.mark.parametrize(
    ("subcommand", "uses"),
    (
        ({}, False),
        ({"reads": ["network"]}, True),
        ({"writes": ["network"]}, True),
        ({"network": {"destinations": ["a"]}}, True),
        ({"reads": ["filesystem"]}, False),
    ),
    ids=["nothing", "reads", "writes", "destinations", "files only"],
)
def test_a_subcommand_uses_the_network_if_it_says_so_anywhere(subcommand: dict[str, Any], uses: bool) -> None:  # noqa: FBT001 (a column of the table)
    effects = {**manifests.EFFECTS, **subcommand}

    read = spec(manifests.toolkit(subcommands=[manifests.subcommand(effects=effects)]))

    assert read.subcommands[0].effects.uses_network is uses


@pytest.mark.parametrize(
    ("fields", "path"),
    (
        ({"name": None}, "spec.name"),
        ({"toolkitRevision": None}, "spec.toolkitRevision"),
        ({"target": {}}, "spec.target.binary"),
        ({"target": {"binary": "/bin/say"}}, "spec.target.binary"),
        ({"parser": {}}, "spec.parser.kind"),
        ({"parser": {"kind": "other"}}, "spec.parser.kind"),
        ({"env": {}}, "spec.env.allowed"),
        ({"env": {"allowed": [{"sensitive": False}]}}, "spec.env.allowed[0].name"),
        ({"env": {"allowed": [{"name": "A"}, {"name": "A"}]}}, "spec.env.allowed"),
        ({"subcommands": None}, "spec.subcommands"),
        ({"subcommands": [{"path": []}]}, "spec.subcommands[0].effects"),
        (
            {"subcommands": [manifests.subcommand(effects={**manifests.EFFECTS, "reads": ["disk"]})]},
            "spec.subcommands[0].effects.reads[0]",
        ),
        ({"globalFlags": [{"long": "a", "type": "number"}]}, "spec.globalFlags[0].type"),
        ({"globalFlags": [{"long": "a b", "type": "bool"}]}, "spec.globalFlags[0].long"),
    ),
)
def test_a_toolkit_that_says_too_little_or_what_there_is_not_is_told_the_field(
    fields: dict[str, Any], path: str
) -> None:
    assert problems(manifests.toolkit(**fields)).keys() == {path}
