"""Objects as URLs name them."""

from __future__ import annotations

import pytest

from toolcall_operator.adapters.cluster.resources import CLASSES, LEASES, PODS, TOOLCALLS, Address


@pytest.mark.parametrize(
    ("address", "path", "text"),
    (
        (PODS.within(), "/api/v1/pods", "pods"),
        (PODS.within("a"), "/api/v1/namespaces/a/pods", "pods a"),
        (PODS.named("p", "a"), "/api/v1/namespaces/a/pods/p", "pods a/p"),
        (PODS.named("p", "a").part("exec"), "/api/v1/namespaces/a/pods/p/exec", "pods/exec a/p"),
        (CLASSES.named("c"), "/apis/agentprimitives.authzed.com/v1alpha1/spiceboxclasses/c", "spiceboxclasses c"),
        (LEASES.named("l", "a"), "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", "leases a/l"),
        (
            TOOLCALLS.named("t", "a").part("status"),
            "/apis/agentprimitives.authzed.com/v1alpha1/namespaces/a/toolcalls/t/status",
            "toolcalls/status a/t",
        ),
    ),
)
def test_an_address_has_a_path_and_a_name(address: Address, path: str, text: str) -> None:
    assert (address.path, str(address)) == (path, text)


def test_a_name_cannot_lead_elsewhere() -> None:
    assert PODS.named("../../secrets?x", "a/b").path == "/api/v1/namespaces/a%2Fb/pods/..%2F..%2Fsecrets%3Fx"
