"""What people are told of many problems at once."""

from __future__ import annotations

import pytest

from toolcall_operator.api.parsing import Problem
from toolcall_operator.core.policy.loading.reasons import MOST_CHARACTERS, Objection, PolicyReason


def message(*problems: str) -> str:
    return Objection.of(PolicyReason.SPEC_LOAD_FAILED, problems).message


def test_every_problem_is_told_by_its_path() -> None:
    found = Objection.of(PolicyReason.CEL_COMPILE_ERROR, [Problem("spec.a", "is bad"), Problem("spec.b", "is worse")])

    assert found == Objection(PolicyReason.CEL_COMPILE_ERROR, "spec.a is bad; spec.b is worse")
    assert [each.path for each in found.problems] == ["spec.a", "spec.b"]


def test_what_just_fits_is_told_whole() -> None:
    assert message("a" * 500, "b" * 522) == f"{'a' * 500}; {'b' * 522}"


@pytest.mark.parametrize("length", (523, 524, 1000))
def test_what_does_not_fit_is_counted(length: int) -> None:
    assert message("a" * 500, "b" * length, "c") == f"{'a' * 500}; and 2 more"


def test_one_problem_without_end_is_cut() -> None:
    assert message("a" * 2000, "b") == "a" * (MOST_CHARACTERS - 1) + "…"


@pytest.mark.parametrize("count", (1, 2, 9, 10, 99, 1000))
def test_no_message_is_longer_than_a_condition_can_carry(count: int) -> None:
    assert len(message(*(["x" * 97] * count))) <= MOST_CHARACTERS
