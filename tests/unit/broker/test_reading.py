"""A Secret is read once for all who had asked before the read began, and for nobody who asked later."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from tests.fakes.secrets import FakeSecrets
from tests.unit.stage import until
from toolcall_operator.broker.reading import Reading
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.errors import Unavailable

PLACE = "default/github"


@pytest.fixture
def secrets() -> FakeSecrets:
    kept = FakeSecrets()
    kept.put(PLACE, {"token": "old"})
    return kept


async def token(reading: Reading) -> bytes:
    found = await reading.needed("default", "github")
    assert isinstance(found, SecretObject)
    return found.data["token"]


async def test_fifty_who_ask_at_once_share_one_read(secrets: FakeSecrets) -> None:
    reading = Reading(secrets)

    assert await asyncio.gather(*(token(reading) for _ in range(50))) == [b"old"] * 50
    assert secrets.reads == [PLACE]


async def test_who_asks_while_a_read_is_under_way_gets_one_of_his_own(secrets: FakeSecrets) -> None:
    reading, held = Reading(secrets), asyncio.Event()

    async def hold() -> None:
        await held.wait()

    secrets.before("read", PLACE, hold)
    first = asyncio.create_task(token(reading))
    await until(lambda: secrets.reads)
    later = [asyncio.create_task(token(reading)) for _ in range(50)]
    await asyncio.sleep(0)
    held.set()
    await first
    secrets.put(PLACE, {"token": "new"})

    assert await asyncio.gather(*later) == [b"new"] * 50
    assert secrets.reads == [PLACE] * 2


async def test_who_asks_after_a_change_sees_it_whatever_is_under_way(secrets: FakeSecrets) -> None:
    reading = Reading(secrets)
    first = asyncio.create_task(token(reading))
    await until(lambda: secrets.reads)
    for _ in range(2):
        await asyncio.sleep(0)  # it is answered, and the answer is on its way

    secrets.put(PLACE, {"token": "new"})

    assert await token(reading) == b"new"
    assert await first == b"old"


async def test_a_read_that_fails_fails_for_those_who_shared_it_alone(secrets: FakeSecrets) -> None:
    reading = Reading(secrets)
    secrets.fail("read", PLACE, Unavailable("the API server is down"))

    outcomes = await asyncio.gather(*(token(reading) for _ in range(3)), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 3
    assert await token(reading) == b"old"


async def test_who_asked_first_may_be_canceled(secrets: FakeSecrets) -> None:
    reading = Reading(secrets)
    first, second = (asyncio.create_task(token(reading)) for _ in range(2))
    await until(lambda: secrets.reads)

    first.cancel()

    assert await second == b"old"
    assert secrets.reads == [PLACE]


async def test_a_fault_that_nobody_waits_for_any_more_is_told_nobody(
    secrets: FakeSecrets, caplog: pytest.LogCaptureFixture
) -> None:
    reading, held = Reading(secrets), asyncio.Event()

    async def hold() -> None:
        await held.wait()

    secrets.before("read", PLACE, hold)
    secrets.fail("read", PLACE, Unavailable("the API server is down"))
    only = asyncio.create_task(token(reading))
    await until(lambda: secrets.reads)

    only.cancel()
    await asyncio.wait([only])
    del only  # it knows the read
    held.set()
    with caplog.at_level(logging.DEBUG):
        assert await token(reading) == b"old"
        gc.collect()  # a task is told of when nobody can ask it any more

    assert caplog.records == []


async def test_a_secret_that_is_not_there_is_named() -> None:
    reading = Reading(FakeSecrets())

    assert await reading.optional("default", "github") is None
    assert await reading.needed("default", "github") == Refused(
        Reason.CREDENTIAL_UNRESOLVED, "Secret default/github is not there"
    )


async def test_a_secret_we_may_not_read_is_named(secrets: FakeSecrets) -> None:
    secrets.forbidden.add(("read", PLACE))
    refused = Refused(Reason.CREDENTIAL_UNRESOLVED, "the operator may not read Secret default/github")

    assert await Reading(secrets).needed("default", "github") == refused
    assert await Reading(secrets).optional("default", "github") == refused
