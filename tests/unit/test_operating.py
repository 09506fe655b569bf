"""The life of an operator: what a lost lead, a cluster that cannot be read, and a signal make of it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import SimpleNamespace
from typing import cast

import pytest
import stamina.instrumentation

from tests.fakes.apiserver import FakeClient
from toolcall_operator import bootstrap, errors, operating
from toolcall_operator.adapters.cluster import lease as leases
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.lease import Lease
from toolcall_operator.leading import Site

Led = Callable[[object, int], AbstractAsyncContextManager[None]]


class Place:
    """A site at a fake API server, and what was led there: the number of each term."""

    def __init__(self) -> None:
        self.client = FakeClient()
        self.terms: list[int] = []
        self.site = cast("Site", SimpleNamespace(client=self.client, settings=None, namespace="ours", identity="me"))

    def lease(self) -> Lease:
        """One term more."""
        return Lease(self.client, "ours", leases.NAME, "me")

    def led(self, lose: Callable[[], object], trouble: errors.OperatorError | None = None) -> Led:
        """Leads until `lose` has been called, or is met by a trouble."""

        @asynccontextmanager
        async def leading(_: object, epoch: int) -> AsyncIterator[None]:
            self.terms.append(epoch)
            lose()
            if trouble:
                raise trouble
            yield

        return leading


async def test_a_term_ends_without_a_word_when_the_lead_is_lost_and_nothing_is_written_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Place()
    lease = place.lease()
    monkeypatch.setattr(operating, "led", place.led(lease.lost.set))

    await operating.term(place.site, lease)

    assert place.terms == [lease.epoch]
    assert not place.client.may_write()


async def test_a_cluster_that_cannot_be_read_is_no_more_than_a_lost_lead_if_that_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Place()
    lease = place.lease()
    monkeypatch.setattr(operating, "led", place.led(lease.lost.set, errors.Unavailable("no answer in time")))

    await operating.term(place.site, lease)

    assert place.terms == [lease.epoch]


async def test_a_leader_that_cannot_read_the_cluster_does_not_go_on_as_if_nothing_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Place()
    monkeypatch.setattr(operating, "led", place.led(lambda: None, errors.Unavailable("no answer in time")))

    with pytest.raises(errors.Unavailable, match="no answer"):
        await operating.term(place.site, place.lease())


async def test_after_every_lost_lead_comes_a_term_with_a_higher_number(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place, leases = Place(), list[Lease]()

    async def opened(_: object) -> FakeClient:
        return place.client

    def lease(*_: object) -> Lease:
        leases.append(place.lease())
        return leases[-1]

    def lose() -> None:
        if len(place.terms) == 3:
            raise asyncio.CancelledError
        record = place.client.objects[leases[-1]._address]  # noqa: SLF001 (it runs out in the time of a test)
        record["spec"]["holderIdentity"] = ""
        leases[-1].lost.set()

    monkeypatch.setattr(Client, "open", opened)
    monkeypatch.setattr(operating, "source", lambda _: None)
    monkeypatch.setattr(operating, "Lease", lease)
    monkeypatch.setattr(operating, "led", place.led(lose))

    with pytest.raises(asyncio.CancelledError):
        await operating.lead(place.site)

    first = place.terms[0]
    assert place.terms == [first, first + 1, first + 2]
    assert len([text for text in caplog.messages if "the lead was lost" in text]) == 2


async def test_a_signal_to_end_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), operating.signaled() as ended:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(ended.wait(), 5)

    assert caplog.messages == ["told to end, by SIGTERM: calls that run go on, and the next leader takes them over"]


def test_no_retry_is_logged() -> None:
    stamina.instrumentation.set_on_retry_hooks(None)
    try:
        bootstrap.quiet_retries()

        assert stamina.instrumentation.get_on_retry_hooks() == ()
    finally:
        bootstrap.quiet_retries()
