"""The statuses of toolkits and toolspecs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.core.examples import NOW
from tests.unit.core.policy.loading import policies
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec, SpiceboxToolspecStatus
from toolcall_operator.core.policy.loading import policystatus, toolkits
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason

LATER = NOW + timedelta(minutes=1)
WRONG = Objection(PolicyReason.CEL_COMPILE_ERROR, "spec.constraints[0].cel 1:1: nobody knows it")


def with_status(toolspec: SpiceboxToolspec, status: SpiceboxToolspecStatus, generation: int = 1) -> SpiceboxToolspec:
    metadata = toolspec.metadata.model_copy(update={"generation": generation})
    return toolspec.model_copy(update={"metadata": metadata, "status": status})


def test_a_toolkit_tells_whether_it_can_be_built_on() -> None:
    good, bad = policies.spiceboxtoolkit(), policies.spiceboxtoolkit(version=None)

    found = [policystatus.of_toolkit(each, toolkits.judged(each), NOW).to_manifest() for each in (good, bad)]

    for status, holds, reason, message in zip(
        found,
        ("True", "False"),
        ("Resolved", "SpecLoadFailed"),
        ("toolspecs can build on it", "spec.version is required"),
        strict=True,
    ):
        (condition,) = status["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Valid", holds, reason)
        assert (condition["message"], condition["observedGeneration"]) == (message, 1)
        assert status["observedGeneration"] == 1


def test_a_toolspec_tells_with_which_toolkit_it_was_read() -> None:
    status = policystatus.of_toolspec(policies.spiceboxtoolspec(), policies.toolspec(), NOW)

    (condition,) = status.conditions
    assert (condition.type, condition.status, condition.reason) == ("Valid", "True", "Resolved")
    assert (status.resolved_toolkit, status.observed_generation) == ("one", 1)


def test_a_toolspec_that_cannot_judge_any_more_tells_no_toolkit_and_since_when() -> None:
    seen = policies.spiceboxtoolspec()
    first = policystatus.of_toolspec(seen, policies.toolspec(), NOW)

    later = policystatus.of_toolspec(with_status(seen, first, 2), WRONG, LATER)

    (condition,) = later.conditions
    assert (condition.status, condition.reason, condition.message) == ("False", WRONG.reason, WRONG.message)
    assert condition.last_transition_time == LATER
    assert (later.resolved_toolkit, later.observed_generation) == (None, 2)
    assert "resolvedToolkit" not in later.to_manifest()


def test_the_same_verdict_is_the_same_status() -> None:
    seen = policies.spiceboxtoolspec()
    first = policystatus.of_toolspec(seen, policies.toolspec(), NOW)

    assert policystatus.of_toolspec(with_status(seen, first), policies.toolspec(), LATER) == first
    toolkit = policies.spiceboxtoolkit()
    status = policystatus.of_toolkit(toolkit, policies.toolkit(), NOW)
    again = toolkit.model_copy(update={"status": status})
    assert policystatus.of_toolkit(again, policies.toolkit(), LATER) == status


@pytest.mark.parametrize(
    ("judgement", "generation", "valid"),
    ((policies.toolspec(), 1, True), (policies.toolspec(), 2, False), (WRONG, 1, False)),
    ids=["valid", "of an older generation", "not valid"],
)
def test_a_toolspec_is_shown_as_valid_when_its_status_says_so_of_what_it_is_now(
    judgement: Any,  # noqa: ANN401 (one of two kinds)
    generation: int,
    valid: bool,  # noqa: FBT001 (a column of the table)
) -> None:
    seen = policies.spiceboxtoolspec()
    status = policystatus.of_toolspec(seen, judgement, NOW)

    assert policystatus.is_valid(with_status(seen, status, generation)) is valid


def test_a_toolspec_without_a_status_is_not_shown_as_valid() -> None:
    assert not policystatus.is_valid(policies.spiceboxtoolspec())
    assert not policystatus.is_valid(with_status(policies.spiceboxtoolspec(), SpiceboxToolspecStatus()))
