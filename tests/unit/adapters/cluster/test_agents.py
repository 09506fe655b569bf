"""The AgentIdentity of a session, in the world of its calls."""

from __future__ import annotations

from typing import Any

from tests.fakes.apiserver import FakeClient
from tests.fakes.wakes import FakeWakes
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE
from tests.unit.api import manifests as api
from tests.unit.core.examples import NOW
from toolcall_operator.adapters.cluster.calls import KubernetesCluster
from toolcall_operator.adapters.cluster.events import Events
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.shelf import Identity
from toolcall_operator.adapters.cluster.resources import AGENT_IDENTITIES, SESSIONS, TOOLCALLS
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.world import World

BOT = (NAMESPACE, "bot")
OTHERS = api.static_credential(name="mail")


class Place:
    """A fake API server with a call of a bound session whose agent is `bot`; the caches know all but that."""

    def __init__(self, credential: str = "forge", **status: Any) -> None:  # noqa: ANN401 (fields of a status)
        named = [{"inject": {"envVar": "TOKEN"}, "identity": {"name": "bot", "credential": credential}}]
        bound = {"resolvedClass": manifests.session_class()["spec"], "resolvedAgent": "bot", **status}
        self.client = FakeClient(
            (TOOLCALLS, manifests.call(spec={"credentials": named})),
            (SESSIONS, manifests.session(spec={"agent": "bot"}, status=bound)),
        )
        self.caches = Caches(FakeWakes())
        for manifest in self.client.objects.values():
            self.caches.put(manifest)
        self.cluster = KubernetesCluster(self.client, self.caches, Events(self.client, "me", lambda: NOW))

    @property
    def call(self) -> ToolCall:
        """The call, as the caches have it."""
        return self.caches.calls["uid-one"]

    async def world(self, *, live: bool = False) -> World:
        """The world of the call."""
        return await self.cluster.observe(self.call, live=live)

    def asked_for_agents(self) -> int:
        """How often an AgentIdentity was asked for."""
        return sum(what.startswith("agentidentities") for _, what in self.client.asked)


async def test_the_agent_of_a_session_is_part_of_the_world_and_costs_no_request() -> None:
    place = Place()
    place.caches.put(place.client.put(AGENT_IDENTITIES, manifests.agent()))

    world = await place.world()

    assert world.identity is place.caches.agents[BOT]
    assert place.client.asked == []


async def test_a_change_of_the_agent_makes_another_world() -> None:
    place = Place()
    place.caches.put(manifests.agent())
    before, again = await place.world(), await place.world()

    place.caches.put(manifests.agent(version=2, spec={"credentials": [OTHERS]}))
    after = await place.world()
    place.caches.drop("AgentIdentity", Identity.of(manifests.agent()))

    assert before is again
    assert after.identity is not None
    assert after.identity.spec.credentials[0].name == "mail"
    assert (await place.world()).identity is None


async def test_the_agent_of_another_namespace_is_not_the_sessions() -> None:
    place = Place()
    place.caches.put(manifests.agent(namespace="other", uid="another"))

    assert (await place.world()).identity is None


async def test_an_agent_that_memory_lacks_is_asked_for_when_it_matters() -> None:
    place = Place()
    place.client.put(AGENT_IDENTITIES, manifests.agent())
    remembered = (await place.world()).identity

    world = await place.world(live=True)

    assert remembered is None
    assert world.identity is not None
    assert place.asked_for_agents() == 1


async def test_so_is_one_of_which_memory_lacks_the_credential_that_is_named() -> None:
    place = Place("mail")
    place.caches.put(manifests.agent())
    newer = [api.static_credential(), OTHERS]
    place.client.put(AGENT_IDENTITIES, manifests.agent(spec={"credentials": newer}))

    world = await place.world(live=True)

    assert world.identity is not None
    assert [each.name for each in world.identity.spec.credentials] == ["forge", "mail"]


async def test_one_that_is_known_to_have_it_is_not_asked_for_again() -> None:
    place = Place()
    place.caches.put(place.client.put(AGENT_IDENTITIES, manifests.agent()))

    await place.world(live=True)

    assert place.asked_for_agents() == 0


async def test_one_that_turns_out_to_be_gone_is_forgotten() -> None:
    place = Place("mail")
    place.caches.put(manifests.agent())

    world = await place.world(live=True)

    assert world.identity is None
    assert not place.caches.agents
