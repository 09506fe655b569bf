"""One of two locks is always on: the label of a Secret is needed wherever the policies are not seen to hold."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import cast

import pytest

from tests.unit.stage import until
from toolcall_operator.adapters.cluster import admission, consent
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.consent import Consent
from toolcall_operator.errors import OperatorError, Rejected, Unavailable

NOBODY = cast("Client", None)  # never asked: what the API server says is scripted


class Policies:
    """What a look at the policies comes to."""

    def __init__(self) -> None:
        self.trouble: OperatorError | None = None
        self.looks = 0

    async def require(self, _client: Client) -> None:
        self.looks += 1
        if self.trouble:
            raise self.trouble

    async def looked_at(self) -> None:
        """Return after one more look."""
        seen = self.looks
        await until(lambda: self.looks > seen + 1)


@pytest.fixture
def policies(monkeypatch: pytest.MonkeyPatch) -> Policies:
    made = Policies()
    monkeypatch.setattr(admission, "require", made.require)
    monkeypatch.setattr(consent, "LOOK_EVERY", 0.001)
    return made


async def test_by_label_the_label_is_needed_and_nobody_looks_for_policies(policies: Policies) -> None:
    chosen = Consent(NOBODY, by_label=True)
    await chosen.settle()
    await chosen.keep()

    assert chosen.required
    assert policies.looks == 0


async def test_policies_that_hold_spare_the_label(policies: Policies) -> None:
    chosen = Consent(NOBODY, by_label=False)
    assert chosen.required

    await chosen.settle()

    assert not chosen.required
    assert policies.looks == 1


async def test_without_the_policies_it_is_not_settled(policies: Policies) -> None:
    policies.trouble = Rejected("a policy is not there")
    chosen = Consent(NOBODY, by_label=False)

    with pytest.raises(Rejected):
        await chosen.settle()

    assert chosen.required


async def test_policies_that_are_taken_away_bring_the_label_back_until_they_are_there_again(
    policies: Policies, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = Consent(NOBODY, by_label=False)
    await chosen.settle()
    keeping = asyncio.create_task(chosen.keep())

    policies.trouble = Rejected("a policy is not there")
    await until(lambda: chosen.required)
    await policies.looked_at()
    policies.trouble = None
    await until(lambda: not chosen.required)

    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping
    told = [(each.levelno, "a policy is not there" in each.message) for each in caplog.records]
    assert told == [(logging.ERROR, True), (logging.WARNING, False)]


async def test_an_api_server_that_does_not_answer_changes_nothing(policies: Policies) -> None:
    chosen = Consent(NOBODY, by_label=False)
    await chosen.settle()
    policies.trouble = Unavailable("it does not answer")
    keeping = asyncio.create_task(chosen.keep())

    await policies.looked_at()

    assert not chosen.required
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping
