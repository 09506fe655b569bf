"""The README leaves nothing out that a user has to know by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcall_operator.core.reasons import Reason, Terminal
from toolcall_operator.settings import Settings

README = (Path(__file__).parents[2] / "README.md").read_text()
SETTINGS = tuple(f"{Settings.model_config.get('env_prefix')}{name.upper()}" for name in Settings.model_fields)


@pytest.mark.parametrize("name", (*Reason, *Terminal, *SETTINGS))
def test_the_readme_names_it(name: str) -> None:
    assert f"`{name}`" in README
