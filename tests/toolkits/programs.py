"""The real programs that the toolkits of the examples describe, where they are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

PROBE = "--definitely-unknown"
"""A flag that no program has. Whether a program complains about it tells whether it was read as a flag."""

IDENTITY: Mapping[str, str] = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TEMPLATE_DIR": "",
}
"""Whom git takes for the author, and that nobody configured anything else."""

_COMPLAINT = re.compile(
    r"(?i)(?:unknown|invalid|unrecognized) option|unrecognized argument|unknown (?:flag|switch)"
    r"|option .*: is (?:unknown|ambiguous)"
)
_PATH = "/usr/local/bin:/usr/bin:/bin"
_SECONDS = 10
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of a program ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Everything it wrote."""
        return f"{self.err}\n{self.out}"

    @property
    def complaint(self) -> str | None:
        """The line in which it complains of a flag that it does not know, if it does."""
        return next((line for line in self.said.splitlines() if _COMPLAINT.search(line)), None)


@dataclass(frozen=True, slots=True)
class Program:
    """A program in a folder of its own, with an environment that holds nothing else."""

    path: str
    folder: Path
    env: Mapping[str, str]

    def __call__(self, *argv: str, stdin: str = "", **env: str) -> Ran:
        """Run it to its end."""
        home = {"HOME": str(self.folder), "PATH": _PATH, "LC_ALL": "C.UTF-8"}
        ran = subprocess.run(
            [self.path, *argv],
            cwd=self.folder,
            env={**home, **self.env, **env},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def many(self, lines: Iterable[tuple[str, ...]]) -> list[Ran]:
        """Run it with each of several command lines, a few at once; how each ended, in their order."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda line: self(*line), lines))


Run = Callable[[str], Program]
"""Gives the program of a toolkit, in a folder that is the test's own."""


def program(name: str, folder: Path) -> Program:
    """The program of a toolkit; the test is skipped where it is not installed."""
    path = sys.executable if name == "python3" else shutil.which(name, path=_PATH)
    if path is None:
        pytest.skip(f"{name} is not installed on this machine")
    return Program(path, folder, IDENTITY)


def repository(git: Program) -> None:
    """Make the folder of `git` a repository with two commits, a branch, a tag, a stash and something changed."""
    (git.folder / "a").write_text("1\n")
    (git.folder / "b").write_text("two\n")
    for line in (
        ("init", "-q", "-b", "main"),
        ("add", "a", "b"),
        ("commit", "-qm", "first"),
        ("tag", "v1"),
        ("branch", "other"),
        ("commit", "-qm", "second", "--allow-empty"),
        ("remote", "add", "origin", "/nowhere"),
    ):
        assert git(*line).code == 0, line
    (git.folder / "a").write_text("1\nmore\n")
    assert git("stash", "-q").code == 0
    (git.folder / "a").write_text("1\nother\n")
