"""What lint has to say about toolkits and toolspecs, and about the classes and sessions that name them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.unit.api import manifests
from tests.unit.core.examples import NOW
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
    return lint(written, (*policychecks.CHECKS, partial(objections, now=NOW)))


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


def test_of_a_toolkit_whose_name_is_taken_every_other_problem_is_told_too() -> None:
    second = {**manifests.toolkit(), "metadata": {"name": "two"}}

    assert [path for path, _ in found(TOOLKIT, second)] == ["spec.name", "spec.version"]


def test_every_problem_of_a_toolspec_is_told_whatever_kind_it_is_of_and_each_once() -> None:
    wrong = manifests.toolspec(
        version=None, constraints=[{"cel": "nobody"}, {"message": "No cel."}], allowSubcommands=["", "quiet"]
    )

    assert sorted(found(TOOLKIT, wrong)) == [
        ("spec.allowSubcommands[1]", Level.ERROR),
        ("spec.constraints[0].cel", Level.ERROR),
        ("spec.constraints[1].cel", Level.ERROR),
        ("spec.version", Level.ERROR),
    ]


def test_a_toolkit_that_is_in_no_file_hides_no_problem_that_can_be_told_without_it() -> None:
    wrong = manifests.toolspec(
        version=None,
        allowSubcommands=["nobody knows"],
        allow={"filesystem": {"pathsUnder": ["work"]}},
        exceptions=[{"overrides": ["parse"], "when": "true"}],
        constraints=[{"cel": "call.nope =="}, {"cel": "call.subcommand"}],
        sensitive={"env": ["A-B"], "flags": ["nobody-knows"], "positional": ["nobody-knows"]},
        secretOutput={"name": "token", "source": "stderr"},
        observes=[{}],
    )

    remarks = found(wrong)

    assert ("spec.toolkit", Level.WARNING) in remarks
    assert {path for path, level in remarks if level is Level.ERROR} == {
        "spec.version",
        "spec.allow.filesystem.pathsUnder[0]",
        "spec.exceptions[0].overrides[0]",
        "spec.constraints[0].cel",
        "spec.constraints[1].cel",
        "spec.sensitive.env[0]",
        "spec.secretOutput.source",
        "spec.observes[0].facts",
        "spec.observes[0].subjects",
    }


def test_a_toolkit_that_is_in_no_file_may_be_in_the_cluster() -> None:
    assert found(TOOLSPEC) == [("spec.toolkit", Level.WARNING)]


def test_a_toolspec_that_is_in_no_file_may_be_in_the_cluster() -> None:
    assert found(CLASS) == [("spec.toolspecs", Level.WARNING)]


def test_a_class_with_a_tool_that_nothing_judges_is_told() -> None:
    tools = [{"name": name, "command": [name]} for name in ("say", "shout")]

    (finding,) = findings(TOOLKIT, TOOLSPEC, manifests.session_class(tools=tools, toolspecs=[{"name": "one"}]))

    assert (finding.path, finding.level) == ("spec.toolspecs", Level.ERROR)
    assert "shout" in finding.message


def test_a_class_whose_toolspec_waits_for_a_toolkit_in_no_file_may_be_covered() -> None:
    assert found(TOOLSPEC, CLASS) == [("spec.toolkit", Level.WARNING)]


def test_such_a_toolspec_covers_no_other_tool() -> None:
    tools = [{"name": name, "command": [name]} for name in ("say", "shout")]
    declared = manifests.session_class(tools=tools, toolspecs=[{"name": "one"}])

    (finding,) = (each for each in findings(TOOLSPEC, declared) if each.level is Level.ERROR)

    assert finding.message.startswith("has none that judges calls of shout: ")


def test_a_session_that_names_what_its_class_does_not_is_told() -> None:
    session = manifests.session(**{"class": "one"}, toolspecs=[{"name": "other"}])

    (finding,) = findings(TOOLKIT, TOOLSPEC, CLASS, session)

    assert finding.path == "spec.toolspecs"
    assert "other" in finding.message


def test_a_call_that_no_toolspec_allows_is_told() -> None:
    (finding,) = findings(TOOLKIT, TOOLSPEC, CLASS, SESSION, manifests.call(session="one", tool="say", args=["--loud"]))

    assert "--loud" in finding.message


REFUSED = manifests.call(session="one", tool="say", args=["--loud"])
BOTH = manifests.session_class(
    tools=[{"name": "say", "command": ["say"]}], toolspecs=[{"name": "one"}, {"name": "two"}]
)


@pytest.mark.parametrize(
    "documents",
    (
        (CLASS,),
        (CLASS, TOOLKIT),
        (CLASS, TOOLSPEC),
        (CLASS, TOOLSPEC, manifests.toolkit(version="1", toolkitRevision="2")),
        (BOTH, TOOLKIT, TOOLSPEC),
    ),
    ids=["neither is", "no toolspec", "no toolkit", "no toolkit of that revision", "one of two toolspecs is not"],
)
def test_a_call_that_a_toolspec_or_toolkit_in_no_file_may_allow_is_left_to_the_cluster(
    documents: tuple[dict[str, Any], ...],
) -> None:
    assert {level for _, level in found(*documents, SESSION, REFUSED)} == {Level.WARNING}


def test_what_else_speaks_against_such_a_call_is_told() -> None:
    wrong = manifests.call(session="one", tool="say", args=["--loud"], env={"API_KEY": "x"})

    assert [path for path, level in found(CLASS, SESSION, wrong) if level is Level.ERROR] == ["spec.env.API_KEY"]


def test_a_toolspec_that_the_session_leaves_out_or_that_speaks_of_another_tool_leaves_nothing_open() -> None:
    narrowed = manifests.session(**{"class": "one"}, toolspecs=[{"name": "one"}])
    other = {**manifests.toolspec(toolkit={"name": "shout", "revision": "1"}), "metadata": {"name": "two"}}

    for documents in ((BOTH, narrowed), (BOTH, SESSION, other)):
        (finding,) = (each for each in findings(TOOLKIT, TOOLSPEC, *documents, REFUSED) if each.level is Level.ERROR)
        assert "--loud" in finding.message


def test_a_rule_that_asks_for_the_time_is_told_it() -> None:
    timed = manifests.toolspec(constraints=[{"cel": "now() > timestamp('2000-01-01T00:00:00Z')"}])
    late = manifests.toolspec(constraints=[{"cel": "now() < timestamp('2000-01-01T00:00:00Z')"}])

    assert findings(TOOLKIT, timed, CLASS, SESSION, CALL) == ()
    assert "constraints[0]" in findings(TOOLKIT, late, CLASS, SESSION, CALL)[0].message


def test_a_toolspec_that_cannot_be_read_is_in_a_file_and_leaves_nothing_open() -> None:
    unread = manifests.toolspec(constraints="none")

    assert [path for path, level in found(TOOLKIT, unread, CLASS, SESSION, CALL) if level is Level.ERROR] == [
        "spec.constraints",
        "spec.toolspecs",
        "",
    ]
