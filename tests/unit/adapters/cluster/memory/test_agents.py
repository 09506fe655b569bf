"""What is known of AgentIdentities, and whom a change of one concerns: the sessions that name it, and who judges it."""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes.wakes import FakeWakes
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.shelf import Identity

WORK, BOT = (NAMESPACE, "work"), (NAMESPACE, "bot")
BAD = {"credentials": [{"name": "forge", "type": "static", "value": "the-secret"}]}


@pytest.fixture
def wakes() -> FakeWakes:
    return FakeWakes()


@pytest.fixture
def caches(wakes: FakeWakes) -> Caches:
    return Caches(wakes)


def test_one_is_kept_by_namespace_and_name_and_told_of(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.agent())
    caches.put(manifests.agent(namespace="other", uid="another"))

    assert caches.agents[BOT].spec.credentials[0].name == "forge"
    assert set(caches.agents) == {BOT, ("other", "bot")}
    assert wakes.woken == ["agent agents/bot", "agent other/bot"]


def test_one_that_is_no_more_is_forgotten_and_told_of(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.agent())

    caches.drop("AgentIdentity", Identity.of(manifests.agent()))

    assert not caches.agents
    assert caches.held_agent(BOT) is None
    assert wakes.woken == ["agent agents/bot"] * 2


def test_one_that_cannot_be_read_says_why_and_nothing_of_its_spec(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.agent(spec=BAD))
    unread = caches.unread_agents[BOT]

    assert "spec.credentials[0].value" in unread.why
    assert "the-secret" not in f"{unread} {unread.why}"
    assert not caches.agents
    assert wakes.woken == ["agent agents/bot"]


def test_the_agent_of_a_session_is_the_one_it_keeps_or_else_names(caches: Caches) -> None:
    caches.put(manifests.session(spec={"agent": "bot"}))
    named = caches.agent_of(WORK)
    caches.put(manifests.session(version=2, spec={"agent": "bot"}, status={"resolvedAgent": "kept"}))
    kept = caches.agent_of(WORK)
    caches.put(manifests.session(version=3))

    assert (named, kept, caches.agent_of(WORK)) == (BOT, (NAMESPACE, "kept"), None)


def test_the_revision_of_a_session_changes_with_its_agent_and_no_other(caches: Caches) -> None:
    caches.put(manifests.session(spec={"agent": "bot"}))
    revisions = [caches.session_revision(WORK)]
    for manifest in (manifests.agent(), manifests.agent("other"), manifests.agent(version=2)):
        caches.put(manifest)
        revisions.append(caches.session_revision(WORK))
    caches.drop("AgentIdentity", Identity.of(manifests.agent()))
    revisions.append(caches.session_revision(WORK))

    before, made, other, changed, gone = revisions
    assert (made == other, gone == before) == (True, True)
    assert len({before, made, changed}) == 3


async def test_a_wait_for_a_session_ends_when_its_agent_changes_and_when_no_other_does(caches: Caches) -> None:
    caches.put(manifests.session(spec={"agent": "bot"}))
    waiting = asyncio.ensure_future(caches.session_changed(WORK, caches.session_revision(WORK)))
    await asyncio.sleep(0)
    caches.put(manifests.agent("other"))
    await asyncio.sleep(0)
    early = waiting.done()

    caches.put(manifests.agent())

    assert not early
    await asyncio.wait_for(waiting, 1)
