"""Where the API server is, as pods would reach it: no sandbox may."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from toolcall_operator.adapters.cluster.client import Client, Selection
from toolcall_operator.adapters.cluster.resources import ENDPOINT_SLICES, SERVICES

_NAMESPACE, _NAME = "default", "kubernetes"


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The Service of the API server as HOST:PORT, and the addresses behind it, each as a range of one."""

    service: str
    endpoints: tuple[str, ...]


async def whereabouts(client: Client) -> Whereabouts:
    """What the cluster says of its own API server.

    Raises:
        Unavailable: it cannot be asked for, or a right lacks.
        Gone: there is no such Service, as in no cluster.
    """
    spec = (await client.get(SERVICES.named(_NAME, _NAMESPACE)))["spec"]
    selection = Selection(labels=f"kubernetes.io/service-name={_NAME}")
    slices = await client.list(ENDPOINT_SLICES.within(_NAMESPACE), selection)
    endpoints = [each for found in slices for each in found.get("endpoints") or ()]
    addresses = sorted({address for each in endpoints for address in each.get("addresses") or ()})
    return Whereabouts(
        service=host_and_port(spec["clusterIP"], spec["ports"][0]["port"]),
        endpoints=tuple(str(ipaddress.ip_network(address)) for address in addresses if _is_address(address)),
    )


def host_and_port(address: str, port: int) -> str:
    """Both in one; an IPv6 address stands in brackets (RFC 3986)."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _is_address(text: str) -> bool:
    """Endpoints may be host names, too."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
