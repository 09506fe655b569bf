"""Finds the supervisor binary that an embedded run starts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from toolcall_operator.cli.refusal import Refusal

CHECKOUT = Path(__file__).parents[3]
"""Where the package's source root lies in a checkout of the project; somewhere meaningless in an installed one."""


def binary(setting: Path | None, checkout: Path = CHECKOUT) -> Path:
    """The binary that is set; else the one built in the checkout; else the one on PATH.

    Raises:
        Refusal: there is none, or the one that is set cannot be run.
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


def is_program(path: Path) -> bool:
    """Whether this is a file that we may execute."""
    return path.is_file() and os.access(path, os.X_OK)
