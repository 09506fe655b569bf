"""Command lines as programs with getopt read them: whatever is accepted here, they read alike."""

from __future__ import annotations

import getopt
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from tests.unit.core.policy.commandline.commandlines import JOINED, command, named, slot, toolkit
from toolcall_operator.core.policy.commandline import parser
from toolcall_operator.core.policy.commandline.grammar import Grammar
from toolcall_operator.core.policy.commandline.values import CommandLine, Value

BARE = {"all": "a", "all-of-it": "l", "verbose": "v"}
VALUED = {"name": "n", "names": "e", "number": "o"}
OPTIONAL = {"color": "M"}
SHORT = "".join(BARE.values()) + "".join(f"{letter}:" for letter in VALUED.values())
LONG = [*BARE, *(f"{name}=" for name in VALUED)]

FLAGS = (
    *(named(f"--{long} -{short}") for long, short in BARE.items()),
    *(named(f"--{long} -{short}", "stringList") for long, short in VALUED.items()),
)
FILES = slot("files", "stringList")
ANYWHERE = Grammar.of(toolkit(command("", *FLAGS, FILES), **JOINED))
FIRST = Grammar.of(toolkit(command("", *FLAGS, FILES), **JOINED, flagsEnd="AtFirstPositional"))
COLOR = named("--color -M", "string", optionalValue=True)
WITH_OPTIONAL = Grammar.of(toolkit(command("", *FLAGS, COLOR, FILES), **JOINED))

Read = tuple[Mapping[str, Value], tuple[str, ...]]
KEYS = {f"-{short}": long for long, short in (BARE | VALUED | OPTIONAL).items()}

TEXT = st.sampled_from(("x", "-", "--", "-a", "--all", "a=b", "", "-n", "5")) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), max_size=5
)


@st.composite
def uses(draw: st.DrawFn, *, nearly: bool = True) -> list[str]:
    """One use of a flag, an argument, or what nearly is one."""
    bare, valued = draw(st.sampled_from((*BARE.items(),))), draw(st.sampled_from((*VALUED.items(),)))
    letters = "".join(draw(st.lists(st.sampled_from((*BARE.values(),)), max_size=3)))
    value = draw(TEXT)
    ways = (
        [f"--{bare[0]}"],
        [f"-{letters or bare[1]}"],
        [f"--{valued[0]}", value],
        [f"--{valued[0]}={value}"],
        [f"-{letters}{valued[1]}", value],
        [f"-{letters}{valued[1]}{value}"],
        [value],
        ["file"],
        ["--"],
    )
    if not nearly:
        return draw(st.sampled_from(ways))
    miss = (f"--{bare[0][:3]}", f"--{valued[0][:4]}={value}", f"--{bare[0]}={value}", f"-{letters}x", "-n=", "-M5")
    return draw(st.sampled_from((*ways, [draw(st.sampled_from(miss))])))


ARGV = st.lists(uses(), max_size=6).map(lambda parts: [argument for part in parts for argument in part])


def _ours(grammar: Grammar, argv: list[str]) -> Read | None:
    line = parser.parse(grammar, argv)
    event("accepted" if isinstance(line, CommandLine) else f"refused: {line.problem}")
    if not isinstance(line, CommandLine):
        return None
    files = line.positional.get("files", ())
    assert isinstance(files, tuple)
    return line.flags, files


def _theirs(options: Iterable[tuple[str, str]], files: Iterable[str]) -> Read:
    """What getopt found, as our own parser tells it."""
    found: dict[str, Value] = {}
    for option, value in options:
        name = KEYS.get(option, option.lstrip("-"))
        earlier = found.get(name, ())
        if name in VALUED:
            found[name] = (*(earlier if isinstance(earlier, tuple) else ()), value)
        else:
            found[name] = value or True
    return found, tuple(files)


@pytest.fixture(scope="module", autouse=True)
def _gnu_order() -> Iterator[None]:
    """With this variable GNU programs stop at the first argument."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("POSIXLY_CORRECT", raising=False)
        yield


@settings(max_examples=1_000)
@given(ARGV)
def test_what_is_accepted_is_what_gnu_getopt_reads(argv: list[str]) -> None:
    ours = _ours(ANYWHERE, argv)

    if ours is not None:
        assert ours == _theirs(*getopt.gnu_getopt(argv, SHORT, LONG))


@settings(max_examples=1_000)
@given(ARGV)
def test_where_flags_end_at_the_first_argument_it_is_what_posix_getopt_reads(argv: list[str]) -> None:
    ours = _ours(FIRST, argv)

    if ours is not None:
        assert ours == _theirs(*getopt.getopt(argv, SHORT, LONG))


@given(st.lists(uses(nearly=False), max_size=6))
def test_what_getopt_reads_is_accepted(parts: list[list[str]]) -> None:
    """Unless a name is abbreviated, or a letter followed by an equals sign."""
    argv = [argument for part in parts for argument in part]
    assume(not any(re.match("-[a-zA-Z]+=", argument) for argument in argv))
    try:
        theirs = _theirs(*getopt.gnu_getopt(argv, SHORT, LONG))
    except getopt.GetoptError:
        return

    assert _ours(ANYWHERE, argv) == theirs


# The real one, which knows optional values ----------------------------------------------------------------------------
def _program() -> str:
    """The program of util-linux, which is getopt_long(3) for shell scripts; `--test` tells it from older ones."""
    path = shutil.which("getopt")
    if path is None or subprocess.run([path, "--test"], check=False, capture_output=True).returncode != 4:
        pytest.skip("getopt of util-linux is not installed")
    return path


def _told(path: str, argv: list[str]) -> Read:
    options = ["-o", f"{SHORT}M::", *(f"-l{name.replace('=', ':')}" for name in LONG), "-lcolor::"]
    done = subprocess.run([path, *options, "--", *argv], check=True, capture_output=True, timeout=60)
    words = shlex.split(done.stdout.decode())
    end = _end_of_options(words)
    return _theirs(_pairs(words[:end]), words[end + 1 :])


def _end_of_options(words: list[str]) -> int:
    at = 0
    while words[at] != "--":
        at += 1 + _has_value(words[at])
    return at


def _has_value(word: str) -> bool:
    return KEYS.get(word, word[2:]) in VALUED | OPTIONAL


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(words):
        valued = _has_value(words[at])
        yield words[at], words[at + 1] if valued else ""
        at += 1 + valued


COLORED = st.lists(
    uses() | st.sampled_from((["--color"], ["--color=x"], ["-M"], ["-Mx"], ["-aM"], ["-aM5"], ["-Ma"])), max_size=4
).map(lambda parts: [argument for part in parts for argument in part])


@settings(max_examples=200)
@given(COLORED)
def test_what_is_accepted_is_what_getopt_long_of_the_c_library_reads(argv: list[str]) -> None:
    path = _program()
    ours = _ours(WITH_OPTIONAL, argv)

    if ours is not None:
        assert ours == _told(path, argv)
