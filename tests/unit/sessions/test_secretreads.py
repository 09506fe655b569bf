"""Secrets are read a few at once, and one that does not answer holds nobody up for ever."""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes.secrets import FakeSecrets
from toolcall_operator import errors
from toolcall_operator.core.agentcredentials import Unreadable
from toolcall_operator.sessions import secretreads
from toolcall_operator.sessions.secretreads import READS_AT_ONCE, SecretReads


async def never() -> None:
    """What is waited for does not come."""
    await asyncio.Event().wait()


async def test_what_is_there_is_read_and_what_is_not_is_none() -> None:
    secrets = FakeSecrets()
    secrets.put("agents/one", {"token": "hunter2-hunter2"})

    found = await SecretReads(secrets).all("agents", ("one", "two"))

    assert found == {"one": secrets.kept["agents/one"], "two": None}
    assert "hunter2" not in str(found)


@pytest.mark.parametrize("fault", (errors.Unavailable("away"), errors.Rejected("no right to get secrets")))
async def test_after_one_that_cannot_be_read_no_other_of_the_same_object_is_asked_for(
    fault: errors.OperatorError,
) -> None:
    secrets = FakeSecrets()
    secrets.fail("read", "agents/two", fault)

    found = await SecretReads(secrets).all("agents", ("one", "two", "three"))

    why = Unreadable(f"Secret agents/two cannot be read: {fault}")
    assert found == {"one": None, "two": why, "three": why}
    assert secrets.reads == ["agents/one", "agents/two"]


async def test_a_read_that_lasts_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secretreads, "READ_SECONDS", 0.01)
    secrets = FakeSecrets()
    secrets.before("read", "agents/one", never)

    found = await SecretReads(secrets).all("agents", ("one",))

    assert found == {"one": Unreadable("Secret agents/one could not be read within 0.01 s")}


async def test_no_more_are_read_at_once_than_may_be() -> None:
    secrets = FakeSecrets()
    count = READS_AT_ONCE + 5
    for number in range(count):
        secrets.before("read", f"agents/{number}", never)
    reads = SecretReads(secrets)

    asking = [asyncio.ensure_future(reads.all("agents", (str(number),))) for number in range(count)]
    for _ in range(10):
        await asyncio.sleep(0)

    assert len(secrets.reads) == READS_AT_ONCE
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
