"""The network of a sandbox: nobody reaches it, and it reaches nothing, or the web but nothing inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolcall_operator.api.spiceboxclass import SpiceboxClassSpec
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core.pod import podspec
from toolcall_operator.core.pod.podspec import SandboxSettings

_EVERYWHERE = ("0.0.0.0/0", "::/0")
_DNS = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
_WEB = [{"protocol": "TCP", "port": port} for port in (443, 80)]

# The label is what kubeadm, k3s, GKE, EKS and AKS put on their name servers, whatever their program is called.
_KUBE_DNS = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
    "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
}


def policy_name(session: str) -> str:
    """The name of a session's policy."""
    return f"{session}-sandbox"


def policy(session: SpiceboxSession, spec: SpiceboxClassSpec, settings: SandboxSettings) -> dict[str, Any]:
    """The NetworkPolicy of a session's pods; it must be there before they are.

    The names in `allowedHosts` are not in it: a policy knows addresses only. A class that lists any is refused.
    """
    name = session.metadata.name
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": podspec.metadata(session, policy_name(name)),
        "spec": {
            "podSelector": {"matchLabels": {podspec.SESSION_LABEL: name}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [],
            "egress": list(_egress(settings)) if spec.network.mode == "allowlist" else [],
        },
    }


def _egress(settings: SandboxSettings) -> Iterator[dict[str, Any]]:
    """Name servers, and the web outside."""
    name_servers = [{"ipBlock": {"cidr": cidr}} for cidr in settings.name_servers]
    yield {"to": [_KUBE_DNS, *name_servers], "ports": _DNS}
    yield {"to": [_outside(everywhere, settings.internal_ranges) for everywhere in _EVERYWHERE], "ports": _WEB}


def _outside(everywhere: str, internal: Iterable[str]) -> dict[str, Any]:
    """All addresses of one kind, version 4 or 6, but the internal ones."""
    return {
        "ipBlock": {"cidr": everywhere, "except": [each for each in internal if (":" in each) == (":" in everywhere)]}
    }
