"""`hack/bootstrap`: what it says on a machine that lacks something, and that it costs nothing when all is there."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.integration.pipeline import ROOT

PYTHON = '#!/bin/sh\ncase "$*" in *platform*) echo {version};; *ensurepip*) exit {venv};; esac\n'
GO = "#!/bin/sh\necho go{version}\n"
ORDINARY = ("sh", "dirname", "sed", "cksum", "cat", "cut", "env")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with nothing but the script, on a machine with nothing but ordinary programs."""
    (tmp_path / "hack").mkdir()
    (tmp_path / "bin").mkdir()
    shutil.copy(ROOT / "hack" / "bootstrap", tmp_path / "hack")
    for program in ORDINARY:
        found = shutil.which(program)
        assert found, program
        (tmp_path / "bin" / program).symlink_to(found)
    return tmp_path


def install(checkout: Path, program: str, script: str) -> None:
    path = checkout / "bin" / program
    path.write_text(script)
    path.chmod(0o755)


def bootstrap(checkout: Path) -> subprocess.CompletedProcess[str]:
    path = checkout / "hack" / "bootstrap"
    environment = {"PATH": str(checkout / "bin")}
    return subprocess.run([path], env=environment, capture_output=True, text=True, check=False, timeout=30)


def test_everything_that_is_missing_is_told_at_once(checkout: Path) -> None:
    result = bootstrap(checkout)

    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "bootstrap: needs python3 >= 3.11; found none",
        "bootstrap: needs go >= 1.24; found none",
        "bootstrap: needs make; found none",
    ]
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize(
    ("python", "go", "told"),
    (
        (PYTHON.format(version="3.9.18", venv=0), GO.format(version="1.26.0"), "needs python3 >= 3.11; found 3.9.18"),
        (PYTHON.format(version="3.11.2", venv=0), GO.format(version="1.23.4"), "needs go >= 1.24; found 1.23.4"),
        (PYTHON.format(version="3.11.2", venv=1), GO.format(version="2.0"), "needs python3 with its venv module"),
    ),
    ids=("an old Python", "an old Go", "a Python without venv"),
)
def test_what_is_too_old_is_told_with_its_version(checkout: Path, python: str, go: str, told: str) -> None:
    for program, script in (("python3", python), ("go", go), ("make", "#!/bin/sh\n")):
        install(checkout, program, script)

    result = bootstrap(checkout)

    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert told in line


def test_when_nothing_changed_it_is_quick_and_silent() -> None:
    subprocess.run([ROOT / "hack" / "bootstrap"], check=True)
    begun = time.monotonic()

    result = subprocess.run([ROOT / "hack" / "bootstrap"], capture_output=True, text=True, check=True)

    assert (result.stdout, result.stderr) == ("", "")
    assert time.monotonic() - begun < 1
