"""The rules that no exception lifts."""

from __future__ import annotations

import pytest

from tests.unit.core.policy.deciding.decisions import GIT, PYTHON, READER, allowed, denied, judged, outcome, toolspec
from toolcall_operator.core.policy.deciding import decision, gates
from toolcall_operator.core.policy.deciding.decision import Outcome


def test_a_toolspec_for_another_revision_is_denied() -> None:
    found = denied(toolspec(toolkit={"name": "git", "revision": "1"}), "status")

    assert found.path == "revision"
    assert found.reason == 'the toolspec is for revision "1" of the toolkit, this is "2"'


@pytest.mark.parametrize(
    ("required", "version", "path"),
    (
        pytest.param(True, None, "binaryVersion", id="required and not known"),
        pytest.param(True, "2.47.1", None, id="required and in range"),
        pytest.param(True, "3.1.0", "binaryVersion", id="required and out of range"),
        pytest.param(False, "2.1.0", "binaryVersion", id="known to be out of range"),
        pytest.param(False, "a while ago", "binaryVersion", id="no version"),
        pytest.param(False, "2.40.0", None, id="known to be in range"),
    ),
)
def test_a_version_that_is_known_or_required_is_in_the_range(
    version: str | None,
    path: str | None,
    *,
    required: bool,
) -> None:
    policy = toolspec(require={"verifiedBinaryVersion": required})

    found = judged(policy, "status", binary_version=version)

    assert (found.denial and found.denial.path) == path
    assert found.warnings == (() if version else ("VersionUnverified",))


def test_a_version_that_nobody_requires_is_warned_of() -> None:
    found = allowed(toolspec(), "status")

    assert found.warnings == ("VersionUnverified",)
    assert outcome(found, "binaryVersion") is Outcome.NOT_BOUND


# The environment and standard input -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "words"),
    (
        ("TEAM", "variable \"TEAM\" is neither in the toolkit's env.allowed nor in the class's allowedEnvNames"),
        ("LD_PRELOAD", 'variable "LD_PRELOAD" steers programs, and the toolkit does not list it in env.allowed'),
    ),
)
def test_a_variable_that_nobody_lists_is_denied(name: str, words: str) -> None:
    found = denied(toolspec(), "status", env={name: "x"}, given=frozenset({name}))

    assert (found.path, found.reason) == (decision.ENV, words)


def test_a_variable_may_be_set_that_the_toolkit_or_the_class_lists() -> None:
    names = frozenset({"GIT_AUTHOR_NAME", "TEAM"})

    allowed(toolspec(), "status", env=dict.fromkeys(names, "x"), given=names, class_env=frozenset({"TEAM"}))


def test_a_class_cannot_let_a_variable_be_set_that_steers_programs() -> None:
    found = denied(toolspec(), "status", given=frozenset({"BASH_ENV"}), class_env=frozenset({"BASH_ENV"}))

    assert found.path == "env"


def test_variables_that_neither_call_nor_session_set_are_not_judged() -> None:
    allowed(toolspec(), "status", env={"PATH": "/bin", "LD_LIBRARY_PATH": "/lib"})


def test_standard_input_is_no_program_unless_the_toolspec_allows_one() -> None:
    assert denied(toolspec(PYTHON), has_stdin=True).path == "allow.stdin"
    allowed(toolspec(PYTHON), has_stdin=False)
    allowed(toolspec(PYTHON, allow={"stdin": True}), has_stdin=True)
    allowed(toolspec(READER), has_stdin=True)


# Subcommands and flags ------------------------------------------------------------------------------------------------
def test_a_subcommand_outside_the_list_is_denied() -> None:
    found = denied(toolspec(GIT, "status", "add"), "push")

    assert found.path == "allowSubcommands"
    assert found.reason == 'subcommand "push" is not allowed: allowSubcommands has "status", "add"'


def test_an_empty_list_of_subcommands_allows_none() -> None:
    found = denied(toolspec(allowSubcommands=[]), "status")

    assert found.reason == 'subcommand "status" is not allowed: allowSubcommands is empty and allows nothing'


def test_a_flag_that_needs_a_constraint_is_denied_where_none_names_it() -> None:
    named = toolspec(constraints=[{"cel": "!('c' in call.flags) || call.flags['c'] == ['core.abbrev=7']"}])

    assert denied(toolspec(), "-c", "core.abbrev=7", "status").path == "flags"
    assert denied(named, "-c", "core.pager=sh", "status").path == "constraints[0]"
    allowed(named, "-c", "core.abbrev=7", "status")
    allowed(toolspec(), "status")


def test_a_long_list_is_told_in_part() -> None:
    assert gates.listed(map(str, range(10)), "it") == 'it has "0", "1", "2", "3", "4", "5", "6", "7" and 2 more'
