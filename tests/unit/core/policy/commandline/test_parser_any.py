"""What holds for every toolkit and every command line."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.unit.core.policy.commandline import anytoolkit
from tests.unit.core.policy.commandline.commandlines import JOINED, command, named, slot, toolkit
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkitSpec
from toolcall_operator.core.policy.commandline import parser
from toolcall_operator.core.policy.commandline.grammar import Grammar
from toolcall_operator.core.policy.commandline.values import CommandLine, Role, Unparsed, Value

FUZZED = settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
"""Some two seconds, and 4,000 command lines."""
TOOLKITS = anytoolkit.toolkits()
SEEDS = st.integers(0, 2**32)


def _lines(spec: SpiceboxToolkitSpec, seed: int) -> Iterator[CommandLine]:
    """Those of the toolkit's command lines that are accepted."""
    grammar = Grammar.of(spec)
    for argv in anytoolkit.lines(spec, seed):
        line = parser.parse(grammar, argv)
        event("accepted" if isinstance(line, CommandLine) else f"refused: {line.problem}")
        if isinstance(line, CommandLine):
            yield line


@FUZZED
@given(TOOLKITS, SEEDS)
def test_every_command_line_is_read_or_refused(spec: SpiceboxToolkitSpec, seed: int) -> None:
    grammar = Grammar.of(spec)
    for argv in anytoolkit.lines(spec, seed):
        line = parser.parse(grammar, argv)

        if isinstance(line, Unparsed):
            assert line.index is None or 0 <= line.index < len(argv)
            assert line.message.isprintable()
        else:
            assert line.argv == tuple(argv)
            assert line.subcommand in spec.subcommands


@FUZZED
@given(TOOLKITS, SEEDS)
def test_every_argument_of_an_accepted_line_is_explained_in_its_place(spec: SpiceboxToolkitSpec, seed: int) -> None:
    for line in _lines(spec, seed):
        indexes = [reading.index for reading in line.readings]

        assert indexes == sorted(indexes)
        assert set(indexes) == set(range(len(line.argv)))
        assert len(parser.render(line).splitlines()) == len(line.argv)
        assert line.tail == line.argv[len(line.argv) - len(line.tail) :]


@FUZZED
@given(TOOLKITS, SEEDS)
def test_values_come_out_of_the_arguments_alone(spec: SpiceboxToolkitSpec, seed: int) -> None:
    for line in _lines(spec, seed):
        values = (*line.flags.values(), *line.positional.values())

        assert all(any(text in argument for argument in line.argv) for value in values for text in _texts(value))
        assert {*line.flags, *line.positional} == {
            reading.name for reading in line.readings if reading.role in {Role.FLAG, Role.GLOBAL_FLAG, Role.POSITIONAL}
        }


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, tuple):
        yield from value
    elif not isinstance(value, bool):
        yield str(value)


@FUZZED
@given(TOOLKITS, SEEDS)
def test_what_begins_with_a_dash_is_an_argument_only_where_the_flags_have_ended(
    spec: SpiceboxToolkitSpec, seed: int
) -> None:
    for line in _lines(spec, seed):
        places = [reading.index for reading in line.readings if reading.role is Role.POSITIONAL]
        ended = len(line.argv) - len(line.tail)
        if (line.subcommand.flags_end or spec.parser.flags_end) == "AtFirstPositional" and places:
            ended = min(ended, places[0] + 1)

        assert all(line.argv[at] == "-" or not line.argv[at].startswith("-") for at in places if at < ended)


# One thing written in two ways ----------------------------------------------------------------------------------------
LETTERS = ("a", "l", "v")
GNU = Grammar.of(
    toolkit(
        command(
            "x",
            *(named(f"-{letter}") for letter in LETTERS),
            named("--name -n", "stringList"),
            named("--count -c", "int"),
            slot("files", "stringList"),
        ),
        **JOINED,
    )
)
BEFORE = st.lists(st.sampled_from(("-", "a", "--name=x", "-l", "-v")), max_size=3)
AFTER = st.lists(st.sampled_from(("-", "a", "--name=x", "-l", "--", "-v")), max_size=4)


def _read(argv: Sequence[str]) -> object:
    line = parser.parse(GNU, argv)
    return (line.flags, line.positional, line.tail) if isinstance(line, CommandLine) else line.problem


@given(
    BEFORE,
    st.sampled_from((("--name", "-n"), ("--count", "-c"))),
    st.sampled_from(anytoolkit.TEXTS) | st.text(max_size=5),
    AFTER,
)
def test_a_value_is_the_same_attached_or_apart(
    before: list[str], names: tuple[str, str], value: str, after: list[str]
) -> None:
    long, short = names
    apart = _read(["x", *before, long, value, *after])

    assert _read(["x", *before, f"{long}={value}", *after]) == apart
    assert _read(["x", *before, short, value, *after]) == apart
    if value and not value.startswith("="):
        assert _read(["x", *before, f"{short}{value}", *after]) == apart


@given(BEFORE, st.lists(st.sampled_from(LETTERS), min_size=1, max_size=6), st.sampled_from(("", "n")), AFTER)
def test_letters_are_the_same_joined_or_apart(
    before: list[str], letters: list[str], last: str, after: list[str]
) -> None:
    joined = f"-{''.join(letters)}{last}"
    apart = [f"-{letter}" for letter in (*letters, *last)]

    assert _read(["x", *before, joined, *after]) == _read(["x", *before, *apart, *after])


# Time -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("argv", "accepted"),
    (
        pytest.param(["y"] * 5_000, True, id="arguments"),
        pytest.param(["-n", "y"] * 2_500, True, id="values of one list"),
        pytest.param(["-" + "a" * 64] * 200, True, id="joined letters"),
        pytest.param(["-n" + "y" * 131_000] * 8, True, id="long values"),
        pytest.param(["--name=" + "y" * 131_000] * 8, True, id="long values behind an equals sign"),
        pytest.param(["-" + "a" * 131_000], False, id="a long row of letters"),
        pytest.param(["--" + "a" * 131_000], False, id="a long name"),
        pytest.param(["-c" + "9" * 131_000], False, id="a long number"),
        pytest.param(["y"] * 5_000 + ["\0"], False, id="a late NUL"),
    ),
)
def test_a_long_command_line_takes_steps_in_proportion_to_its_length(argv: list[str], *, accepted: bool) -> None:
    line, steps = _counted(argv)

    assert isinstance(line, CommandLine) == accepted
    assert steps < 100 * (len(argv) + sum(map(len, argv)))


def _counted(argv: list[str]) -> tuple[CommandLine | Unparsed, int]:
    """What is read, and how many functions were called for it."""
    steps = itertools.count()
    before = sys.getprofile()
    sys.setprofile(lambda *_: next(steps) and None)
    try:
        line = parser.parse(GNU, ["x", *argv])
    finally:
        sys.setprofile(before)
    return line, next(steps)
