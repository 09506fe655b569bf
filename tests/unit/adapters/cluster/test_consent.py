"""One of two locks is always on: the label of a Secret is needed wherever the policies are not seen to hold."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta
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
        self.made_at = datetime(2026, 3, 1, tzinfo=UTC)

    async def require(self, _client: Client) -> None:
        self.looks += 1
        if self.trouble:
            raise self.trouble

    async def judging_since(self, _client: Client) -> datetime:
        return self.made_at

    async def looked_at(self) -> None:
        """Return after one more look."""
        seen = self.looks
        await until(lambda: self.looks > seen + 1)


@pytest.fixture
def policies(monkeypatch: pytest.MonkeyPatch) -> Policies:
    made = Policies()
    monkeypatch.setattr(admission, "require", made.require)
    monkeypatch.setattr(admission, "judging_since", made.judging_since)
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


async def test_an_api_server_that_does_not_answer_twice_brings_the_label_back(policies: Policies) -> None:
    chosen = Consent(NOBODY, by_label=False)
    await chosen.settle()
    policies.trouble = Unavailable("it does not answer")
    keeping = asyncio.create_task(chosen.keep())

    await until(lambda: policies.looks == 2)
    assert not chosen.required
    await until(lambda: chosen.required)

    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping


async def test_who_comes_to_lead_looks_at_once(policies: Policies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consent, "LOOK_EVERY", 3600.0)
    chosen = Consent(NOBODY, by_label=False)
    await chosen.settle()
    policies.trouble = Rejected("a policy is not there")
    keeping = asyncio.create_task(chosen.keep())

    await until(lambda: chosen.required)

    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping


async def test_policies_judge_since_they_were_made_or_were_last_missed(policies: Policies) -> None:
    chosen = Consent(NOBODY, by_label=False)
    assert chosen.judged_since is None
    await chosen.settle()
    assert chosen.judged_since == policies.made_at + consent.SETTLING

    keeping = asyncio.create_task(chosen.keep())
    policies.trouble = Rejected("a policy is not there")
    await until(lambda: chosen.required)
    before = datetime.now(UTC)
    policies.trouble = None
    await until(lambda: not chosen.required)

    assert chosen.judged_since
    assert chosen.judged_since > before - timedelta(seconds=10)
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping
