"""Before anyone decides, the caches hold what sessions are decided by."""

from __future__ import annotations

import pytest

from tests.fakes.apiserver import FakeClient
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE
from toolcall_operator.adapters.cluster.memory import filling
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.resources import (
    AGENT_IDENTITIES,
    CLASSES,
    PODS,
    SESSIONS,
    TOOLCALLS,
    TOOLKITS,
    TOOLSPECS,
)
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.errors import Rejected, Unavailable


@pytest.fixture
def client() -> FakeClient:
    """A cluster of which no watch has told anything yet."""
    return FakeClient(
        (TOOLCALLS, manifests.call()),
        (SESSIONS, manifests.session()),
        (CLASSES, manifests.session_class()),
        (TOOLSPECS, manifests.toolspec()),
        (TOOLKITS, manifests.toolkit()),
        (AGENT_IDENTITIES, manifests.agent()),
        (PODS, manifests.pod()),
    )


@pytest.mark.parametrize("namespaces", ((), (NAMESPACE,)))
async def test_everything_that_is_watched_and_the_calls_that_have_not_ended_are_there(
    client: FakeClient, namespaces: tuple[str, ...]
) -> None:
    caches = Caches()
    client.put(TOOLCALLS, manifests.call("ended", status={"finished": True}))

    await filling.fill(client, caches, namespaces)

    (session,) = caches.sessions.values()
    assert [pod.session_uid for pod in caches.pods_of(session.metadata.uid)] == [session.metadata.uid]
    assert len(caches.classes) == 1
    assert list(caches.agents) == [(NAMESPACE, "bot")]
    assert isinstance(caches.policies.library.toolspec("echoes"), Toolspec)
    assert [call.metadata.name for call in caches.calls.values()] == ["one"]


async def test_a_cluster_that_is_away_for_a_moment_is_asked_again(client: FakeClient) -> None:
    caches = Caches()
    client.troubles.append(Unavailable("away"))

    await filling.fill(client, caches)

    assert len(caches.pods) == 1


async def test_a_refusal_is_told(client: FakeClient) -> None:
    client.refusals["list"] = Rejected("no")

    with pytest.raises(Rejected):
        await filling.fill(client, Caches())
