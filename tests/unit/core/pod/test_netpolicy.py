"""The network of a sandbox."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from tests.unit.core import examples
from toolcall_operator.core.pod import netpolicy, podspec
from toolcall_operator.core.pod.podspec import SandboxSettings

SETTINGS = SandboxSettings("s", "d")


def policy(mode: str, settings: SandboxSettings = SETTINGS) -> dict[str, Any]:
    """The policy of session `work`, of a class with this mode."""
    spec = examples.session_class(network={"mode": mode}).spec
    return netpolicy.policy(examples.session(), spec, settings)


def admits(egress: list[dict[str, Any]], address: str) -> list[int]:
    """The ports of an address that rules about addresses open."""
    found = ipaddress.ip_address(address)

    def in_block(block: dict[str, Any]) -> bool:
        inside = found in ipaddress.ip_network(block["cidr"])
        return inside and not any(found in ipaddress.ip_network(each) for each in block.get("except", ()))

    rules = [rule for rule in egress if any(in_block(peer["ipBlock"]) for peer in rule["to"] if "ipBlock" in peer)]
    return sorted({port["port"] for rule in rules for port in rule["ports"]})


@pytest.mark.parametrize("mode", ("none", "allowlist"))
def test_a_policy_is_for_the_pods_of_its_session_and_lets_nobody_in(mode: str) -> None:
    found = policy(mode)

    assert found["metadata"] == podspec.metadata(examples.session(), "work-sandbox")
    assert found["spec"]["podSelector"] == {"matchLabels": {"agentprimitives.authzed.com/session": "work"}}
    assert found["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert found["spec"]["ingress"] == []


def test_with_mode_none_nothing_gets_out() -> None:
    assert policy("none")["spec"]["egress"] == []


def test_a_class_that_says_nothing_of_its_network_has_none() -> None:
    assert netpolicy.policy(examples.session(), examples.session_class().spec, SETTINGS)["spec"]["egress"] == []


def test_with_an_allowlist_names_are_resolved_by_the_name_servers_of_the_cluster() -> None:
    names = policy("allowlist")["spec"]["egress"][0]

    assert names["ports"] == [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    assert names["to"] == [
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
            "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
        },
        {"ipBlock": {"cidr": "169.254.20.10/32"}},
    ]


@pytest.mark.parametrize("address", ("1.1.1.1", "93.184.216.34", "2606:4700::1111"))
def test_with_an_allowlist_the_web_is_reached_and_no_other_port(address: str) -> None:
    assert admits(policy("allowlist")["spec"]["egress"], address) == [80, 443]


@pytest.mark.parametrize(
    "address",
    (
        "10.96.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.100.100.200",  # Alibaba's metadata
        "169.254.169.254",
        "192.0.0.192",
        "168.63.129.16",
        "127.0.0.1",
        "198.18.0.1",
        "240.0.0.1",
        "fd00:ec2::254",  # Amazon's metadata
        "fe80::1",
    ),
)
def test_with_an_allowlist_nothing_inside_is_reached(address: str) -> None:
    assert admits(policy("allowlist")["spec"]["egress"], address) == []


def test_what_is_inside_and_where_names_are_resolved_can_be_set() -> None:
    settings = SandboxSettings("s", "d", internal_ranges=("203.0.113.0/24",), name_servers=("192.0.2.53/32",))

    egress = policy("allowlist", settings)["spec"]["egress"]

    assert admits(egress, "203.0.113.7") == []
    assert admits(egress, "10.0.0.1") == [80, 443]
    assert admits(egress, "192.0.2.53") == [53, 80, 443]


def test_every_exception_lies_in_what_it_is_excepted_from() -> None:
    for peer in policy("allowlist")["spec"]["egress"][1]["to"]:
        block = peer["ipBlock"]
        everywhere = ipaddress.ip_network(block["cidr"])
        assert block["except"]
        assert {ipaddress.ip_network(each).version for each in block["except"]} == {everywhere.version}
