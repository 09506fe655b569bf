"""A folder for every test of a real program; for git, with a repository in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.toolkits import programs
from tests.toolkits.programs import Program, Run


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that tests copy."""
    folder = tmp_path_factory.mktemp("repository")
    programs.repository(programs.program("git", folder))
    return folder


@pytest.fixture
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Run:
    """The program of a toolkit."""

    def found(tool: str) -> Program:
        if tool == "git":
            shutil.copytree(request.getfixturevalue("repository"), tmp_path, dirs_exist_ok=True)
        else:
            (tmp_path / "a").write_text("1\n")
        return programs.program(tool, tmp_path)

    return found
