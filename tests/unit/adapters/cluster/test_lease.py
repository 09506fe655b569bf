"""Terms of leadership, against an API server that keeps versions."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from tests.fakes.apiserver import FakeClient
from toolcall_operator import errors
from toolcall_operator.adapters.cluster.lease import Lease, Terms
from toolcall_operator.adapters.cluster.resources import LEASES, Address

TERMS = Terms(duration=1.0, renew=0.05, give_up=0.4)
ADDRESS = LEASES.named("lease", "ours")


class Server(FakeClient):
    """A fake that replaces objects, and can be out of reach, or do what is asked and not say so."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.mute = 0
        self.silent = False

    async def get(self, address: Address) -> dict[str, Any]:
        self._answer()
        return await super().get(address)

    async def replace(self, address: Address, manifest: Mapping[str, Any]) -> dict[str, Any]:
        self._answer()
        if self.silent:
            await asyncio.sleep(60)
        if self._found(address)["metadata"]["resourceVersion"] != manifest["metadata"]["resourceVersion"]:
            raise errors.Superseded("somebody wrote before")
        made = self.put(address.resource, manifest)
        if self.mute:
            self.mute -= 1
            raise errors.Unavailable("no answer")
        return made

    @property
    def spec(self) -> dict[str, Any]:
        """The record as it stands."""
        found: dict[str, Any] = self.objects[ADDRESS]["spec"]
        return found

    def _answer(self) -> None:
        if self.away:
            raise errors.Unavailable("out of reach")


@pytest.fixture
def server() -> Server:
    return Server()


Candidate = Callable[[str], Lease]


@pytest.fixture
async def candidate(server: Server) -> AsyncIterator[Candidate]:
    """Makes candidates, who all release in the end."""
    made: list[Lease] = []

    def make(identity: str) -> Lease:
        made.append(Lease(server, "ours", "lease", identity, TERMS))
        return made[-1]

    yield make
    for lease in made:
        await lease.release()


