"""Where the supervisor binary comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcall_operator.cli import supervisors
from toolcall_operator.cli.refusal import Refusal


def program(path: Path, does: str = "echo 0.1.0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all there is on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def test_the_one_that_is_set_comes_first(tmp_path: Path, path: Path) -> None:
    program(path / "toolcall-supervisor")
    program(tmp_path / "build" / "supervisor")
    chosen = program(tmp_path / "chosen")

    assert supervisors.binary(chosen, tmp_path) == chosen


def test_then_the_one_built_in_the_checkout(tmp_path: Path, path: Path) -> None:
    program(path / "toolcall-supervisor")
    built = program(tmp_path / "build" / "supervisor")

    assert supervisors.binary(None, tmp_path) == built


def test_then_the_one_on_path(tmp_path: Path, path: Path) -> None:
    installed = program(path / "toolcall-supervisor")

    assert supervisors.binary(None, tmp_path / "nowhere") == installed


@pytest.mark.usefixtures("path")
def test_without_any_the_message_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="make supervisor"):
        supervisors.binary(None, tmp_path)


@pytest.mark.usefixtures("path")
def test_one_that_is_set_and_is_no_program_is_not_passed_over(tmp_path: Path) -> None:
    program(tmp_path / "build" / "supervisor")

    with pytest.raises(Refusal, match="/missing is not an executable file"):
        supervisors.binary(tmp_path / "missing", tmp_path)


@pytest.mark.parametrize("does", ("true", "echo hello", "echo 0.1.0; exit 1"))
def test_a_program_that_is_no_supervisor_is_refused_before_anything_runs(tmp_path: Path, does: str) -> None:
    with pytest.raises(Refusal, match="other is not a supervisor"):
        supervisors.binary(program(tmp_path / "other", does))


def test_a_file_that_cannot_be_executed_is_refused(tmp_path: Path) -> None:
    broken = program(tmp_path / "broken")
    broken.write_bytes(b"\x7fELF")

    with pytest.raises(Refusal, match="broken cannot be run"):
        supervisors.binary(broken)
