"""What is wrong with flags and arguments."""

from __future__ import annotations

from typing import Any

import pytest

from toolcall_operator.api.commandline import Flag, Positional
from toolcall_operator.core.policy.loading import argumentchecks

ENUM = {"type": "enum", "values": ["a"]}


def of_flags(*flags: dict[str, Any]) -> list[str]:
    return [str(each) for each in argumentchecks.flags([Flag.model_validate(flag) for flag in flags], "flags")]


def of_slots(*slots: dict[str, Any], double_dash: bool = True) -> list[str]:
    read = [Positional.model_validate({"name": f"s{index}", **slot}) for index, slot in enumerate(slots)]
    return [str(each) for each in argumentchecks.positionals(read, "positional", double_dash=double_dash)]


@pytest.mark.parametrize(
    "flag",
    (
        {"long": "a", "type": "bool"},
        {"short": "C", "type": "path"},
        {"long": "a", "short": "a", "type": "string", "optionalValue": True},
        {"long": "a", **ENUM},
        {"long": "a", "type": "int", "minimum": -1, "maximum": -1},
        {"long": "a", "type": "stringList", "splitOn": ",", "arity": 2},
        {"short": "c", "type": "string", "endsFlags": True},
        *({"long": "a", "type": type_, "values": ["b"]} for type_ in ("string", "path", "url", "int", "stringList")),
        *({"long": "a", "type": type_, "splitOn": ","} for type_ in ("bool", "string", "path", "url", "int")),
    ),
)
def test_a_flag_that_means_something_has_no_problem(flag: dict[str, Any]) -> None:
    assert of_flags(flag) == []


@pytest.mark.parametrize(
    ("flag", "problem"),
    (
        ({}, "flags[0] needs long or short: it has no name"),
        ({"long": "a", "type": "enum"}, "flags[0].values is required for type enum"),
        ({"long": "a", "type": "bool", "values": ["b"]}, "flags[0].values cannot be for type bool"),
        ({"long": "a", "minimum": 0}, "flags[0].minimum is for type int only, and this is string"),
        ({"long": "a", "maximum": 0}, "flags[0].maximum is for type int only, and this is string"),
        ({"long": "a", "type": "int", "minimum": 2, "maximum": 1}, "flags[0].minimum must be at most maximum"),
        (
            {"long": "a", "type": "bool", "optionalValue": True},
            "flags[0].optionalValue cannot be true for type bool, which has no value",
        ),
        (
            {"long": "a", "type": "int", "arity": 2},
            "flags[0].arity can be more than 1 only for type stringList, and this is int",
        ),
        (
            {"long": "a", "type": "stringList", "arity": 2, "optionalValue": True},
            "flags[0].arity can be more than 1 only where optionalValue is false",
        ),
    ),
)
def test_what_is_wrong_with_a_flag_is_told_by_its_field(flag: dict[str, Any], problem: str) -> None:
    assert of_flags({"type": "string", **flag}) == [problem]


@pytest.mark.parametrize(
    ("first", "second", "field"),
    (
        ({"long": "all", "short": "a"}, {"long": "all", "short": "x"}, "long"),
        ({"long": "all", "short": "a"}, {"long": "any", "short": "a"}, "short"),
        ({"long": "all", "short": "a"}, {"short": "a"}, "short"),
        ({"short": "a"}, {"long": "all", "short": "a"}, "short"),
        # These are written differently, but their values would be found under the same name.
        ({"long": "q"}, {"short": "q"}, "short"),
        ({"short": "q"}, {"long": "q"}, "long"),
    ),
)
def test_flags_that_could_be_taken_for_one_another_are_told(
    first: dict[str, str], second: dict[str, str], field: str
) -> None:
    found = of_flags({**first, "type": "bool"}, {**second, "type": "bool"})

    assert found == [f"flags[1].{field} is a name that flags[0] has already"]


def test_the_same_flag_twice_is_told_once_for_each_of_its_names() -> None:
    assert of_flags(*[{"long": "all", "short": "a", "type": "bool"}] * 2) == [
        "flags[1].long is a name that flags[0] has already",
        "flags[1].short is a name that flags[0] has already",
    ]


def test_names_differ_by_case() -> None:
    assert of_flags({"short": "c", "type": "string"}, {"short": "C", "type": "path"}) == []


@pytest.mark.parametrize(
    "slots",
    (
        ({"type": "string"}, {"type": "stringList"}),
        ({"type": "stringList"}, {"type": "stringList", "afterDashDash": True}),
        ({"type": "string", "afterDashDash": True}, {"type": "stringList"}),
        (ENUM, {"type": "int", "minimum": 1}),
        ({"type": "stringList"}, {"type": "string"}),
        ({"type": "stringList", "afterDashDash": True}, {"type": "string"}),
    ),
)
def test_places_that_can_all_be_filled_have_no_problem(slots: tuple[dict[str, Any], ...]) -> None:
    assert of_slots(*slots) == []


@pytest.mark.parametrize(
    ("slots", "problem"),
    (
        ((ENUM | {"values": []},), "positional[0].values is required for type enum"),
        (
            ({"type": "path", "afterDashDash": True}, {"type": "path", "afterDashDash": True}),
            "positional[1].afterDashDash must be set at most once, and is set at positional[0] already",
        ),
    ),
)
def test_what_is_wrong_with_the_places_is_told(slots: tuple[dict[str, Any], ...], problem: str) -> None:
    assert of_slots(*slots) == [problem]


def test_a_program_without_a_double_dash_has_nothing_behind_one() -> None:
    assert of_slots({"type": "path", "afterDashDash": True}, double_dash=False) == [
        "positional[0].afterDashDash cannot be: spec.parser.doubleDash is Refused"
    ]