async def died(lease: Lease) -> None:
    """What becomes of a leader that is killed: it renews no more, and releases nothing."""
    assert lease._renewing is not None  # noqa: SLF001 - as a kill does
    lease._renewing.cancel()  # noqa: SLF001 - as a kill does
    await asyncio.gather(lease._renewing, return_exceptions=True)  # noqa: SLF001 - as a kill does


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """What happens in here takes no longer."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(seconds))
        yield


async def test_the_first_candidate_leads_at_once(server: Server, candidate: Candidate) -> None:
    one = candidate("one")

    async with within(0.2):
        await one.acquire()

    assert (server.spec["holderIdentity"], server.spec["leaseTransitions"]) == ("one", one.epoch)
    assert one.epoch > 0
    assert not one.lost.is_set()


async def test_a_leader_that_renews_is_not_replaced(server: Server, candidate: Candidate) -> None:
    one, other = candidate("one"), candidate("other")
    await one.acquire()
    waiting = asyncio.create_task(other.acquire())

    await asyncio.sleep(1.5)

    assert not waiting.done()
    assert server.spec["holderIdentity"] == "one"
    waiting.cancel()


async def test_a_killed_leader_is_replaced_after_its_duration_and_not_before(candidate: Candidate) -> None:
    one, other = candidate("one"), candidate("other")
    await one.acquire()
    waiting = asyncio.create_task(other.acquire())
    await asyncio.sleep(0.1)
    await died(one)
    began = asyncio.get_running_loop().time()

    await waiting

    assert 0.9 <= asyncio.get_running_loop().time() - began < 1.5
    assert other.epoch == one.epoch + 1


async def test_a_leader_that_releases_is_replaced_soon(server: Server, candidate: Candidate) -> None:
    one, other = candidate("one"), candidate("other")
    await one.acquire()
    waiting = asyncio.create_task(other.acquire())
    await asyncio.sleep(0.1)

    async with within(0.3):
        await one.release()
        await waiting

    assert one.lost.is_set()
    assert other.epoch == one.epoch + 1
    assert server.spec["holderIdentity"] == "other"


async def test_the_same_identity_has_a_new_term_after_the_old_one_ran_out(candidate: Candidate) -> None:
    one, again = candidate("one"), candidate("one")
    await one.acquire()
    await died(one)

    await again.acquire()

    assert again.epoch == one.epoch + 1


async def test_of_many_candidates_one_leads(server: Server, candidate: Candidate) -> None:
    many = [candidate(str(number)) for number in range(8)]
    racing = [asyncio.create_task(lease.acquire()) for lease in many]

    await asyncio.sleep(0.3)

    assert [task.done() for task in racing].count(True) == 1
    assert server.spec["leaseTransitions"] == next(lease.epoch for lease in many if lease.epoch)
    for task in racing:
        task.cancel()


async def test_a_leader_that_cannot_renew_gives_up_before_others_may_take_it(
    server: Server, candidate: Candidate
) -> None:
    one = candidate("one")
    await one.acquire()
    server.away = True
    began = asyncio.get_running_loop().time()

    async with within(2):
        await one.lost.wait()

    assert TERMS.give_up - TERMS.renew <= asyncio.get_running_loop().time() - began < TERMS.duration
    server.away = False


async def test_a_process_that_was_stopped_knows_at_once_that_it_may_not_lead_any_more(candidate: Candidate) -> None:
    lease = candidate("a")
    assert not lease.holds()
    await lease.acquire()
    assert lease.holds()

    time.sleep(TERMS.give_up)  # noqa: ASYNC251 - nothing of the process runs, as under SIGSTOP

    assert not lease.holds()
    assert not lease.lost.is_set()


async def test_what_is_released_is_not_held(candidate: Candidate) -> None:
    lease = candidate("a")
    await lease.acquire()

    await lease.release()

    assert not lease.holds()


async def test_a_short_outage_ends_no_term(server: Server, candidate: Candidate) -> None:
    one = candidate("one")
    await one.acquire()
    server.away = True
    await asyncio.sleep(TERMS.give_up / 2)
    server.away = False
    await asyncio.sleep(TERMS.give_up)

    assert not one.lost.is_set()


async def test_a_renewal_that_landed_unheard_ends_no_term(server: Server, candidate: Candidate) -> None:
    one = candidate("one")
    await one.acquire()
    server.mute = 1
    await asyncio.sleep(TERMS.give_up)

    assert not one.lost.is_set()


async def test_somebody_else_s_annotation_ends_no_term(server: Server, candidate: Candidate) -> None:
    one = candidate("one")
    await one.acquire()
    found = await server.get(ADDRESS)
    server.put(LEASES, {**found, "metadata": {**found["metadata"], "annotations": {"a": "b"}}})
    await asyncio.sleep(TERMS.give_up)

    assert not one.lost.is_set()
    assert server.objects[ADDRESS]["metadata"]["annotations"] == {"a": "b"}


@pytest.mark.parametrize("how", ("taken by another", "taken by an equal", "deleted"))
async def test_a_lease_that_is_not_ours_any_more_is_lost_at_once(
    server: Server, candidate: Candidate, how: str
) -> None:
    one = candidate("one")
    await one.acquire()
    found = await server.get(ADDRESS)
    match how:
        case "taken by another":
            server.put(LEASES, {**found, "spec": {**found["spec"], "holderIdentity": "other"}})
        case "taken by an equal":
            server.put(LEASES, {**found, "spec": {**found["spec"], "leaseTransitions": one.epoch + 1}})
        case _:
            server.remove(LEASES, "lease", "ours")

    async with within(0.3):
        await one.lost.wait()


async def test_a_lease_that_was_deleted_begins_at_no_number_that_was(server: Server, candidate: Candidate) -> None:
    one, other = candidate("one"), candidate("other")
    await one.acquire()
    await died(one)
    server.remove(LEASES, "lease", "ours")
    await asyncio.sleep(1)

    await other.acquire()

    assert other.epoch > one.epoch


async def test_who_waits_outlives_an_api_server_that_is_away(server: Server, candidate: Candidate) -> None:
    one = candidate("one")
    server.away = True
    waiting = asyncio.create_task(one.acquire())
    await asyncio.sleep(0.1)
    server.away = False

    async with within(0.3):
        await waiting


async def test_who_waits_says_once_who_leads(
    server: Server, candidate: Candidate, caplog: pytest.LogCaptureFixture
) -> None:
    await candidate("one").acquire()

    with caplog.at_level(logging.INFO):
        waiting = asyncio.create_task(candidate("other").acquire())
        await asyncio.sleep(0.2)
        server.away = True
        await asyncio.sleep(0.1)
        waiting.cancel()

    told = [text for text in caplog.messages if "was not renewed" not in text]
    assert told == ["waiting for the lead, which one holds", "the lead cannot be asked for: out of reach"]
    server.away = False


async def test_a_renewal_that_got_no_answer_in_time_says_so(
    server: Server, candidate: Candidate, caplog: pytest.LogCaptureFixture
) -> None:
    one = candidate("one")
    await one.acquire()
    server.silent = True

    await one.lost.wait()

    assert set(caplog.messages) == {"The Lease lease was not renewed: no answer in time"}


async def test_a_release_that_fails_is_no_trouble(server: Server, candidate: Candidate) -> None:
    one = candidate("one")
    await one.acquire()
    server.away = True

    await one.release()

    assert one.lost.is_set()
    server.away = False


async def test_who_lost_it_does_not_release_what_is_another_s(server: Server, candidate: Candidate) -> None:
    one = candidate("one")
    await one.acquire()
    found = await server.get(ADDRESS)
    server.put(LEASES, {**found, "spec": {**found["spec"], "holderIdentity": "other"}})

    await one.release()

    assert server.spec["holderIdentity"] == "other"
