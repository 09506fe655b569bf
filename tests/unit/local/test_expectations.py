"""What authors expect of their calls, and what they get."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from toolcall_operator.core import status
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.status import Subject
from toolcall_operator.local import expectations
from toolcall_operator.local.entries import Entry

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def entry(annotations: object, ended: Reason | None = Reason.TOOL_UNKNOWN) -> Entry:
    known = status.settled(Subject(), Refused(ended, "because"), NOW) if ended else None
    return Entry("x:1", {"metadata": {"name": "build", "annotations": annotations}}, None, known)


@pytest.mark.parametrize(
    ("judged", "verdict", "holds"),
    (
        (entry({expectations.ANNOTATION: "ToolUnknown"}), ("ToolUnknown", "ToolUnknown"), "holds"),
        (entry({expectations.ANNOTATION: "SessionGone"}), ("SessionGone", "ToolUnknown"), "fails"),
        (entry({}), ("ProcessExited", "ToolUnknown"), "fails"),
        (entry("none"), ("ProcessExited", "ToolUnknown"), "fails"),
        (entry({expectations.ANNOTATION: "SessionGone"}, None), ("SessionGone", ""), "fails"),
    ),
    ids=("met", "another reason", "no annotation", "annotations that are none", "did not end"),
)
def test_a_call_is_judged_by_the_reason_it_ended_for(judged: Entry, verdict: tuple[str, str], holds: str) -> None:
    (found,) = expectations.judged([judged])

    assert (found.name, found.expected, found.actual) == ("build", *verdict)
    assert found.holds is (holds == "holds")


def test_a_call_that_was_not_to_run_is_not_judged() -> None:
    assert expectations.judged([replace(entry({}, None), leaving="it is being deleted")]) == ()
