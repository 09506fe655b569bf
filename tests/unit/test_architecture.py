"""The architecture: the linter keeps it, and each of its contracts is seen to break when somebody breaks it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tuple(
    contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
)

# contract, module of the package, the line that breaks it
PLANTS = (
    ("Imports point one way", "core/outcomes.py", "from toolcall_operator import dispatcher"),
    ("Imports point one way", "stray.py", '"""A module that no layer names."""'),
    ("The core is pure: no input, output, clock, chance or event loop", "core/outcomes.py", "import time"),
    ("The core is pure: no input, output, clock, chance or event loop", "api/base.py", "import pathlib"),
    ("Only adapters know the object store", "transfer.py", "import obstore"),
    ("Only the watches know kopf", "dispatcher.py", "import kopf"),
    ("Only the watches know kopf", "settings.py", "import kopf"),
    ("Only adapters know the API server", "handlers.py", "import aiohttp"),
    (
        "The cluster's adapter does not know the others",
        "adapters/cluster/client.py",
        "from toolcall_operator.adapters import sandbox",
    ),
    ("Adapters do not know each other", "adapters/artifacts.py", "from toolcall_operator.adapters import sandbox"),
    ("Only the egress seam asks servers outside", "reconcile/faults.py", "import httpx"),
    (
        "The broker knows servers and Secrets by their ports alone",
        "broker/oauth.py",
        "from toolcall_operator.adapters import egress",
    ),
    ("Only the command line draws on terminals", "reconcile/reconcile.py", "import rich"),
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package and of its contracts, to break."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return shutil.copytree(ROOT / "operator" / "toolcall_operator", tmp_path / "operator" / "toolcall_operator")


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root / "operator"), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_package_keeps_every_contract() -> None:
    result = lint(ROOT)

    assert result.returncode == 0, result.stdout + result.stderr
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in result.stdout


@pytest.mark.parametrize(("contract", "module", "line"), PLANTS, ids=[f"{plant[1]}: {plant[2]}" for plant in PLANTS])
def test_a_planted_violation_breaks_its_contract(package: Path, contract: str, module: str, line: str) -> None:
    with (package / module).open("a") as source:
        source.write(f"\n{line}\n")

    result = lint(package.parents[1])

    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{contract} BROKEN" in result.stdout


def test_every_contract_has_a_planted_violation() -> None:
    assert {plant[0] for plant in PLANTS} == set(CONTRACTS)


def test_the_source_root_does_not_shadow_the_standard_library() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()
