"""The verdicts on a run, in words."""

from __future__ import annotations

from toolcall_operator.cli import notes
from toolcall_operator.local.expectations import Judgement


def test_when_every_expectation_was_met_one_line_says_so() -> None:
    assert notes.verdicts([Judgement("one", "OOMKilled", "OOMKilled")] * 3) == ["3 calls, each ended as expected"]


def test_what_was_not_met_is_listed_and_what_was_is_not() -> None:
    judged = [
        Judgement("fine", "ProcessExited", "ProcessExited"),
        Judgement("a-long-name", "NonZeroExit", "Signaled"),
        Judgement("unended", "DeadlineExceeded", ""),
    ]

    assert notes.verdicts(judged) == [
        "2 of 3 calls did not end as expected:",
        "  a-long-name  expected NonZeroExit       got Signaled",
        "  unended      expected DeadlineExceeded  got no end",
    ]
