"""What the toolspecs of a session say of a call together."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.policy.deciding import decisions
from tests.unit.core.policy.deciding.decisions import GIT, READER, toolspec
from toolcall_operator.core.policy.deciding import candidates
from toolcall_operator.core.policy.deciding.candidates import (
    Allowed,
    Candidate,
    Decision,
    Denied,
    Failure,
    Invalid,
    Pending,
    Waiting,
)

STRICT = toolspec(GIT, "add", name="strict")
LAX = toolspec(GIT, "status", name="lax")
BROKEN = Invalid("broken", "CELCompileError", "spec.constraints[0].cel 1:1: there is no\n'cal'", "git")
LATE = Pending("late", "git")
REFUSED = 'subcommand "status" is not allowed: allowSubcommands has "add"'


def decided(*of: Candidate, **more: Any) -> Decision:  # noqa: ANN401 (fields of an invocation)
    """The decision on `git status`."""
    return candidates.decide("git", of, lambda _: decisions.invocation("git", "status", **more))


def denied(*of: Candidate, **more: Any) -> Denied:  # noqa: ANN401 (fields of an invocation)
    """The refusal of `git status`."""
    found = decided(*of, **more)
    assert isinstance(found, Denied)
    return found


def test_a_toolspec_that_allows_is_named() -> None:
    found = decided(LAX)

    assert isinstance(found, Allowed)
    assert (found.toolspec, found.judgement.name, found.before) == (LAX, "lax", ())


def test_without_a_toolspec_for_the_tool_nothing_is_allowed() -> None:
    found = denied()

    assert found.failures == (Failure("", "no toolspec of the session speaks of git"),)
    assert found.message == "no toolspec of the session speaks of git"


def test_the_first_that_allows_counts() -> None:
    found = decided(STRICT, LAX, toolspec(GIT, "status", name="later"))

    assert isinstance(found, Allowed)
    assert found.toolspec is LAX
    assert [each.name for each in found.before] == ["strict"]


def test_every_toolspec_that_denies_says_why() -> None:
    ruled = toolspec(GIT, name="ruled", constraints=[{"cel": "false", "message": "never"}])

    found = denied(STRICT, ruled)

    assert found.failures == (
        Failure("strict", REFUSED, "allowSubcommands"),
        Failure("ruled", "constraints[0] does not hold: never", "constraints[0]", "never"),
    )
    assert (
        found.message
        == f"all 2 candidate spec(s) denied — strict: {REFUSED}; ruled: constraints[0] does not hold: never"
    )


def test_one_that_could_not_evaluate_an_expression_denies_like_the_others() -> None:
    found = denied(toolspec(GIT, constraints=[{"cel": "config.team == 'a'"}]))

    assert found.failures[0].path == "constraints[0]"
    assert found.message.startswith("all 1 candidate spec(s) denied — policy: constraints[0] could not be evaluated")


def test_one_that_is_not_valid_denies_with_its_reason() -> None:
    words = "is not valid (CELCompileError): spec.constraints[0].cel 1:1: there is no 'cal'"

    assert denied(BROKEN).failures == (Failure("broken", words),)
    assert denied(BROKEN).message == f"all 1 candidate spec(s) denied — broken: {words}"
    assert isinstance(decided(BROKEN, LAX), Allowed)


@pytest.mark.parametrize("others", ((), (STRICT,), (BROKEN,)))
def test_one_that_may_still_allow_is_waited_for(others: tuple[Candidate, ...]) -> None:
    found = decided(*others, LATE)

    assert isinstance(found, Waiting)
    assert found.names == ("late",)
    assert found.refusal.failures[-1] == Failure("late", "has not been judged yet")
    assert "late: has not been judged yet" in found.refusal.message


def test_a_call_that_waits_says_what_for_and_not_that_it_was_denied() -> None:
    found = decided(STRICT, LATE, Pending("later", "git"))

    assert isinstance(found, Waiting)
    assert found.message == "no toolspec allows the call yet; it waits for some to be judged: late, later"
    assert found.refusal.message.startswith("all 3 candidate spec(s) denied")


def test_what_a_call_says_while_it_waits_has_an_end() -> None:
    found = decided(*(Pending(f"{number}-{'x' * 200}", "git") for number in range(40)))

    assert isinstance(found, Waiting)
    assert len(found.message) == candidates.MESSAGE


def test_nobody_is_waited_for_where_another_allows() -> None:
    assert isinstance(decided(LATE, LAX), Allowed)


def test_each_toolspec_judges_the_call_as_it_would_run_under_it() -> None:
    kits = {"one": decisions.invocation("git", "push"), "lax": decisions.invocation("git", "status")}

    found = candidates.decide("git", [toolspec(GIT, "status", name="one"), LAX], lambda each: kits[each.name])

    assert isinstance(found, Allowed)
    assert found.toolspec is LAX


def test_the_message_has_an_end() -> None:
    every = [toolspec(READER, name=f"policy-{number}", allowSubcommands=[]) for number in range(40)]

    found = candidates.decide("reader", every, lambda _: decisions.invocation("reader"))

    assert isinstance(found, Denied)
    assert len(found.failures) == 40
    assert len(found.message) == candidates.MESSAGE
