"""What a toolkit of the examples reads alike is alike to the real program, and what it tells apart is not."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.toolkits.programs import Program, Ran, Run
from tests.unit.examples import library
from toolcall_operator.core.policy.commandline.values import CommandLine, Unparsed

ALIKE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "cat joins letters": ("cat", ("-nE a", "-n -E a", "-En a", "--number --show-ends a")),
    "cat takes flags behind files": ("cat", ("-nE a", "a -nE", "-E a -n", "-nE -- a")),
    "ls attaches values": ("ls", ("-lw80 .", "-l -w 80 .", "-l --width=80 .", "-l --width 80 -- .")),
    "ls gives -F no value": ("ls", ("-Fa1", "-F -a -1", "-1aF", "--all -F -1")),
    "grep attaches values": ("grep", ("-nA1 1 a", "-n -A1 1 a", "-n -A 1 1 a", "--line-number --after-context=1 1 a")),
    "grep takes flags behind files": ("grep", ("-nA1 1 a", "1 a -nA1", "1 -n a -A 1", "-nA1 -- 1 a")),
    "grep takes flags with values anywhere": ("grep", ("-r --include=a 1", "-r 1 --include a", "1 --include=a -r")),
    "jq joins letters": ("jq", ("-rc . a", "-r -c . a", "-cr . a", "--compact-output --raw-output . a")),
    "jq takes flags behind files": ("jq", ("-rc . a", ". a -rc", "-c . -r a")),
    "jq takes two words for a flag": ("jq", ("-n --arg v 1 $v", "--arg v 1 -n $v", "-n $v --arg v 1")),
    "curl attaches values": (
        "curl",
        ("-sm5 file:a", "-s -m5 file:a", "-s -m 5 file:a", "--silent --max-time 5 file:a"),
    ),
    "curl takes flags behind URLs": ("curl", ("-sm5 file:a", "file:a -sm 5", "-s file:a -m5", "-sm5 -- file:a")),
    "python3 attaches values": ("python3", ("-IBWignore s.py -W x", "-I -B -W ignore s.py -W x")),
    "git status joins letters": ("git", ("status -sb", "status -s -b", "status --branch --short")),
    "git status attaches a value": ("git", ("status -suno", "status -s -uno", "status --short --untracked-files=no")),
    "git log attaches a number": ("git", ("log -n1", "log -n 1", "log --max-count=1", "log --max-count 1")),
    "git log takes flags behind revisions": ("git", ("log --oneline main -- a", "log main --oneline -- a")),
    "git log takes -1 for one": ("git", ("log -1 --format=%h", "log --format=%h -1")),
    "git diff attaches a number": ("git", ("diff -U0", "diff --unified=0")),
    "git diff joins letters": ("git", ("diff -wb HEAD", "diff -w -b HEAD", "diff HEAD -wb")),
    "git branch takes a flag twice": ("git", ("branch -vv", "branch -v -v", "branch --verbose -v")),
    "git grep joins letters": ("git", ("grep -nC1 1", "grep -n -C 1 1", "grep --line-number --context=1 1")),
    "git commit attaches a text": (
        "git",
        ("commit --dry-run -am x", "commit -a --dry-run -m x", "commit --dry-run -amx"),
    ),
    "git works in another folder": ("git", ("-C . status -s", "--no-pager -C . status -s")),
    "kubectl attaches a value": ("kubectl", ("version --client -ojson", "version --output=json --client")),
}
"""Command lines that do the same; those of the first words of each mean the same to its toolkit."""

NOT_ALIKE: Mapping[str, tuple[str, str, str]] = {
    "cat reads no flags behind a double dash": ("cat", "-n a", "-- -n a"),
    "ls reads no flags behind a double dash": ("ls", "-a", "-- -a"),
    "grep reads no flags behind a double dash": ("grep", "-v 1 a", "-- -v 1 a"),
    "jq reads the first argument for the filter": ("jq", ". a", "a ."),
    "curl reads no flags behind a double dash": ("curl", "-i file:a", "-- -i file:a"),
    "python3 reads no flags behind the script": ("python3", "-IB s.py", "-I s.py -B"),
    "python3 gives a double dash to the script": ("python3", "-I s.py a", "-I s.py -- a"),
    "git log reads no flags behind a double dash": ("git", "log --oneline -- a", "log -- a --oneline"),
    "git grep reads no flags behind the pattern": ("git", "grep -n 1", "grep 1 -n"),
    "git diff takes no number from the next argument": ("git", "diff -U0", "diff -U 0"),
    "git log takes no format from the next argument": ("git", "log --format=%h", "log --format %h"),
}
"""Two command lines of the same words, more or less, that are not the same to the toolkit nor to the program."""

ABBREVIATED: Mapping[str, tuple[str, str]] = {
    "cat": ("--squee a", "--squeeze-blank a"),
    "ls": ("--alm", "--almost-all"),
    "grep": ("--line-n 1 a", "--line-number 1 a"),
    "curl": ("--sil file:a", "--silent file:a"),
    "git": ("status --shor", "status --short"),
}

OF_OTHERS = frozenset(
    {"branch", "blame", "commit", "diff", "grep", "log", "reflog", "show", "stash list", "switch", "revert"}
)
"""Subcommands of git to which -C is something else than another folder."""


@pytest.mark.parametrize(("tool", "lines"), ALIKE.values(), ids=ALIKE)
def test_alike(tool: str, lines: tuple[str, ...], run: Run) -> None:
    ran = _each(run(tool), lines)

    assert {line: _meaning(tool, line) for line in lines} == dict.fromkeys(lines, _meaning(tool, lines[0]))
    assert {line: (each.code, each.out) for line, each in zip(lines, ran, strict=True)} == dict.fromkeys(
        lines, (0, ran[0].out)
    )
    assert ran[0].out


@pytest.mark.parametrize(("tool", "one", "other"), NOT_ALIKE.values(), ids=NOT_ALIKE)
def test_not_alike(tool: str, one: str, other: str, run: Run) -> None:
    first, second = _each(run(tool), (one, other))

    assert _meaning(tool, one) != _meaning(tool, other)
    assert (first.code, first.out) != (second.code, second.out)


@pytest.mark.parametrize(("tool", "lines"), ABBREVIATED.items(), ids=ABBREVIATED)
def test_programs_take_abbreviations_and_toolkits_do_not(tool: str, lines: tuple[str, str], run: Run) -> None:
    short, whole = _each(run(tool), lines)

    assert (short.code, short.out) == (0, whole.out)
    assert isinstance(library.read(tool, lines[0]), Unparsed)


def test_behind_a_subcommand_git_takes_c_for_a_folder_nowhere(run: Run) -> None:
    """Where it takes it for something else, the toolkit says so; elsewhere, it does not know it."""
    git, subcommands = run("git"), library.toolkit("git").spec.subcommands
    others = {sub.name for sub in subcommands if any(flag.short == "C" for flag in sub.flags)}
    unknown = [
        sub for sub in subcommands if sub.name not in others | {"rev-parse"}
    ]  # which prints what it does not know
    ran = git.many((*sub.path, "-C", ".") for sub in unknown)

    assert others >= OF_OTHERS
    assert [sub.name for sub, each in zip(unknown, ran, strict=True) if not _refused(each)] == []


def test_a_double_dash_is_something_else_to_each_version_of_jq(run: Run) -> None:
    assert isinstance(library.read("jq", ". -- a"), Unparsed)
    if "1.6" in run("jq")("--version").out:
        assert run("jq")("-n", "--", "1").code != 0


@pytest.mark.parametrize("subcommand", ("cherry-pick", "revert", "stash list"))
def test_git_writes_a_file_named_behind_some_double_dashes_and_the_toolkit_refuses_those(
    subcommand: str, run: Run
) -> None:
    git = run("git")
    line = f"{subcommand} -- --output=written HEAD"
    git(*line.split())

    assert (git.folder / "written").exists()
    assert isinstance(library.read("git", line), Unparsed)


def test_git_pull_runs_a_program_named_behind_a_double_dash_and_the_toolkit_refuses_that(run: Run) -> None:
    git = run("git")
    git("pull", "--", ".", "--upload-pack=touch written;false")

    assert (git.folder / "written").exists()
    assert isinstance(library.read("git", "pull -- . --upload-pack=touch"), Unparsed)


def test_git_describe_reads_names_from_standard_input_behind_a_double_dash_and_the_toolkit_refuses_that(
    run: Run,
) -> None:
    line = "describe --contains -- --stdin"

    assert "told" in run("git")(*line.split(), stdin="told\n").out
    assert isinstance(library.read("git", line), Unparsed)


@pytest.mark.parametrize(("tool", "flag"), (("grep", "-e"), ("jq", "-f")))
def test_with_such_a_flag_the_first_argument_is_a_file(tool: str, flag: str, run: Run) -> None:
    """So it is left out: what was judged as a pattern or a filter would be read."""
    program = run(tool)
    (program.folder / "filter").write_text(".")

    assert program(flag, "filter" if tool == "jq" else "1", "a").out == "1\n"
    assert isinstance(library.read(tool, f"{flag} 1 a"), Unparsed)


def _each(program: Program, lines: tuple[str, ...]) -> list[Ran]:
    (program.folder / "s.py").write_text("import sys\nprint(sys.argv, sys.flags, sys.warnoptions)\n")
    return [program(*_words(line, program.folder)) for line in lines]  # git takes a lock


def _words(line: str, folder: Path) -> list[str]:
    """The words of a line; file: stands for the URL of the folder."""
    return [word.replace("file:", f"file://{folder}/") for word in shlex.split(line)]


def _meaning(tool: str, line: str) -> object:
    read = library.read(tool, line)
    if not isinstance(read, CommandLine):
        return read
    ignored = {"no-pager"}
    flags = {name: value for name, value in read.flags.items() if name not in ignored}
    return read.subcommand.name, flags, read.positional


def _refused(ran: Ran) -> bool:
    return ran.complaint is not None or ran.said.lstrip().startswith("usage: git")
