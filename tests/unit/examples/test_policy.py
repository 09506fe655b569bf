"""The class, the session and the calls of examples/policy: what they say happens, and nothing of theirs is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.unit.examples import library
from tests.unit.examples.library import Setting
from toolcall_operator.core.policy.deciding.decision import Judgement

EXPECT = "toolcall.agentprimitives.authzed.com/expect"

RULES: Mapping[str, set[str | None]] = {
    "allowed": {None},
    "dots": {"allow.filesystem.pathsUnder"},
    "git-config": {"parse"},
    "git-elsewhere": {"allowSubcommands", "constraints[0]"},
    "curl-elsewhere": {"constraints[2]"},
    "python-program": {"flags"},
    "python-stdin": {"allow.stdin"},
    "jq-environment": {"constraints[0]"},
    "kubectl-secrets": {"constraints[0]"},
    "variable": {"env"},
}
"""The rules that refuse each call, by every toolspec of its tool."""


def test_the_class_names_every_toolspec_of_the_examples_and_they_cover_its_tools() -> None:
    spicebox_class, session, _ = library.policy()

    assert {each.name for each in spicebox_class.spec.toolspecs} == {*library.toolspec_objects()}
    assert {tool.name for tool in spicebox_class.spec.tools} == {*library.toolkit_objects()}
    assert session.spec.class_ == spicebox_class.metadata.name


def test_every_call_is_tried() -> None:
    assert {*RULES} == {*library.policy()[2]}


@pytest.mark.parametrize("name", RULES)
def test_a_call_is_refused_by_the_rules_that_are_meant(name: str) -> None:
    found = {judgement.denial and judgement.denial.path for judgement in _judgements(name)}

    assert found == RULES[name]


@pytest.mark.parametrize("name", RULES)
def test_a_call_ends_as_it_says(name: str) -> None:
    annotations = library.policy()[2][name].metadata.annotations or {}

    allowed, forbidden = RULES[name] == {None}, RULES[name] == {"env"}
    assert annotations[EXPECT] == (
        "ProcessExited" if allowed else "EnvNameForbidden" if forbidden else "ToolspecDenied"
    )


@pytest.mark.parametrize("name", RULES)
def test_a_refusal_has_a_reason_for_people(name: str) -> None:
    for judgement in _judgements(name):
        if judgement.denial:
            assert len(judgement.denial.reason) > len("refused")


def _judgements(name: str) -> Iterator[Judgement]:
    """What each toolspec of the call's tool says of it."""
    call = library.policy()[2][name].spec
    for toolspec in library.toolspec_objects():
        if library.toolspec(toolspec).tool == call.tool:
            yield library.judged(
                toolspec, *call.args, setting=Setting(stdin=call.stdin is not None, env=call.env or {})
            )
