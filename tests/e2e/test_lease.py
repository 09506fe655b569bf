"""Terms of leadership on a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from tests.e2e import apis
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.lease import Lease, Terms

pytestmark = pytest.mark.cluster
Candidate = Callable[[str, str], Lease]


@pytest.fixture
async def clients(kubectl: Kubectl) -> AsyncIterator[tuple[Client, Client]]:  # noqa: ARG001 - no cluster, no client
    async with apis.opened() as one, apis.opened() as other:
        yield one, other


async def died(lease: Lease) -> None:
    """What becomes of a leader that is killed: it renews no more, and releases nothing."""
    assert lease._renewing is not None  # noqa: SLF001 - as a kill does
    lease._renewing.cancel()  # noqa: SLF001 - as a kill does
    await asyncio.gather(lease._renewing, return_exceptions=True)  # noqa: SLF001 - as a kill does


async def test_a_leader_that_releases_is_followed_within_a_second_or_so(
    clients: tuple[Client, Client], kubectl: Kubectl
) -> None:
    one, other = (
        Lease(client, kubectl.namespace, "released", name) for client, name in zip(clients, "ab", strict=True)
    )
    await one.acquire()
    waiting = asyncio.create_task(other.acquire())
    await asyncio.sleep(1)
    assert not waiting.done()
    began = asyncio.get_running_loop().time()

    await one.release()
    await waiting

    assert asyncio.get_running_loop().time() - began < 2
    assert other.epoch == one.epoch + 1
    await other.release()


async def test_a_leader_that_is_killed_is_followed_after_the_lease_has_run_out(
    clients: tuple[Client, Client], kubectl: Kubectl
) -> None:
    terms = Terms()
    one, other = (Lease(client, kubectl.namespace, "killed", name) for client, name in zip(clients, "ab", strict=True))
    await one.acquire()
    waiting = asyncio.create_task(other.acquire())
    await asyncio.sleep(terms.renew + 1)
    began = asyncio.get_running_loop().time()
    await died(one)

    await waiting

    assert terms.duration - terms.renew <= asyncio.get_running_loop().time() - began < terms.duration + 2
    assert other.epoch == one.epoch + 1
    await other.release()


async def test_a_leader_whose_lease_is_taken_hears_of_it(clients: tuple[Client, Client], kubectl: Kubectl) -> None:
    one = Lease(clients[0], kubectl.namespace, "taken", "a")
    await one.acquire()
    kubectl("patch", "lease", "taken", "--type=merge", '--patch={"spec":{"holderIdentity":"b"}}')

    async with asyncio.timeout(4):
        await one.lost.wait()

    await one.release()
    assert kubectl.get("lease", "taken")["spec"]["holderIdentity"] == "b"


async def test_an_annotation_is_no_loss(clients: tuple[Client, Client], kubectl: Kubectl) -> None:
    one = Lease(clients[0], kubectl.namespace, "annotated", "a", Terms(duration=4, renew=0.3, give_up=2))
    await one.acquire()
    kubectl("annotate", "lease", "annotated", "by=somebody")

    await asyncio.sleep(2.5)

    assert not one.lost.is_set()
    assert kubectl.get("lease", "annotated")["metadata"]["annotations"] == {"by": "somebody"}
    await one.release()
