"""Finds the supervisor binary that an embedded run starts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from toolcall_operator.cli.refusal import Refusal

_PATIENCE = 10
_VERSION = re.compile(rb"\d+\.\d+\.\d+[\w.+-]*")

CHECKOUT = Path(__file__).parents[3]
"""Where the package's source root lies in a checkout of the project; somewhere meaningless in an installed one."""


def binary(setting: Path | None, checkout: Path = CHECKOUT) -> Path:
    """The binary that is set; else the one built in the checkout; else the one on PATH.

    Raises:
        Refusal: there is none, or it does not work.
    """
    return tried(found(setting, checkout))


def found(setting: Path | None, checkout: Path) -> Path:
    """The first of them that there is; one that is set is not passed over.

    Raises:
        Refusal: there is none.
    """
    if setting is not None:
        if not is_program(setting):
            raise Refusal(f"the supervisor {setting} is not an executable file")
        return setting.resolve()
    built = checkout / "build" / "supervisor"
    if is_program(built):
        return built
    if installed := shutil.which("toolcall-supervisor"):
        return Path(installed)
    raise Refusal("there is no supervisor binary: run `make supervisor`, or name one with --supervisor")


def tried(path: Path) -> Path:
    """The binary, once it has told its version: a run with one that cannot would try for minutes.

    Raises:
        Refusal: it cannot be run, or is something else.
    """
    try:
        told = subprocess.run([path, "version"], capture_output=True, timeout=_PATIENCE, check=False, env={})  # noqa: S603 (a file the user named, and no shell)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refusal(f"the supervisor {path} cannot be run: {error}") from error
    if told.returncode or not _VERSION.fullmatch(told.stdout.strip()):
        raise Refusal(f"{path} is not a supervisor: it does not tell its version")
    return path


def is_program(path: Path) -> bool:
    """Whether this is a file that we may execute."""
    return path.is_file() and os.access(path, os.X_OK)
