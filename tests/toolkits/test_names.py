"""The letter and the long name of a flag name one flag to the real program: its help or its manual says so."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterator, Mapping

import pytest

from tests.toolkits.programs import Program, Run
from tests.unit.examples import library
from toolcall_operator.api.spiceboxtoolkit import Subcommand

PROGRAMS = ("cat", "ls", "grep", "jq", "curl", "git")
"""The help of kubectl and gh is read whole elsewhere; python3 has but two such flags, for its help and its version."""

SHORT_FOR_TWO = {("C", "copy")}
"""Letters that stand for a long name and another one with it: git branch -C is --copy --force."""

_HELP: Mapping[str, tuple[str, ...]] = {"curl": ("--help", "all"), "git": ("-h",)}
_LINE = re.compile(r"^ +(?:\S +)?(-.*?)(?:  .*)?$", re.MULTILINE)
_NAME = re.compile(r"-(?P<letter>[A-Za-z0-9])(?![\w-])|--(?:\[no-\])?(?P<long>[\w-]+)")
_SUBCOMMANDS = [
    (tool, sub)
    for tool in PROGRAMS
    for sub in library.toolkit(tool).spec.subcommands
    if any(flag.long and flag.short for flag in sub.flags)
]


@pytest.mark.parametrize(
    ("tool", "subcommand"), _SUBCOMMANDS, ids=(f"{tool} {sub.name}".strip() for tool, sub in _SUBCOMMANDS)
)
def test_a_letter_and_a_long_name_belong_together(tool: str, subcommand: Subcommand, run: Run) -> None:
    both = {(flag.short or "", flag.long) for flag in subcommand.flags if flag.short and flag.long} - SHORT_FOR_TWO
    for text in _texts(run(tool), tool, subcommand):
        told = set(_together(text))
        assert {(letter, name) for letter, name in both if name in _long(told) and (letter, name) not in told} == set()
        both -= told

    if both:
        pytest.skip(f"no manual here tells of {', '.join(sorted(name for _, name in both))}")


def _texts(program: Program, tool: str, subcommand: Subcommand) -> Iterator[str]:
    """What tells of the flags, the most particular first; git's manual of log has those that many commands share."""
    path = ("stash", "push") if subcommand.path == ("stash",) else subcommand.path  # which it is short for
    yield program(*path, *_HELP.get(tool, ("--help",))).said
    yield _manual("-".join((tool, *subcommand.path[:1])))
    if tool == "git":
        yield _manual("git-log")


@functools.cache
def _manual(page: str) -> str:
    """A page of the manual; empty where there is none."""
    try:
        env = {"PATH": "/usr/bin:/bin", "MANWIDTH": "200", "LC_ALL": "C.UTF-8"}
        return subprocess.run(["man", "-P", "cat", page], capture_output=True, text=True, check=False, env=env).stdout
    except FileNotFoundError:
        return ""


def _together(text: str) -> Iterator[tuple[str, str]]:
    """The letters and the long names that stand on one line."""
    for line in _LINE.finditer(text):
        names = [*_NAME.finditer(line[1])]
        for letter in filter(None, (name["letter"] for name in names)):
            yield from ((letter, name["long"]) for name in names if name["long"])


def _long(told: set[tuple[str, str]]) -> set[str]:
    return {name for _, name in told}
