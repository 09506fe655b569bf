"""Whether one toolspec allows a call, which rule decided, and what every other rule said."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.unit.core.policy.deciding import decisions
from tests.unit.core.policy.deciding.decisions import GH, GIT, READER, allowed, denied, judged, toolspec
from toolcall_operator.core.policy.commandline.grammar import Grammar
from toolcall_operator.core.policy.deciding import decision, redaction
from toolcall_operator.core.policy.deciding.decision import Outcome


def test_a_program_that_the_toolkit_does_not_describe_is_denied() -> None:
    found = decision.judge(toolspec(), decisions.invocation("/usr/bin/sh", "status")).denial

    assert found is not None
    assert (found.path, found.reason) == ("binary", 'the tool runs "sh", and the toolkit describes "git"')
    assert decision.judge(toolspec(), decisions.invocation("/usr/bin/git", "status")).denial is None


def test_an_unknown_subcommand_is_denied_by_the_parser() -> None:
    found = denied(toolspec(), "gc")

    assert found.path == "parse"
    assert 'unknown subcommand "gc"' in found.reason


def test_a_subcommand_that_the_toolkit_lacks_is_denied_and_nothing_is_raised() -> None:
    policy, other = toolspec(), decisions.toolkit(GH)
    strange = dataclasses.replace(policy, toolkit=dataclasses.replace(policy.toolkit, grammar=Grammar.of(other.spec)))

    assert denied(strange, "status").path == "parse"


# Exceptions -----------------------------------------------------------------------------------------------------------
def excepting(*overrides: str, when: str, message: str | None = None) -> Any:  # noqa: ANN401 (a toolspec)
    """A toolspec that denies what is destructive, but for an exception."""
    return toolspec(
        deny={"effects": {"destructive": True}},
        exceptions=[{"overrides": overrides, "when": when, **({"message": message} if message else {})}],
    )


def test_an_exception_whose_condition_holds_lifts_its_rule_and_the_trace_says_so() -> None:
    policy = excepting(
        "deny.effects.destructive", when="call.positional.repository == 'fork'", message="forks are ours"
    )

    found = allowed(policy, "push", "fork")

    step = next(step for step in found.trace if step.path == "deny.effects.destructive")
    assert (step.outcome, step.detail) == (Outcome.OVERRIDDEN, "forks are ours")


@pytest.mark.parametrize(
    ("overrides", "when"),
    (
        pytest.param("deny.effects.destructive", "false", id="condition does not hold"),
        pytest.param("deny.effects.writes", "true", id="of another rule"),
        pytest.param("deny.effects.destructive", "config.force", id="condition without a value"),
        pytest.param("deny.effects.destructive", "call.flags.force", id="condition about what is not there"),
    ),
)
def test_an_exception_lifts_nothing_else(overrides: str, when: str) -> None:
    assert denied(excepting(overrides, when=when), "push", "fork").path == "deny.effects.destructive"


def test_an_exception_whose_condition_has_no_value_says_so_where_its_rule_denies() -> None:
    policy = toolspec(
        deny={"effects": {"destructive": True}},
        exceptions=[
            {"overrides": ["deny.effects.writes"], "when": "true"},
            {"overrides": ["deny.effects.destructive"], "when": "config.force"},
            {"overrides": ["deny.effects.destructive"], "when": "call.positional.depth == '1'"},
        ],
    )

    found = judged(policy, "push", "fork")

    step = next(step for step in found.trace if step.path == "deny.effects.destructive")
    assert step.outcome is Outcome.DENIED
    assert step.detail == (
        "the subcommand can destroy what cannot be had again; exceptions[1] could not be evaluated: config has no key "
        "force; exceptions[2] could not be evaluated: call.positional has no key depth"
    )
    assert found.denial is not None
    assert found.denial.reason == step.detail


def test_why_exceptions_have_no_value_is_told_without_sensitive_values_and_within_bounds() -> None:
    secret, files = "hunter2hunter2", [f"/etc/{number}-{'x' * 200}" for number in range(9)]
    policy = toolspec(
        READER,
        allow={"filesystem": {"pathsUnder": [f"/workspace/{'y' * 60}{number}" for number in range(9)]}},
        exceptions=[{"overrides": ["allow.filesystem.pathsUnder"], "when": f"config.{secret}"} for _ in range(9)],
    )

    found = judged(policy, "--token", secret, *files)

    step = next(step for step in found.trace if step.path == "allow.filesystem.pathsUnder")
    assert "exceptions[0] could not be evaluated: config has no key <redacted" in step.detail
    assert secret not in step.detail
    assert len(step.detail) <= redaction.LONGEST


def test_the_first_exception_that_holds_counts_and_one_before_it_without_a_value_says_so() -> None:
    policy = toolspec(
        deny={"effects": {"destructive": True}},
        exceptions=[
            {"overrides": ["deny.effects.destructive"], "when": "config.missing", "message": "one"},
            {"overrides": ["deny.effects.destructive"], "when": "true", "message": "two"},
            {"overrides": ["deny.effects.destructive"], "when": "true", "message": "three"},
        ],
    )

    found = allowed(policy, "push")

    (detail,) = (step.detail for step in found.trace if step.outcome is Outcome.OVERRIDDEN)
    assert detail == "two; exceptions[0] could not be evaluated: config has no key missing"


# Constraints ----------------------------------------------------------------------------------------------------------
def test_constraints_are_judged_in_order_up_to_the_first_that_does_not_hold() -> None:
    policy = toolspec(constraints=[{"cel": "true"}, {"cel": "call.subcommand == 'status'"}, {"cel": "config.missing"}])

    found = judged(policy, "push")

    assert found.denial is not None
    assert found.denial.path == "constraints[1]"
    assert found.denial.message == "constraint failed"
    assert [step.path for step in found.trace if step.path.startswith("constraints")] == [
        "constraints[0]",
        "constraints[1]",
    ]


def test_a_constraint_says_what_it_is_told_to_say() -> None:
    found = denied(toolspec(constraints=[{"cel": "false", "message": "never on a\nFriday\x1b[31m"}]), "status")

    assert found.message == "never on a Friday [31m"
    assert found.reason == "constraints[0] does not hold: never on a Friday [31m"


def test_what_stands_behind_a_double_dash_is_judged_as_well() -> None:
    policy = toolspec(READER, constraints=[{"cel": "call.positional.files.all(each, path.isUnder(each, '/work'))"}])

    assert denied(policy, "/work/a", "--", "/etc/shadow").path == "constraints[0]"
    allowed(policy, "/work/a", "--", "/work/b.txt")


def test_a_constraint_without_a_value_denies_with_the_error() -> None:
    found = denied(toolspec(constraints=[{"cel": "true"}, {"cel": "call.flag('short') == ''"}]), "status", "--short")

    assert found.path == "constraints[1]"
    assert "could not be evaluated: call.flag() is for flags whose value is a text" in found.reason


def test_a_constraint_about_configuration_that_is_not_there_denies_with_the_error() -> None:
    found = denied(toolspec(constraints=[{"cel": "config.team == 'a'"}]), "status")

    assert (found.path, found.reason) == (
        "constraints[0]",
        "constraints[0] could not be evaluated: config has no key team",
    )


def test_a_constraint_that_turns_out_to_be_no_condition_denies() -> None:
    found = denied(toolspec(constraints=[{"cel": "config.answer"}]), "status", config={"answer": "yes"})

    assert found.path == "constraints[0]"
    assert "the expression gives string, not bool" in found.reason


def test_a_constraint_that_takes_too_much_work_is_stopped_and_denies() -> None:
    cel = "call.positional.files.all(a, call.positional.files.all(b, a + b != call.env.LONG + a))"
    files = [f"file-{number}-" + "x" * 4_000 for number in range(250)]

    found = denied(toolspec(READER, constraints=[{"cel": cel}]), *files, env={"LONG": "y" * 30_000})

    assert found.path == "constraints[0]"
    assert "takes too much work" in found.reason


def test_a_list_too_long_for_an_expression_denies_only_where_one_asks_for_it() -> None:
    files = ["x"] * 257
    policy = toolspec(READER, constraints=[{"cel": "call.positional.files.all(each, each == 'x')"}])

    assert denied(policy, *files).path == "constraints[0]"
    allowed(toolspec(READER, constraints=[{"cel": "call.subcommand == ''"}]), *files)


def test_expressions_see_the_call_as_its_process_will_be() -> None:
    cel = (
        "call.subcommand == 'add' && call.subcommandPath == ['add'] && call.argv == ['-C', 'sub', 'add', '--', 'a'] && "
        "call.tail == ['a'] && call.flags == {'C': 'sub'} && call.positional == {'paths': ['a']} && "
        "call.cwd == '/workspace' && "
        "call.env == {'API_HOST': 'x'} && call.binaryVersion == '2.40.0' && call.resourceId == '' && call.hasStdin && "
        "call.effects.filesystem.paths == ['/workspace/sub/a'] && config == {'a': [1, null, {'b': 2.5}]}"
    )

    allowed(
        toolspec(constraints=[{"cel": cel}]),
        *("-C", "sub", "add", "--", "a"),
        env={"API_HOST": "x"},
        binary_version="2.40.0",
        has_stdin=True,
        config={"a": [1, None, {"b": 2.5}]},
    )


REPOSITORIES = {
    "cel": "call.resourceId == '' || "
    "config.repos.exists(each, glob.match('https://github.com/' + each, call.resourceId))",
    "message": "the repository is not on the list of this session",
}
ACME: dict[str, Any] = {"config": {"repos": ["acme/*"]}}


# Repositories that are allowed by configuration -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("url", "repos", "allows"),
    (
        pytest.param("https://github.com/acme/x", ["acme/*"], True, id="of the owner"),
        pytest.param("https://github.com/other/x", ["acme/*"], False, id="of another owner"),
        pytest.param("https://gitlab.com/acme/x", ["acme/*"], False, id="on another host"),
        pytest.param("https://github.com/acme/x", [], False, id="empty list"),
        pytest.param("https://github.com/acme/../other/x", ["acme/*", "*/*/*/*"], False, id="around by dots"),
        pytest.param("https://github.com/acme/x\\@evil.com", ["acme/*"], False, id="read differently by programs"),
        pytest.param("acme/x", ["acme/*"], False, id="a folder"),
    ),
)
def test_a_repository_is_cloned_only_if_it_is_on_the_list(url: str, repos: list[str], *, allows: bool) -> None:
    found = judged(toolspec(constraints=[REPOSITORIES]), "clone", url, config={"repos": repos}).denial

    assert (found and found.path) == (None if allows else "constraints[0]")
    assert (found and found.message) == (None if allows else REPOSITORIES["message"])


def test_a_call_about_no_repository_is_left_alone_by_the_list() -> None:
    allowed(toolspec(constraints=[REPOSITORIES]), "status", **ACME)


def test_a_call_that_needs_a_repository_must_name_one_of_the_list() -> None:
    policy = toolspec(GH, constraints=[REPOSITORIES])

    assert denied(policy, "pr", "view", "1", **ACME).path == "constraints[0]"
    assert denied(policy, "pr", "view", "1", "-R", "other/x", **ACME).path == "constraints[0]"
    allowed(policy, "pr", "view", "1", "-R", "acme/x", **ACME)
    allowed(policy, "status", **ACME)


# The trace ------------------------------------------------------------------------------------------------------------
def test_the_trace_names_every_rule_in_order() -> None:
    found = allowed(toolspec(constraints=[{"cel": "true"}]), "status", binary_version="2.40.0")

    assert [(step.path, step.outcome.value) for step in found.trace] == [
        ("binary", "Held"),
        ("parse", "Held"),
        ("revision", "Held"),
        ("config", "Held"),
        ("binaryVersion", "Held"),
        ("env", "Held"),
        ("allow.stdin", "Held"),
        ("allowSubcommands", "Held"),
        ("flags", "Held"),
        ("deny.effects.destructive", "NotBound"),
        ("deny.effects.reads", "NotBound"),
        ("deny.effects.writes", "NotBound"),
        ("deny.effects.creds.writes", "NotBound"),
        ("allow.network.destinations", "NotBound"),
        ("allow.filesystem.pathsUnder", "NotBound"),
        ("allow.creds.required", "NotBound"),
        ("constraints[0]", "Held"),
    ]


def test_the_trace_ends_where_the_call_is_not_even_the_toolspecs_business() -> None:
    assert [step.path for step in judged(toolspec(GIT, "status"), "push").trace][-1] == "allowSubcommands"
    assert [step.path for step in judged(toolspec(), "gc").trace] == ["binary", "parse"]


def test_a_rule_that_refuses_says_where_it_would_not_count() -> None:
    exception = {"overrides": ["deny.effects.destructive"], "when": "false", "message": "Nothing is overwritten"}
    found = denied(toolspec(deny={"effects": {"destructive": True}}, exceptions=[exception]), "push")

    assert found.reason.endswith("; it does not count where: Nothing is overwritten")


def test_a_constraint_without_a_value_says_what_it_is_there_for() -> None:
    found = denied(toolspec(constraints=[{"cel": "config.team == 'a'", "message": "Only team a"}]), "status")

    assert found.reason == "constraints[0] could not be evaluated: config has no key team; it says: Only team a"
