"""Work is done once for all who ask for it while it is under way."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from toolcall_operator.broker.flights import Flights
from toolcall_operator.errors import Unavailable


class Work:
    """Work that lasts until it is let go, and counts how often it began."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.begun = 0
        self.go = asyncio.Event()
        self._fault = fault

    async def __call__(self) -> int:
        self.begun += 1
        await self.go.wait()
        if self._fault:
            raise self._fault
        return self.begun


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_fifty_who_ask_at_once_share_one_flight() -> None:
    flights, work = Flights[str, int](), Work()

    askers = [asyncio.create_task(flights.join("a", work)) for _ in range(50)]
    await settled()
    work.go.set()

    assert await asyncio.gather(*askers) == [1] * 50
    assert work.begun == 1


async def test_who_asks_afterwards_begins_anew() -> None:
    flights, work = Flights[str, int](), Work()
    work.go.set()

    assert [await flights.join("a", work), await flights.join("a", work)] == [1, 2]


async def test_other_keys_are_other_work() -> None:
    flights, work = Flights[str, int](), Work()
    work.go.set()

    await asyncio.gather(flights.join("a", work), flights.join("b", work))

    assert work.begun == 2


async def test_the_first_who_asked_may_be_canceled_and_the_others_get_theirs() -> None:
    flights, work = Flights[str, int](), Work()
    first, second = (asyncio.create_task(flights.join("a", work)) for _ in range(2))
    await settled()

    first.cancel()
    await settled()
    work.go.set()

    assert await second == 1
    assert first.cancelled()


async def test_work_goes_on_when_everybody_who_asked_is_gone() -> None:
    flights, work = Flights[str, int](), Work()
    only = asyncio.create_task(flights.join("a", work))
    await settled()
    only.cancel()
    await settled()

    late = asyncio.create_task(flights.join("a", work))
    await settled()
    work.go.set()

    assert await late == 1


async def test_all_who_wait_learn_of_a_fault_and_the_next_begins_anew() -> None:
    flights, failing, work = Flights[str, int](), Work(Unavailable("down")), Work()
    failing.go.set()
    work.go.set()

    outcomes = await asyncio.gather(*(flights.join("a", failing) for _ in range(3)), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 3
    assert await flights.join("a", work) == 1


async def test_a_fault_that_nobody_waits_for_any_more_is_told_nobody(caplog: pytest.LogCaptureFixture) -> None:
    flights, work = Flights[str, int](), Work(Unavailable("down"))
    only = asyncio.create_task(flights.join("a", work))
    await settled()
    only.cancel()
    await settled()
    del only  # it knows the work

    with caplog.at_level(logging.DEBUG):
        work.go.set()
        await flights.landed()
        gc.collect()  # a task is told of when nobody can ask it any more

    assert caplog.records == []


async def test_landed_waits_for_all_that_is_under_way() -> None:
    flights, work = Flights[str, int](), Work()
    only = asyncio.create_task(flights.join("a", work))
    await settled()

    landed = asyncio.create_task(flights.landed())
    await settled()
    assert not landed.done()

    work.go.set()
    await landed
    assert await only == 1
