"""Unit tests never wait between retries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import stamina


@pytest.fixture(autouse=True)
def retries_without_waiting() -> Iterator[None]:
    with stamina.set_testing(True, attempts=4):
        yield
