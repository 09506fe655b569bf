"""The language: what expressions give, compared with cel-go."""

from __future__ import annotations

import pytest

from tests.unit.core.policy.cel import conformance
from toolcall_operator.core.policy.cel import programs
from toolcall_operator.core.policy.cel.programs import Kind, Scope

SAME = [
    pytest.param(expression, wanted, id=f"{subject}: {expression!a}")
    for subject, rows in conformance.SAME.items()
    for expression, wanted in rows
]
DIFFERENT = [
    pytest.param(expression, ours, theirs, id=f"{why}: {expression}")
    for expression, ours, theirs, why in conformance.DIFFERENT
]


def given(expression: str) -> object:
    """What an expression gives, or how it fails."""
    try:
        program = programs.compiled(expression, Kind.ANY)
    except programs.CelError:
        return conformance.REFUSED
    try:
        return program.evaluate(Scope(call=conformance.CALL, config=conformance.CONFIG))
    except programs.EvaluationError:
        return conformance.ERROR


@pytest.mark.parametrize(("expression", "wanted"), SAME)
def test_an_expression_gives_what_cel_go_gives(expression: str, wanted: object) -> None:
    found = given(expression)

    assert (type(found), found) == (type(wanted), wanted)


@pytest.mark.parametrize(("expression", "ours", "theirs"), DIFFERENT)
def test_an_expression_gives_something_else_than_with_cel_go(expression: str, ours: object, theirs: object) -> None:
    found = given(expression)

    assert (type(found), found) == (type(ours), ours)
    assert found != theirs


def test_the_table_is_not_small() -> None:
    assert sum(map(len, conformance.SAME.values())) >= 250
