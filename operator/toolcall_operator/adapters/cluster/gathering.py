"""What a cluster holds that decides about calls, as manifests: for people who ask what would become of one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import (
    AGENT_IDENTITIES,
    CLASSES,
    SESSIONS,
    TOOLKITS,
    TOOLSPECS,
    Address,
)
from toolcall_operator.errors import Gone

Manifest = Mapping[str, Any]
Key = tuple[str, str]
"""A namespace and a name."""


async def surroundings(client: Client, sessions: Iterable[Key]) -> list[Manifest]:
    """Every toolkit and toolspec, and those of the sessions that are there, with their classes and agents as they are.

    The class of a session whose sandbox was made is the one that was frozen then.

    Raises:
        Unavailable: the API server does not answer.
        Rejected: something may not be read.
    """
    found: list[Manifest] = [
        each for resource in (TOOLKITS, TOOLSPECS) for each in await client.list(resource.within())
    ]
    async for each in _sessions(client, sessions):
        found.append(each)
        found.extend(await _class(client, each))
        found.extend(await _agent(client, each))
    return found


async def _sessions(client: Client, keys: Iterable[Key]) -> AsyncIterator[Manifest]:
    for namespace, name in keys:
        for each in await _there(client, SESSIONS.named(name, namespace)):
            yield each


async def _class(client: Client, session: Manifest) -> list[Manifest]:
    name = session["spec"]["class"]
    frozen = (session.get("status") or {}).get("resolvedClass")
    if frozen is None:
        return await _there(client, CLASSES.named(name))
    return [{"apiVersion": session["apiVersion"], "kind": "SpiceboxClass", "metadata": {"name": name}, "spec": frozen}]


async def _agent(client: Client, session: Manifest) -> list[Manifest]:
    """The AgentIdentity of a session, if it has one that is there."""
    name = (session.get("status") or {}).get("resolvedAgent") or session["spec"].get("agent")
    return await _there(client, AGENT_IDENTITIES.named(name, session["metadata"]["namespace"])) if name else []


async def _there(client: Client, address: Address) -> list[Manifest]:
    """The object, if it is there."""
    try:
        return [await client.get(address)]
    except Gone:
        return []
