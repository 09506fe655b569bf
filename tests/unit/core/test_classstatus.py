"""The status of a class."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.core.examples import NOW, session_class
from toolcall_operator.core import classes, classstatus


def test_a_class_tells_the_verdict_and_since_when_it_stands() -> None:
    good, bad = session_class(image="tools:1"), session_class(image=" ")

    first = classstatus.judged(good, classes.judged(good), NOW)
    later = classstatus.judged(
        bad.model_copy(update={"status": first}), classes.judged(bad), NOW + timedelta(minutes=1)
    )

    assert [(each.type, each.status, each.reason) for each in first.conditions] == [("Valid", "True", "Valid")]
    (told,) = later.conditions
    assert (told.status, told.reason) == ("False", "InvalidImage")
    assert told.last_transition_time == NOW + timedelta(minutes=1)


def test_the_same_verdict_is_the_same_status() -> None:
    good = session_class(image="tools:1")
    first = classstatus.judged(good, classes.judged(good), NOW)

    again = classstatus.judged(
        good.model_copy(update={"status": first}), classes.judged(good), NOW + timedelta(hours=1)
    )

    assert again == first


def test_a_class_tells_by_which_toolspecs_its_calls_are_judged_as_long_as_they_are() -> None:
    judged = session_class(image="tools:1")
    covered = classes.judged(judged)._replace(coverage={"echo": ("echo-all",), "cat": ()})

    first = classstatus.judged(judged, covered, NOW)
    with_first = judged.model_copy(update={"status": first})

    assert first.to_manifest()["toolspecCoverage"] == {"echo": ["echo-all"], "cat": []}
    assert classstatus.judged(with_first, covered, NOW + timedelta(hours=1)) == first
    assert classstatus.judged(with_first, covered._replace(coverage={}), NOW).toolspec_coverage == {}
    assert classstatus.judged(with_first, classes.unread("bad"), NOW).toolspec_coverage == first.toolspec_coverage
    assert "toolspecCoverage" not in classstatus.judged(judged, classes.judged(judged), NOW).to_manifest()
