"""The README leaves nothing out that a user has to know by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcall_operator import settings
from toolcall_operator.core.reasons import Reason, Terminal
from toolcall_operator.settings import OperatorSettings, Settings

README = (Path(__file__).parents[2] / "README.md").read_text()
SETTINGS = tuple(settings.variable(name) for name in (*Settings.model_fields, *OperatorSettings.model_fields))


@pytest.mark.parametrize("name", (*Reason, *Terminal, *SETTINGS))
def test_the_readme_names_it(name: str) -> None:
    assert f"`{name}`" in README
