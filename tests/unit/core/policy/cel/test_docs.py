"""The page about expressions tells what there is, and its examples load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.core.policy.cel import conformance
from toolcall_operator.core.policy.cel import (
    checker,
    frame,
    hosts,
    parser,
    patterns,
    programs,
    reading,
    signatures,
    values,
    versions,
)
from toolcall_operator.core.policy.cel.programs import Kind

PAGE = (Path(__file__).parents[5] / "docs" / "cel.md").read_text(encoding="utf-8")
EXAMPLES = [line for block in re.findall(r"```cel\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
FUNCTIONS = [name for name in (*signatures.FUNCTIONS, *signatures.METHODS) if "_" not in name]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_loads_as_a_constraint(example: str) -> None:
    assert programs.compiled(example, Kind.BOOL).source == example


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_told(name: str) -> None:
    assert f"`{name}(" in PAGE or f"`{name}`" in PAGE


@pytest.mark.parametrize("field", signatures.VARIABLES["call"].fields or ())
def test_every_field_of_the_call_is_told(field: str) -> None:
    assert f"`call.{field}`" in PAGE


@pytest.mark.parametrize("reason", sorted({why for *_, why in conformance.DIFFERENT}))
def test_every_difference_is_told(reason: str) -> None:
    assert f"\n| {reason}" in PAGE


@pytest.mark.parametrize(
    "bound",
    (
        f"stops with an error at {frame.STEPS} steps",
        f"| an expression | {programs.CHARACTERS} characters; brackets, arguments and branches {reading.LEVELS} deep",
        f"everything together {parser.DEPTH} deep |",
        f"| {checker.NESTING} deep |",
        f"| {values.ELEMENTS}; asking for a longer one is an error |",
        f"| {patterns.LONGEST} characters; {patterns.LONGEST_COMPUTED} when it comes from the call",
        f"| {hosts.LONGEST} characters |",
        f"| a version, a range | {versions.LONGEST} characters |",
    ),
)
def test_every_bound_is_told(bound: str) -> None:
    assert bound in PAGE
