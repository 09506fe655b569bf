"""Who judges the calls of a session: what is there, in the session's order, as far as people can see it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.core.policy.loading import policies
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.policy import panel
from toolcall_operator.core.policy.deciding.candidates import Candidate, Invalid, Pending
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.unread import Unread

ONE, TWO = policies.spiceboxtoolspec("one"), policies.spiceboxtoolspec("two")
LOST = policies.spiceboxtoolspec("lost", toolkit={"name": "shout", "revision": "1"})


def library(*toolspecs: SpiceboxToolspec) -> Library:
    """A library of these toolspecs, and the toolkit of `say`."""
    made = Library()
    made.put_toolkit(policies.spiceboxtoolkit())
    for each in toolspecs:
        made.put_toolspec(each)
    return made


def judging(
    *names: str, toolspecs: tuple[SpiceboxToolspec, ...], is_shown: Callable[[SpiceboxToolspec], bool]
) -> tuple[Candidate, ...]:
    known = {each.metadata.name: each for each in toolspecs}
    return panel.of(names, known, library(*toolspecs), is_shown)


def test_toolspecs_judge_in_the_order_of_the_session() -> None:
    found = judging("two", "one", toolspecs=(ONE, TWO), is_shown=lambda _: True)

    assert [each.name for each in found] == ["two", "one"]
    assert not any(isinstance(each, Pending | Invalid) for each in found)


def test_one_that_does_not_exist_is_left_out() -> None:
    assert [each.name for each in judging("none", "one", toolspecs=(ONE,), is_shown=lambda _: True)] == ["one"]


def test_one_of_which_nobody_can_see_yet_that_it_is_valid_is_pending() -> None:
    found = judging("one", "two", toolspecs=(ONE, TWO), is_shown=lambda each: each.metadata.name == "two")

    assert found[0] == Pending("one", "say")
    assert found[1].name == "two"


def test_one_that_is_not_valid_says_why_and_of_which_tool_whatever_its_status_says() -> None:
    (found,) = judging("lost", toolspecs=(LOST,), is_shown=lambda _: True)

    assert isinstance(found, Invalid)
    assert (found.name, found.tool, found.reason) == ("lost", "shout", "ToolkitMissing")
    assert "shout" in found.message


def unread(spec: object, *problems: str) -> Candidate:
    """What a toolspec with this spec, which cannot be read, is to the calls of its session."""
    known = library()
    known.put_unread_toolspec("bad", Unread.of({"spec": spec}, problems))
    (found,) = panel.of(("bad",), {}, known, lambda _: True)
    return found


def test_one_that_cannot_be_read_speaks_of_the_tool_that_it_names() -> None:
    found = unread({"toolkit": {"name": "shout"}}, "spec.allowSubcommands is required")

    assert found == Invalid("bad", "SpecLoadFailed", "spec.allowSubcommands is required", "shout")


@pytest.mark.parametrize(
    "spec",
    (
        None,
        "text",
        {},
        {"toolkit": None},
        {"toolkit": ["x"]},
        {"toolkit": {"name": 7}},
        {"toolkit": {"name": "x" * 65}},
    ),
)
def test_of_one_that_cannot_be_read_and_names_no_tool_nobody_knows_of_which_it_speaks(spec: object) -> None:
    assert unread(spec, "spec.toolkit is required") == Invalid("bad", "SpecLoadFailed", "spec.toolkit is required")


def test_one_that_cannot_be_read_speaks_of_another_tool_once_it_names_another() -> None:
    known = library()
    for tool in ("one", "two"):
        known.put_unread_toolspec("bad", Unread.of({"spec": {"toolkit": {"name": tool}}}, ("the same",)))

    (found,) = panel.of(("bad",), {}, known, lambda _: True)
    gone = known.drop_toolspec("bad")

    assert found.tool == "two"
    assert gone == {"bad"}
