"""The READMEs leave nothing out that a user has to know by name, and name nothing that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcall_operator import settings
from toolcall_operator.cli import meanings
from toolcall_operator.core.agentcredentials import IdentityReason
from toolcall_operator.core.classes import ClassReason
from toolcall_operator.core.classstatus import ClassCondition
from toolcall_operator.core.conditions import ConditionType
from toolcall_operator.core.identities import IdentityCondition
from toolcall_operator.core.reasons import Reason, Terminal, Waiting
from toolcall_operator.core.session.status import SessionCondition, SessionReason
from toolcall_operator.core.session.trouble import Kind
from toolcall_operator.settings import OperatorSettings, Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
E2E = ROOT / "tests" / "e2e"
PACKAGE = ROOT / "operator" / "toolcall_operator"

SETTINGS = tuple(settings.variable(name) for name in (*Settings.model_fields, *OperatorSettings.model_fields))
OF_CALLS = (*Reason, *Terminal, *Waiting, *ConditionType)
OF_SESSIONS = (*SessionCondition, *SessionReason, *Kind)
OF_CLASSES = (*ClassCondition, *ClassReason)
OF_IDENTITIES = (*IdentityCondition, *IdentityReason)


def section(heading: str) -> str:
    """What stands below a heading, up to the next."""
    return README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def places() -> Iterator[Path]:
    """Every place of the table that shows the way; below the package, the first of a row tells where the others are."""
    for row in re.findall(r"^\| (`.*?) \|", section("Finding your way"), re.MULTILINE):
        named = re.findall("`([^`]+)`", row)
        above = PACKAGE if named[0].startswith("operator/toolcall_operator/") else ROOT
        yield from (ROOT / named[0], *(above / name for name in named[1:]))


@pytest.mark.parametrize("name", sorted({*OF_CALLS, *OF_SESSIONS, *OF_CLASSES, *OF_IDENTITIES, *SETTINGS}))
def test_the_readme_names_it(name: str) -> None:
    assert f"`{name}`" in README


@pytest.mark.parametrize("name", OperatorSettings.model_fields)
def test_the_readme_says_of_a_setting_what_its_flag_says(name: str) -> None:
    row = f"| `{settings.variable(name)}` | `{settings.flag(name)}` | {meanings.meaning(name)} |"

    assert row in section("Settings").splitlines()


@pytest.mark.parametrize("place", tuple(places()), ids=lambda place: str(place.relative_to(ROOT)))
def test_the_way_leads_to_places_that_are_there(place: Path) -> None:
    assert place.exists()


@pytest.mark.parametrize("name", sorted(path.name for path in E2E.glob("test_*.py")))
def test_every_file_of_cluster_tests_is_told_of(name: str) -> None:
    assert f"`{name}`" in (E2E / "README.md").read_text()
