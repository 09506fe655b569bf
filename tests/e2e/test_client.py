"""What the API server does is what the operator's client makes of it."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hack.cluster import bundle
from tests.e2e import apis
from tests.kubectl import Kubectl
from toolcall_operator import errors
from toolcall_operator.adapters.cluster import client as clients
from toolcall_operator.adapters.cluster import operatorkey
from toolcall_operator.adapters.cluster.client import Client, Selection
from toolcall_operator.adapters.cluster.exec import Ending
from toolcall_operator.adapters.cluster.resources import CONFIG_MAPS, PODS, TOOLCALLS, Address, Resource

pytestmark = pytest.mark.cluster
LABELS = {"suite": "client"}


@pytest.fixture
async def client(kubectl: Kubectl) -> AsyncIterator[Client]:  # noqa: ARG001 - no cluster, no client
    async with apis.opened() as client:
        yield client


def config_map(namespace: str, **data: str) -> dict[str, Any]:
    name = f"map-{uuid.uuid4().hex[:8]}"
    metadata = {"name": name, "namespace": namespace, "labels": LABELS}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def made(client: Client, namespace: str, **data: str) -> tuple[Address, dict[str, Any]]:
    manifest = await client.create(CONFIG_MAPS.within(namespace), config_map(namespace, **data))
    return CONFIG_MAPS.named(manifest["metadata"]["name"], namespace), manifest


class TestObjects:
    async def test_an_object_is_made_read_patched_and_deleted(self, client: Client, kubectl: Kubectl) -> None:
        address, manifest = await made(client, kubectl.namespace, a="1")
        uid = manifest["metadata"]["uid"]
        same = {"op": "test", "path": "/metadata/uid", "value": uid}

        await client.patch(address, json.dumps([same, {"op": "add", "path": "/data/b", "value": "2"}]).encode())
        await client.merge(address, {"data": {"c": "3"}})
        assert (await client.get(address))["data"] == {"a": "1", "b": "2", "c": "3"}

        await client.delete(address, uid)
        with pytest.raises(errors.Gone):
            await client.get(address)

    async def test_a_patch_for_another_uid_is_rejected(self, client: Client, kubectl: Kubectl) -> None:
        address, _ = await made(client, kubectl.namespace)
        other = [{"op": "test", "path": "/metadata/uid", "value": "other"}, {"op": "remove", "path": "/data"}]

        with pytest.raises(errors.Rejected):
            await client.patch(address, json.dumps(other).encode())

    async def test_a_patch_of_what_is_gone_says_so(self, client: Client, kubectl: Kubectl) -> None:
        with pytest.raises(errors.Gone):
            await client.patch(CONFIG_MAPS.named("gone", kubectl.namespace), b"[]")

    async def test_two_of_one_name_cannot_be(self, client: Client, kubectl: Kubectl) -> None:
        _, manifest = await made(client, kubectl.namespace)
        again = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": manifest["metadata"]["name"]}}

        with pytest.raises(errors.Superseded):
            await client.create(CONFIG_MAPS.within(kubectl.namespace), again)

    async def test_an_older_version_replaces_nothing(self, client: Client, kubectl: Kubectl) -> None:
        address, manifest = await made(client, kubectl.namespace)
        await client.replace(address, {**manifest, "data": {"a": "1"}})

        with pytest.raises(errors.Superseded):
            await client.replace(address, {**manifest, "data": {"a": "2"}})

    async def test_another_of_the_same_name_is_not_deleted(self, client: Client, kubectl: Kubectl) -> None:
        address, _ = await made(client, kubectl.namespace)

        with pytest.raises(errors.Superseded):
            await client.delete(address, str(uuid.uuid4()))

    async def test_lists_are_read_in_pages_by_selector_and_as_metadata(
        self, client: Client, kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(clients, "_PAGE", 2)
        mine = {(await made(client, kubectl.namespace, x="y" * 100))[0].name for _ in range(5)}

        whole = await client.list(CONFIG_MAPS.within(kubectl.namespace), Selection(labels="suite=client"))
        bare = await client.list(
            CONFIG_MAPS.within(), Selection("suite=client", f"metadata.namespace={kubectl.namespace}", True)
        )

        assert mine <= {item["metadata"]["name"] for item in whole}
        assert {item["metadata"]["name"] for item in whole} == {item["metadata"]["name"] for item in bare}
        assert not any("data" in item for item in bare)


class TestRefusals:
    async def test_a_right_that_lacks_is_named(self, kubectl: Kubectl) -> None:
        kubectl("create", "serviceaccount", "powerless")
        async with apis.opened(kubectl("create", "token", "powerless").strip()) as powerless:
            with pytest.raises(errors.Unavailable, match="no right to patch toolcalls/status"):
                await powerless.patch(TOOLCALLS.named("call", kubectl.namespace).part("status"), b"[]")
            with pytest.raises(errors.Unavailable, match="no right to create pods"):
                await powerless.create(PODS.within(kubectl.namespace), pod("none"))

    async def test_a_token_that_nobody_gave_is_not_known(self) -> None:
        async with apis.opened("nobody.gave.this") as stranger:
            with pytest.raises(errors.Unavailable, match="does not know us"):
                await stranger.get(PODS.named("a", "default"))

    async def test_a_quota_that_is_used_up_is_told_in_its_own_words(self, client: Client, kubectl: Kubectl) -> None:
        kubectl("create", "quota", "none", "--hard=services=0")
        kubectl("wait", "--for=jsonpath={.status.hard.services}=0", "quota/none", "--timeout=10s")
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}

        with pytest.raises(errors.Rejected, match="exceeded quota: none"):
            await client.create(Resource("", "v1", "services").within(kubectl.namespace), service)

    async def test_what_is_too_large_is_rejected(self, client: Client, kubectl: Kubectl) -> None:
        for size in (2 << 20, 4 << 20):
            with pytest.raises(errors.Rejected):
                await client.create(CONFIG_MAPS.within(kubectl.namespace), config_map(kubectl.namespace, a="x" * size))

    async def test_what_breaks_a_rule_is_told_with_the_field(self, client: Client, kubectl: Kubectl) -> None:
        manifest = config_map(kubectl.namespace)
        manifest["metadata"]["name"] = "Not A Name"

        with pytest.raises(errors.Rejected, match=r"metadata\.name"):
            await client.create(CONFIG_MAPS.within(kubectl.namespace), manifest)


def pod(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": bundle.named("busybox"), "command": ["sleep", "infinity"]}
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": LABELS}, "spec": spec}


@pytest.fixture(scope="module")
def running(kubectl: Kubectl) -> Address:
    kubectl.apply(pod("running"))
    kubectl("wait", "--for=condition=Ready", "pod/running", "--timeout=50s")
    return PODS.named("running", kubectl.namespace)


class TestExec:
    async def test_a_program_is_fed_and_heard_and_its_code_is_told(self, client: Client, running: Address) -> None:
        stream = await client.exec(running, "main", ("sh", "-c", "head -c 200000 | wc -c; echo no >&2; exit 7"))
        stream.write(b"x" * 200_000)
        await stream.drain()

        said = b""
        while chunk := await stream.read(1 << 16):
            said += chunk

        assert said == b"200000\n"
        assert stream.ending is not None
        assert (stream.ending.code, stream.last_words) == (7, "no")
        await stream.close()

    async def test_a_program_that_is_not_there_is_told_at_the_end(self, client: Client, running: Address) -> None:
        stream = await client.exec(running, "main", ("/no/such/program",))

        assert await stream.read(1) == b""
        assert stream.ending is not None
        assert stream.ending.code is None
        assert "no such file" in stream.ending.message or "exec failed" in stream.ending.message
        await stream.close()

    async def test_closing_ends_a_program_that_reads(self, client: Client, running: Address, kubectl: Kubectl) -> None:
        stream = await client.exec(running, "main", ("cat", "/dev/stdin", "/dev/null"))
        stream.write(b"x")
        assert await stream.read(1) == b"x"
        await stream.close()

        def reads() -> bool:
            return "cat /dev/stdin" in kubectl("exec", "running", "--", "ps")

        for _ in range(50):
            if not reads():
                break
            await asyncio.sleep(0.1)
        assert not reads()

    async def test_an_exec_of_true_takes_so_long(
        self, client: Client, running: Address, capsys: pytest.CaptureFixture[str]
    ) -> None:
        took = []
        for _ in range(20):
            began = time.perf_counter()
            stream = await client.exec(running, "main", ("true",))
            assert await stream.read(1) == b""
            took.append(time.perf_counter() - began)
            assert stream.ending == Ending(0)
            await stream.close()

        with capsys.disabled():
            print(f"\nan exec of true: p50 {statistics.median(took) * 1e3:.0f} ms")  # noqa: T201 (people read what was measured)


async def test_operators_that_make_the_key_at_once_have_the_same(client: Client, kubectl: Kubectl) -> None:
    keys = await asyncio.gather(*(operatorkey.load_or_create(client, kubectl.namespace) for _ in range(8)))

    assert len(set(keys)) == 1
    assert await operatorkey.load_or_create(client, kubectl.namespace) == keys[0]
