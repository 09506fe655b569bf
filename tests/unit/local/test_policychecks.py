"""What lint has to say about toolkits and toolspecs, and about the classes and sessions that name them."""

from __future__ import annotations

from typing import Any

from tests.unit.api import manifests
from toolcall_operator.local import policychecks
from toolcall_operator.local.findings import Finding, Level
from toolcall_operator.local.lint import lint
from toolcall_operator.local.manifests import unwritten
from toolcall_operator.local.objections import objections

TOOLKIT = manifests.toolkit(version="1")
TOOLSPEC = manifests.toolspec()
CLASS = manifests.session_class(tools=[{"name": "say", "command": ["say"]}], toolspecs=[{"name": "one"}])
SESSION = manifests.session(**{"class": "one"})
CALL = manifests.call(session="one", tool="say")


def found(*documents: dict[str, Any]) -> list[tuple[str, str]]:
    """The kinds of findings by their fields."""
    return [(each.path, each.level) for each in findings(*documents)]


def findings(*documents: dict[str, Any]) -> tuple[Finding, ...]:
    written = [unwritten("here", each) for each in documents]
    return lint(written, (*policychecks.CHECKS, objections))


def test_policies_that_fit_together_have_nothing_to_tell() -> None:
    assert findings(TOOLKIT, TOOLSPEC, CLASS, SESSION, CALL) == ()


def test_every_problem_of_a_toolkit_has_its_field() -> None:
    wrong = manifests.toolkit(globalFlags=[{"type": "bool"}, {"long": "as", "type": "enum"}])

    assert [path for path, _ in found(wrong)] == [
        "spec.version",
        "spec.globalFlags[0]",
        "spec.globalFlags[1].values",
    ]


def test_every_problem_of_a_toolspec_has_its_field() -> None:
    wrong = manifests.toolspec(constraints=[{"cel": "call.nothing == 1"}, {"cel": "1 +"}])

    assert found(TOOLKIT, wrong) == [
        ("spec.constraints[0].cel", Level.ERROR),
        ("spec.constraints[1].cel", Level.ERROR),
    ]


def test_a_toolkit_that_is_in_no_file_may_be_in_the_cluster() -> None:
    assert found(TOOLSPEC) == [("spec.toolkit", Level.WARNING)]


def test_a_toolspec_that_is_in_no_file_may_be_in_the_cluster() -> None:
    assert found(CLASS) == [("spec.toolspecs", Level.WARNING)]


def test_a_class_with_a_tool_that_nothing_judges_is_told() -> None:
    tools = [{"name": name, "command": [name]} for name in ("say", "shout")]

    (finding,) = findings(TOOLKIT, TOOLSPEC, manifests.session_class(tools=tools, toolspecs=[{"name": "one"}]))

    assert (finding.path, finding.level) == ("spec.toolspecs", Level.ERROR)
    assert "shout" in finding.message


def test_a_session_that_names_what_its_class_does_not_is_told() -> None:
    session = manifests.session(**{"class": "one"}, toolspecs=[{"name": "other"}])

    (finding,) = findings(TOOLKIT, TOOLSPEC, CLASS, session)

    assert finding.path == "spec.toolspecs"
    assert "other" in finding.message


def test_a_call_that_no_toolspec_allows_is_told() -> None:
    (finding,) = findings(TOOLKIT, TOOLSPEC, CLASS, SESSION, manifests.call(session="one", tool="say", args=["--loud"]))

    assert "--loud" in finding.message
