"""What of a cluster decides about calls is gathered by the sessions they name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.apiserver import FakeClient
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE
from toolcall_operator.adapters.cluster import gathering
from toolcall_operator.adapters.cluster.resources import AGENT_IDENTITIES, CLASSES, SESSIONS, TOOLKITS, TOOLSPECS
from toolcall_operator.errors import Unavailable

WORK = (NAMESPACE, "work")


def cluster(**session: Any) -> FakeClient:  # noqa: ANN401 (fields of a manifest)
    """A cluster with a session, which has these fields, and two AgentIdentities."""
    return FakeClient(
        (SESSIONS, manifests.session(**session)),
        (CLASSES, manifests.session_class()),
        (TOOLKITS, manifests.toolkit()),
        (TOOLSPECS, manifests.toolspec()),
        (AGENT_IDENTITIES, manifests.agent()),
        (AGENT_IDENTITIES, manifests.agent("kept")),
    )


async def gathered(client: FakeClient, *sessions: tuple[str, str]) -> list[tuple[str, str]]:
    """The kind and name of everything that was gathered."""
    found = await gathering.surroundings(client, sessions or (WORK,))
    return [(each["kind"], each["metadata"]["name"]) for each in found]


@pytest.mark.parametrize(
    ("session", "agents"),
    (
        ({}, []),
        ({"spec": {"agent": "bot"}}, ["bot"]),
        ({"spec": {"agent": "bot"}, "status": {"resolvedAgent": "kept"}}, ["kept"]),
        ({"spec": {"agent": "none"}}, []),
    ),
    ids=("none is named", "one is named", "one is kept", "the one that is named is not there"),
)
async def test_the_agent_of_a_session_is_gathered(session: dict[str, Any], agents: list[str]) -> None:
    found = await gathered(cluster(**session))

    assert [name for kind, name in found if kind == "AgentIdentity"] == agents
    assert ("SpiceboxClass", "plain") in found
    assert ("SpiceboxToolspec", "echoes") in found


async def test_a_session_that_is_not_there_has_nothing_around_it() -> None:
    assert await gathered(cluster(), (NAMESPACE, "none")) == [
        ("SpiceboxToolkit", "echo-kit"),
        ("SpiceboxToolspec", "echoes"),
    ]


async def test_a_cluster_that_does_not_answer_is_told() -> None:
    client = cluster(spec={"agent": "bot"})
    client.refusals["get"] = Unavailable("away")

    with pytest.raises(Unavailable, match="away"):
        await gathered(client)
