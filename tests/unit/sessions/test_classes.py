"""What is said of classes, and to whom."""

from __future__ import annotations

from tests.fakes.sessioncluster import settle
from tests.unit.sessions.stage import SessionStage, session, session_class
from toolcall_operator import errors


async def test_a_class_says_whether_it_is_valid_and_says_it_once(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class())
    await settle()
    stage.controller.touch_class("plain")
    await settle()

    (status,) = stage.cluster.reported_classes
    (valid,) = status.conditions
    assert (valid.type, valid.status, valid.reason, status.observed_generation) == ("Valid", "True", "Valid", 1)


async def test_a_class_that_is_not_valid_says_why_and_people_are_told(stage: SessionStage) -> None:
    stage.cluster.apply_class(session_class(tools=[]))
    await settle()

    (valid,) = stage.cluster.reported_classes[-1].conditions
    assert (valid.status, valid.reason) == ("False", "InvalidTool")
    assert [reason for reason, _ in stage.cluster.remarks] == ["InvalidTool"]


async def test_the_verdict_on_a_class_is_written_when_it_can_be(stage: SessionStage) -> None:
    stage.cluster.faults["report_judged"] = [errors.Unavailable("away")] * 3
    stage.cluster.apply_class(session_class())

    await stage.passes(seconds=5)

    assert len(stage.cluster.reported_classes) == 1


async def test_a_class_wakes_only_the_sessions_that_wait_for_it(stage: SessionStage) -> None:
    await stage.is_ready()
    stage.cluster.apply(session("other", class_="rare"))
    await stage.passes(seconds=11)
    touched: list[tuple[str, str]] = []
    touch = stage.controller.touch
    stage.controller.touch = touched.append  # type: ignore[method-assign,assignment] # who is woken is what counts

    stage.controller.touch_class("rare")
    stage.controller.touch_class("plain")
    stage.controller.touch = touch  # type: ignore[method-assign] # so that it can be stopped

    assert touched == [("default", "other")]
