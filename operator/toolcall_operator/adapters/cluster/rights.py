"""The rights without which an operator cannot work: asked for one by one before it starts, and told all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolcall_operator.adapters.cluster import admission, lease, operatorkey
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import (
    ACCESS_REVIEWS,
    ADMISSION_BINDINGS,
    ADMISSION_POLICIES,
    AGENT_IDENTITIES,
    CLASSES,
    CONFIG_MAPS,
    DEFINITIONS,
    ENDPOINT_SLICES,
    LEASES,
    NAMESPACES,
    NETWORK_POLICIES,
    OURS,
    PODS,
    SECRETS,
    SERVICES,
    SESSIONS,
    TOOLCALLS,
    TOOLKITS,
    TOOLSPECS,
    Address,
    Resource,
)
from toolcall_operator.errors import Unavailable

_WHERE_CALLS_RUN: Sequence[tuple[Resource, str, str]] = (
    (TOOLCALLS, "", "get list watch patch"),
    (TOOLCALLS, "status", "patch"),
    (SESSIONS, "", "get list watch patch delete"),
    (SESSIONS, "status", "patch"),
    (AGENT_IDENTITIES, "", "get list watch"),
    (AGENT_IDENTITIES, "status", "patch"),
    (PODS, "", "get list watch create patch delete"),
    (PODS, "exec", "get create"),  # a websocket begins with a GET; since Kubernetes 1.35 it needs both
    (NETWORK_POLICIES, "", "get create update"),
    (CONFIG_MAPS, "", "get"),
)
_WHERE_CREDENTIALS_ARE: Sequence[tuple[Resource, str, str]] = ((SECRETS, "", "get patch"),)
_IN_THE_CLUSTER: Sequence[tuple[Resource, str, str]] = (
    (DEFINITIONS, "", "get"),
    *((resource, "", "get list watch") for resource in (CLASSES, TOOLKITS, TOOLSPECS)),
    *((resource, "status", "patch") for resource in (CLASSES, TOOLKITS, TOOLSPECS)),
    (NAMESPACES, "", "get"),
)
_OF_ADMISSION: Sequence[tuple[Resource, str, str]] = ((ADMISSION_POLICIES, "", "get"), (ADMISSION_BINDINGS, "", "get"))
_AT_THE_API_SERVER: Sequence[tuple[Resource, str, str]] = ((SERVICES, "", "get"), (ENDPOINT_SLICES, "", "list"))
_AT_HOME: Sequence[tuple[Resource, str, str]] = ((LEASES, "", "get create update"), (SECRETS, "", "get create"))

# The names of the objects to which a right may be limited: rights to make or list objects cannot be, and which Secrets
# calls will name nobody knows.
_ONLY: Mapping[Resource, Sequence[str]] = {
    DEFINITIONS: tuple(f"{each.plural}.{each.group}" for each in OURS),
    ADMISSION_POLICIES: admission.NAMES,
    ADMISSION_BINDINGS: admission.NAMES,
    SERVICES: ("kubernetes",),
    SECRETS: (operatorkey.NAME,),
    LEASES: (lease.NAME,),
}
_NAMELESS = frozenset({"create", "list"})
_MOST_TOLD = 12


@dataclass(frozen=True, slots=True)
class Right:
    """What may be done to a resource, as the API server's rules name it; an address of no namespace is everywhere."""

    verb: str
    address: Address

    def __str__(self) -> str:
        where = f" in namespace {self.address.namespace}" if self.address.namespace else ""
        return f"{self.verb} {self.address.what}{where}"


def needed(namespaces: Sequence[str], home: str, *, admission_decides: bool = False) -> tuple[Right, ...]:
    """The rights that an operator of these namespaces needs, or of the whole cluster if there are none.

    That of the whole cluster can do without rights to Secrets, and be given them in single namespaces: calls of others
    are told when they ask for a credential. `admission_decides`: the policy says which Secrets calls may use.
    """
    return (
        *(right for namespace in namespaces or ("",) for right in _rights(_WHERE_CALLS_RUN, namespace)),
        *(right for namespace in namespaces for right in _rights(_WHERE_CREDENTIALS_ARE, namespace, {})),
        *_rights(_IN_THE_CLUSTER),
        *(_rights(_OF_ADMISSION) if admission_decides else ()),
        *_rights(_AT_THE_API_SERVER, "default"),
        *_rights(_AT_HOME, home),
    )


async def require(client: Client, namespaces: Sequence[str], home: str, *, admission_decides: bool = False) -> None:
    """Return if we have every right that is `needed`; `home` is the operator's own namespace.

    Raises:
        Unavailable: some lack, or the API server cannot be asked; the text names those that lack.
    """
    wanted = needed(namespaces, home, admission_decides=admission_decides)
    allowed = await asyncio.gather(*(_is_allowed(client, right) for right in wanted))
    lacking = list(dict.fromkeys(str(right) for right, has in zip(wanted, allowed, strict=True) if not has))
    if lacking:
        more = f", and {len(lacking) - _MOST_TOLD} more" if len(lacking) > _MOST_TOLD else ""
        raise Unavailable(f"these rights lack: {', '.join(lacking[:_MOST_TOLD])}{more}")


def _rights(
    table: Sequence[tuple[Resource, str, str]], namespace: str = "", only: Mapping[Resource, Sequence[str]] = _ONLY
) -> Iterator[Right]:
    for resource, subresource, verbs in table:
        for verb in verbs.split():
            for name in ("",) if verb in _NAMELESS else only.get(resource, ("",)):
                yield Right(verb, Address(resource, namespace, name, subresource))


async def _is_allowed(client: Client, right: Right) -> bool:
    address = right.address
    asked = {
        "verb": right.verb,
        "group": address.resource.group,
        "version": address.resource.version,
        "resource": address.resource.plural,
        "subresource": address.subresource,
        "namespace": address.namespace,
        "name": address.name,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: value for key, value in asked.items() if value}},
    }
    answer = await client.create(ACCESS_REVIEWS.within(), review)
    return (answer.get("status") or {}).get("allowed") is True
