"""Every flag that a toolkit of the examples describes is one to the real program, and takes as many arguments.

The real program is asked by a flag that no program has, put behind the one in question. If it complains, it read that
as a flag; if it does not, it read it as a value. kubectl and gh take long to start, and are judged by their help.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.toolkits.programs import PROBE, Program, Ran, Run
from tests.unit.examples import library
from toolcall_operator.api.commandline import Flag
from toolcall_operator.api.spiceboxtoolkit import Subcommand

PROBED = ("cat", "ls", "grep", "jq", "curl", "python3", "git")
ENDS_AT_ONCE = frozenset({"help", "version"})
"""They print something, and nothing behind them is read."""

_EXAMPLES = {
    "date": "short",
    "diff-filter": "M",
    "format": "%h",
    "pretty": "%h",
    "sort": "refname",
    "form-string": "a=b",
    "slurpfile": "a",
    "rawfile": "a",
    "file": "a",
    **dict.fromkeys(("contains", "no-contains", "merged", "no-merged", "points-at"), "HEAD"),
}
"""Values for flags that do not take just any."""
_BEHIND = {"--follow": ("--", "a"), "--merge-base": ("HEAD",)}
"""What must stand behind some flags before anything else is looked at."""

_SUBCOMMANDS = [(tool, sub) for tool in PROBED for sub in library.toolkit(tool).spec.subcommands]
_EACH = pytest.mark.parametrize(
    ("tool", "subcommand"), _SUBCOMMANDS, ids=(f"{tool} {sub.name}".strip() for tool, sub in _SUBCOMMANDS)
)


@_EACH
def test_flags_without_values_take_none(tool: str, subcommand: Subcommand, run: Run) -> None:
    program = run(tool)
    flags = [flag for flag in _flags(subcommand) if flag.type == "bool"]

    assert _unexpected(program, [(*subcommand.path, form, PROBE) for flag in flags for form in _forms(flag)]) == []


@_EACH
def test_flags_with_values_take_as_many_arguments_as_described(tool: str, subcommand: Subcommand, run: Run) -> None:
    program = run(tool)
    flags = [flag for flag in _flags(subcommand) if _takes(flag)]
    lines = [(*subcommand.path, form, *_values(flag)) for flag in flags for form in _forms(flag)]
    taken = [ran.complaint for ran in program.many((*line[:-1], PROBE) for line in lines)]

    assert [line for line, complaint in zip(lines, taken, strict=True) if complaint] == []
    ending = {form for flag in flags if flag.ends_flags for form in _forms(flag)}
    assert _unexpected(program, [(*line, PROBE) for line in lines if ending.isdisjoint(line)]) == []


@_EACH
def test_values_that_may_be_left_out_are_never_in_the_next_argument(
    tool: str, subcommand: Subcommand, run: Run
) -> None:
    program = run(tool)
    flags = [flag for flag in _flags(subcommand) if flag.optional_value]

    bare = program.many((*subcommand.path, form, PROBE) for flag in flags for form in _forms(flag))
    assert [ran for ran in bare if not ran.complaint and not _read_as_flag(ran)] == []
    attached = [text for flag in flags for value in _possible(flag) for text in _attached(flag, value)]
    assert _unexpected(program, [(*subcommand.path, text, PROBE) for text in attached]) == []


@_EACH
def test_every_value_of_an_enumeration_is_one(tool: str, subcommand: Subcommand, run: Run) -> None:
    program = run(tool)
    flags = [flag for flag in _flags(subcommand) if flag.type == "enum" and _takes(flag)]
    lines = [(*subcommand.path, _forms(flag)[0], value, PROBE) for flag in flags for value in flag.values]

    assert _unexpected(program, lines) == []


@_EACH
def test_letters_that_may_be_joined_take_nothing_more_when_they_are(
    tool: str, subcommand: Subcommand, run: Run
) -> None:
    program = run(tool)
    if not library.toolkit(tool).spec.parser.bundled_shorts:
        pytest.skip(f"letters of {tool} may not be joined")
    lines = [(*subcommand.path, joined, PROBE) for joined in _joined(subcommand)]

    alone = program.many(line[:-1] for line in lines)
    assert [
        line
        for line, ran, without in zip(lines, program.many(lines), alone, strict=True)
        if not _read_as_flag(ran) and ran.err != without.err  # or else it has never come as far as the probe
    ] == []


def _unexpected(program: Program, lines: list[tuple[str, ...]]) -> list[tuple[tuple[str, ...], str]]:
    """The command lines of which the program says anything but that it does not know the probe."""
    lines = [(*line, *_BEHIND.get(line[-2], ())) for line in lines]
    every = zip(lines, program.many(lines), strict=True)
    return [(line, ran.said) for line, ran in every if not _read_as_flag(ran)]


def _read_as_flag(ran: Ran) -> bool:
    """Whether the program read the probe as a flag: it complains of it, or by saying how it is to be used."""
    if ran.complaint:
        return "definitely-unknown" in ran.complaint
    # git stash show, cherry-pick and diff --cached say no more than that; rev-parse prints flags that it does not know.
    return (
        ran.said.lstrip().startswith("usage: git")
        or PROBE in ran.out.splitlines()
        or "Needed a single revision" in ran.err
    )


def _flags(subcommand: Subcommand) -> list[Flag]:
    return [flag for flag in subcommand.flags if flag.name not in ENDS_AT_ONCE]


def _forms(flag: Flag) -> list[str]:
    return [*([f"--{flag.long}"] if flag.long else []), *([f"-{flag.short}"] if flag.short else [])]


def _takes(flag: Flag) -> bool:
    return flag.type != "bool" and not flag.optional_value


def _possible(flag: Flag) -> tuple[str, ...]:
    """Values that the program takes."""
    if flag.type != "enum" and flag.name in _EXAMPLES:
        return (_EXAMPLES[flag.name],)
    match flag.type:
        case "enum":
            return flag.values
        case "int":
            return (str(max(flag.minimum or 0, 1)),)
        case "path":
            return (".",)
        case _:
            return ("1",)


def _values(flag: Flag) -> list[str]:
    return ["x"] * (flag.arity - 1) + [_possible(flag)[0]]


def _attached(flag: Flag, value: str) -> Iterator[str]:
    if flag.long:
        yield f"--{flag.long}={value}"
    if flag.short:
        yield f"-{flag.short}{value}"


def _joined(subcommand: Subcommand) -> Iterator[str]:
    """Every two letters that are neighbours in the description, and each letter with a value behind one without."""
    letters = [flag.short for flag in _flags(subcommand) if flag.short and flag.type == "bool"]
    yield from (f"-{first}{second}" for first, second in itertools.pairwise(letters))
    for flag in _flags(subcommand):
        if flag.short and letters and flag.type != "bool" and not flag.ends_flags and flag.arity == 1:
            yield f"-{letters[0]}{flag.short}{_possible(flag)[0]}"
