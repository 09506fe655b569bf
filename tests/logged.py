"""What was logged, for fixtures that look at it when their test is over."""

from __future__ import annotations

from typing import Literal

import pytest


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """All that was logged by the end of a test: at the end of a fixture, `caplog.text` is of that end alone."""
    phases: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")
    return "\n".join(caplog.handler.format(record) for phase in phases for record in caplog.get_records(phase))
