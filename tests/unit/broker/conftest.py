"""No secret shows, whatever becomes of it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import pytest

from tests.logged import logged
from tests.unit.broker.desk import MARK, Desk


@pytest.fixture
def desk(caplog: pytest.LogCaptureFixture) -> Iterator[Desk]:
    caplog.set_level("DEBUG")
    made = Desk()
    yield made
    told = "".join("".join(traceback.format_exception(each)) for each in made.outcomes if isinstance(each, Exception))
    assert MARK not in f"{made.outcomes!r} {logged(caplog)} {told}"
