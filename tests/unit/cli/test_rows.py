"""One call as one line: what is said at each step of its life, and that no text of it can be more than text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.toolcallstatus import Result, ToolCallStatus
from toolcall_operator.cli import rows
from toolcall_operator.local.entries import Entry

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
MANIFEST = {"metadata": {"name": "build"}, "spec": {"tool": "make"}}


def condition(kind: str, reason: str, message: str = "", status: str = "True") -> Condition:
    return Condition.model_validate(
        {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": NOW}
    )


def status(*conditions: Condition, text: str | None = None, **fields: Any) -> ToolCallStatus:  # noqa: ANN401 (fields)
    result = None if text is None else Result(kind="Exec", text=text)
    return ToolCallStatus.model_validate({"conditions": conditions, "result": result, **fields})


def row(known: ToolCallStatus | None, manifest: Mapping[str, Any] | None = None) -> rows.Row:
    return rows.row(Entry("calls.yaml:1", manifest or MANIFEST, None, known), NOW)


@pytest.mark.parametrize(
    ("known", "state"),
    (
        (None, "Pending"),
        (status(condition("Running", "Queued", status="False")), "Queued"),
        (status(condition("Validated", "Valid"), condition("Running", "Started")), "Running/Started"),
        (
            status(condition("Running", "Started"), condition("ReconcileRetrying", "ReconcileError")),
            "ReconcileRetrying/ReconcileError",
        ),
        (
            status(
                condition("Running", "NonZeroExit", status="False"),
                condition("Failed", "NonZeroExit"),
                condition("Finished", "NonZeroExit"),
            ),
            "Failed/NonZeroExit",
        ),
    ),
    ids=("nothing known", "waiting", "running", "held up", "ended"),
)
def test_the_state_is_the_condition_that_tells_most(known: ToolCallStatus | None, state: str) -> None:
    assert row(known).state == state


@pytest.mark.parametrize(
    ("fields", "duration"),
    (
        ({}, ""),
        ({"started_at": NOW - timedelta(seconds=3.5)}, "3.50s"),
        ({"started_at": NOW - timedelta(seconds=3.25), "finished_at": NOW - timedelta(seconds=2)}, "1.25s"),
        ({"started_at": NOW - timedelta(seconds=3), "finished_at": NOW - timedelta(seconds=1.75)}, "1.25s"),
        ({"started_at": NOW + timedelta(seconds=3.5)}, "0.00s"),
        ({"finished_at": NOW}, ""),
    ),
    ids=("not started", "running", "ended", "ended within a second", "a clock that was set back", "refused"),
)
def test_the_duration_counts_from_the_claim(fields: dict[str, Any], duration: str) -> None:
    assert row(status(**fields)).duration == duration


@pytest.mark.parametrize(
    ("seconds", "duration"),
    ((0, "<1s"), (2, "2s"), (None, "3s"), (-1, "<1s")),
    ids=("the same second", "ended", "running", "a clock that was set back"),
)
def test_times_of_whole_seconds_as_a_cluster_keeps_them_give_no_hundredths(seconds: int | None, duration: str) -> None:
    began = NOW - timedelta(seconds=3)
    ended = None if seconds is None else began + timedelta(seconds=seconds)
    later = NOW + timedelta(seconds=0.75)

    assert rows.duration(status(started_at=began, finished_at=ended), later) == duration


@pytest.mark.parametrize(
    ("known", "text"),
    (
        (status(condition("Succeeded", "ProcessExited", "exit code 0"), text="one\ntwo\n"), "one …"),
        (status(condition("Succeeded", "ProcessExited", "exit code 0"), text="one\n"), "one"),
        (status(condition("Succeeded", "ProcessExited", "exit code 0")), ""),
        (status(condition("Failed", "NonZeroExit", "exit code 1"), text=""), "exit code 1"),
        (status(condition("Failed", "ToolUnknown", "no such tool")), "no such tool"),
        (status(condition("Running", "Started", "given to its sandbox")), ""),
        (status(condition("Running", "Queued", "waits", status="False")), "waits"),
    ),
    ids=("output", "one line", "silent success", "silent failure", "refused", "running", "waiting"),
)
def test_the_first_line_of_output_is_shown_or_else_why_there_is_none(known: ToolCallStatus, text: str) -> None:
    assert row(known).text == text


def test_no_text_can_command_a_terminal() -> None:
    evil = "\x1b[2Jgone\x07 \x9b31m \u202eback\u2066 \ttab"
    manifest = {"metadata": {"name": evil}, "spec": {"tool": evil}}
    shown = row(status(condition("Failed", "NonZeroExit", evil), text=evil), manifest)

    assert all(text.isprintable() for text in (shown.name, shown.tool, shown.text))


def test_a_namespace_other_than_the_default_is_part_of_the_name() -> None:
    assert row(None, {"metadata": {"name": "build", "namespace": "default"}}).name == "build"
    assert row(None, {"metadata": {"name": "build", "namespace": "team"}}).name == "team/build"


def test_a_call_without_a_name_is_called_by_its_place() -> None:
    assert row(None, {"metadata": {"name": ["no", "name"]}, "spec": 7}).name == "calls.yaml:1"
    assert row(None, {"metadata": None}).tool == ""


@pytest.mark.parametrize(
    ("known", "good"),
    (
        (status(condition("Running", "Started")), None),
        (status(condition("Succeeded", "ProcessExited"), finished=True), True),
        (status(condition("Timeout", "DeadlineExceeded"), finished=True), False),
    ),
    ids=("running", "succeeded", "timed out"),
)
def test_whether_it_is_good_is_known_at_the_end(known: ToolCallStatus, good: object) -> None:
    assert row(known).good is good
