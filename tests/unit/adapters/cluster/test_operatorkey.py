"""The operator's key in its Secret."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from tests.fakes.apiserver import FakeClient
from toolcall_operator import errors
from toolcall_operator.adapters.cluster import operatorkey
from toolcall_operator.adapters.cluster.resources import SECRETS, Address


def secret(text: object) -> tuple[Any, dict[str, Any]]:
    return SECRETS, {"metadata": {"name": operatorkey.NAME, "namespace": "ours"}, "data": {"key": text}}


class Slow(FakeClient):
    """Lets others go first before it makes an object."""

    async def create(self, address: Address, manifest: Mapping[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0.01)
        return await super().create(address, manifest)


async def test_a_key_is_made_once_and_found_again() -> None:
    client = FakeClient()

    key = await operatorkey.load_or_create(client, "ours")

    assert len(key) == 32
    assert await operatorkey.load_or_create(client, "ours") == key
    [made] = client.objects.values()
    assert made["immutable"] is True


async def test_two_operators_that_make_it_at_once_have_the_same() -> None:
    client = Slow()

    one, other = await asyncio.gather(*(operatorkey.load_or_create(client, "ours") for _ in range(2)))

    assert one == other
    assert [verb for verb, _ in client.asked].count("create") == 2


@pytest.mark.parametrize(
    "text",
    (
        pytest.param(None, id="absent"),
        pytest.param("", id="empty"),
        pytest.param("no base64!", id="not base64"),
        pytest.param(base64.b64encode(b"short").decode(), id="too short"),
        pytest.param(7, id="a number"),
    ),
)
async def test_a_secret_that_holds_no_key_is_left_as_it_is(text: object) -> None:
    client = FakeClient(secret(text))

    with pytest.raises(errors.Rejected, match="toolcall-operator-key holds no key of 32 bytes"):
        await operatorkey.load_or_create(client, "ours")


async def test_a_key_does_not_show(caplog: pytest.LogCaptureFixture) -> None:
    client = FakeClient()
    with caplog.at_level(logging.DEBUG):
        key = await operatorkey.load_or_create(client, "ours")

    assert key.hex() not in caplog.text
    assert base64.b64encode(key).decode() not in caplog.text
