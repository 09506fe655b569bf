"""The page on the public operator tells every field that was added, and what does not load and what does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.api import test_spiceboxtoolkit as of_toolkits
from tests.unit.api import test_spiceboxtoolspec as of_toolspecs
from tests.unit.api.manifests import EFFECTS, subcommand
from tests.unit.core.policy.loading import policies
from toolcall_operator.core.policy.loading import toolkits, toolspecchecks

PAGE = (Path(__file__).parents[2] / "docs" / "compatibility.md").read_text()
QUOTED = {word for words in re.findall(r"`([^`]+)`", PAGE) for word in re.findall(r"\w+", words)}

PUBLIC_TOO = {"resourceIDExpr"}
"""Fields of the public operator that the manifests with all its fields lack, since they stand beside no others."""


@pytest.mark.parametrize("kind", (of_toolkits, of_toolspecs), ids=["toolkit", "toolspec"])
def test_the_page_names_every_field_that_the_public_operator_lacks(kind: Any) -> None:  # noqa: ANN401 (a module)
    public = set(_keys(kind.PUBLIC["spec"])) | PUBLIC_TOO

    assert set(_fields(kind.SCHEMA["properties"]["spec"])) - public <= QUOTED


def _keys(value: object) -> Iterator[str]:
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(part)
    yield from value if isinstance(value, dict) else ()


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    yield from schema.get("properties", {})
    for below in (*schema.get("properties", {}).values(), schema.get("items")):
        yield from _fields(below) if below else ()


FLAG = {"long": "a", "type": "string"}
CHECK = {"resourceType": "a", "permission": "b"}


def of_subcommand(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    """A toolkit whose one subcommand has these fields."""
    return {"subcommands": [subcommand(**fields)]}


def of_paths(*paths: str) -> dict[str, Any]:
    """A toolkit whose one subcommand, which has the flag `a`, touches these paths."""
    return of_subcommand(effects={**EFFECTS, "filesystem": {"paths": paths}}, flags=[FLAG | {"short": "b"}])


@pytest.mark.parametrize(
    "fields",
    (
        pytest.param({"parser": {"kind": "builtin", "name": "git"}}, id="a built-in parser"),
        pytest.param({"target": {"binary": "say", "pinnedBinaryHash": "sha256:0"}}, id="a hash"),
        pytest.param({"permission": {"stateImpact": "external"}}, id="a permission without a check"),
        pytest.param({"permission": {"stateImpact": "stateless", "check": CHECK}}, id="a check of nothing"),
        pytest.param({"permission": {"stateImpact": "some", "check": CHECK}}, id="an unknown impact"),
        pytest.param(of_paths("{flag:c}"), id="an unknown flag"),
        pytest.param(of_paths("{flag:b}"), id="a flag by its letter"),
        pytest.param(of_paths("{what:a}"), id="an unknown kind"),
        pytest.param(of_paths("{flag:a"), id="a brace alone"),
        pytest.param(of_subcommand(flags=[FLAG, FLAG]), id="a flag twice"),
        pytest.param({"subcommands": [subcommand("a"), subcommand("a")]}, id="a subcommand twice"),
        pytest.param(of_subcommand(flags=[FLAG | {"type": "bool", "values": ["b"]}]), id="values of a bool"),
        pytest.param({"target": {"binary": "say", "versionRange": "new"}}, id="no range"),
    ),
)
def test_what_the_page_says_does_not_load_does_not(fields: dict[str, Any]) -> None:
    assert len(toolkits.problems(policies.spiceboxtoolkit(**fields).spec)) == 1


@pytest.mark.parametrize(
    "fields",
    (
        {"target": {"binary": "say", "pinnedBinaryHash": ""}},
        {"permission": {"stateImpact": "ReadWrite", "check": CHECK}},
        of_subcommand(effects={**EFFECTS, "destructive": True}),
        of_paths("{flag:a}"),
        of_subcommand(flags=[FLAG | {"values": ["b", "b"], "splitOn": ","}]),
        of_subcommand(positional=[{"name": "a", "type": "stringList"}, {"name": "b", "type": "url"}]),
    ),
    ids=["no hash", "a permission", "no permission", "a flag", "values and a separator", "a list before an argument"],
)
def test_what_the_page_says_loads_does(fields: dict[str, Any]) -> None:
    assert toolkits.problems(policies.spiceboxtoolkit(**fields).spec) == ()


@pytest.mark.parametrize(
    "fields",
    (
        {"sensitive": {"flags": ["nope"]}},
        {"sensitive": {"positional": ["nope"]}},
        {"sensitive": {"env": ["A-B"]}},
        {"allow": {"filesystem": {"pathsUnder": ["work"]}}},
        {"allow": {"filesystem": {"pathsUnder": ["/work/.."]}}},
    ),
    ids=["an unknown flag", "an unknown positional", "no variable", "a relative folder", "a folder with dots"],
)
def test_a_toolspec_that_the_page_says_does_not_load_does_not(fields: dict[str, Any]) -> None:
    assert len([*toolspecchecks.problems(policies.spiceboxtoolspec(**fields).spec, policies.toolkit())]) == 1
