"""A stage for every test of sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.sessions.stage import SessionStage


@pytest.fixture
async def stage() -> AsyncIterator[SessionStage]:
    """Fakes for everything outside, and a controller, which is stopped at the end."""
    made = SessionStage()
    yield made
    await made.controller.stop()
