"""A decision told to people."""

from __future__ import annotations

from tests.unit.core.policy.deciding import decisions
from tests.unit.core.policy.deciding.decisions import GIT, READER, toolspec
from toolcall_operator.core.policy.deciding import candidates, explanation
from toolcall_operator.core.policy.deciding.candidates import Candidate, Invalid, Pending


def told(*of: Candidate, argv: tuple[str, ...] = ("status",), program: str = "git", **env: str) -> str:
    """The decision on a call, told."""
    call = decisions.invocation(program, *argv, env=env)
    return explanation.text(candidates.decide(program, of, lambda _: call))


def test_an_allowed_call_is_told_from_its_end_to_its_rules() -> None:
    assert told(toolspec(name="reading"), argv=("-C", "sub", "status", "-s"), API_HOST="x") == (
        """\
allowed by toolspec reading

toolspec reading, for toolkit git of revision 2
  allows the call
  command line, subcommand "status"
    "-C": global flag C
    "sub": value of C
    "status": subcommand status
    "-s": flag short
  effects
    destructive: no
    reads: filesystem
    writes: none
    connects to: none
    files: "/workspace/sub"
    credentials: none
    changes credentials: none
  environment, by its names
    API_HOST
  rules
    binary: Held
    parse: Held
    revision: Held
    config: Held
    env: Held
    allow.stdin: Held
    allowSubcommands: Held
    flags: Held
    not bound: binaryVersion, deny.effects.destructive, deny.effects.reads, deny.effects.writes, \
deny.effects.creds.writes, allow.network.destinations, allow.filesystem.pathsUnder, allow.creds.required
  warnings
    VersionUnverified"""
    )


def test_a_denied_call_is_told_with_the_rule_that_decided_and_what_it_says() -> None:
    policy = toolspec(constraints=[{"cel": "false", "message": "not today"}])

    lines = told(policy).splitlines()

    assert lines[0] == "denied: all 1 candidate spec(s) denied — policy: constraints[0] does not hold: not today"
    assert "  denies the call by constraints[0]: constraints[0] does not hold: not today" in lines
    assert "  the rule says: not today" in lines


def test_a_command_line_that_was_not_understood_is_told_without_effects() -> None:
    text = told(toolspec(), argv=("gc",))

    assert 'parse: Denied (unknown subcommand "gc"' in text
    assert "effects" not in text


def test_toolspecs_that_cannot_judge_are_told_too() -> None:
    text = told(Pending("late"), Invalid("broken", "SpecLoadFailed", "spec.version is required"), toolspec(GIT, "add"))

    assert text.startswith("waiting for toolspec late; if they never can judge, the call is\ndenied: all 3 candidate")
    assert "toolspec late: has not been judged yet" in text
    assert "toolspec broken: is not valid (SpecLoadFailed): spec.version is required" in text
    assert "toolspec policy, for toolkit git of revision 2" in text


def test_those_that_were_asked_before_are_told_first() -> None:
    text = told(toolspec(GIT, "add", name="strict"), toolspec(name="lax"))

    assert text.index("toolspec strict,") < text.index("toolspec lax,")
    assert text.startswith("allowed by toolspec lax")


def test_without_a_toolspec_that_is_all_there_is_to_tell() -> None:
    assert told() == "denied: no toolspec of the session speaks of git"


def test_nothing_sensitive_is_told() -> None:
    text = told(toolspec(READER), argv=("--token=hunter2", "a"), program="reader", DB_PASSWORD="geheim")

    assert "hunter2" not in text
    assert "geheim" not in text
    assert "DB_PASSWORD" in text


def test_places_are_told_up_to_a_number_and_those_that_are_refused_as_such() -> None:
    text = told(toolspec(READER), argv=(*map(str, range(20)), "../x"), program="reader")

    assert '"/workspace/15", and 4 more, "../x" (refused)' in text


def test_no_line_can_be_forged() -> None:
    text = told(toolspec(READER), argv=("a\n  rules\n    env: Held\x1b[31m",), program="reader")

    assert text.count("\n  rules\n") == 1
    assert "\x1b" not in text
