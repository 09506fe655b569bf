"""Where the API server is."""

from __future__ import annotations

import pytest

from tests.fakes.apiserver import FakeClient
from toolcall_operator import errors
from toolcall_operator.adapters.cluster import apiserver
from toolcall_operator.adapters.cluster.resources import ENDPOINT_SLICES, SERVICES

SLICE_LABELS = {"kubernetes.io/service-name": "kubernetes"}


def cluster(address: str, *behind: str) -> FakeClient:
    service = {
        "metadata": {"name": "kubernetes", "namespace": "default"},
        "spec": {"clusterIP": address, "ports": [{"port": 443}]},
    }
    slices = {
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": SLICE_LABELS},
        "endpoints": [{"addresses": [each]} for each in behind],
    }
    return FakeClient((SERVICES, service), (ENDPOINT_SLICES, slices))


async def test_the_api_server_is_known_by_its_service_and_by_what_is_behind_it() -> None:
    found = await apiserver.whereabouts(cluster("10.96.0.1", "203.0.113.7", "198.51.100.2"))

    assert found.service == "10.96.0.1:443"
    assert found.endpoints == ("198.51.100.2/32", "203.0.113.7/32")


async def test_an_address_of_six_parts_stands_in_brackets() -> None:
    found = await apiserver.whereabouts(cluster("fd00::1", "2001:db8::7"))

    assert (found.service, found.endpoints) == ("[fd00::1]:443", ("2001:db8::7/128",))


async def test_what_is_known_by_name_only_is_no_range() -> None:
    assert (await apiserver.whereabouts(cluster("10.96.0.1", "api.example.com"))).endpoints == ()


async def test_no_cluster_is_a_fault_that_is_told() -> None:
    with pytest.raises(errors.Gone):
        await apiserver.whereabouts(FakeClient())
