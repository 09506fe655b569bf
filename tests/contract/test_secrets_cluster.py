"""The suite of Secrets on a cluster, as an account that has no rights but those of the operator's manifest to them."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest

from tests.contract.secrets import SecretsSuite
from tests.e2e import apis
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import CONFIG_MAPS, SECRETS
from toolcall_operator.adapters.cluster.secrets import KubernetesSecrets
from toolcall_operator.core.credentials.secrets import CONSENT

pytestmark = pytest.mark.cluster

READER, STRANGER = "reader", "stranger"


@dataclass
class ClusterKeeper:
    """Secrets of a namespace; `anybody` is an administrator, who changes them behind the operator's back."""

    namespace: str
    anybody: Client
    secrets: KubernetesSecrets
    forbidden: KubernetesSecrets
    uids: dict[str, str] = field(default_factory=dict)

    async def create(self, name: str, data: Mapping[str, bytes], *, immutable: bool = False) -> None:
        """Create a Secret."""
        made = await self.anybody.create(
            SECRETS.within(self.namespace),
            {
                "metadata": {"name": name, "labels": {CONSENT: "true"}},
                "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
                "immutable": immutable,
            },
        )
        self.uids[name] = made["metadata"]["uid"]

    async def change(self, name: str, data: Mapping[str, bytes]) -> None:
        """Set keys of a Secret."""
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        await self.anybody.merge(SECRETS.named(name, self.namespace), {"data": encoded})

    async def delete(self, name: str) -> None:
        """Delete a Secret."""
        await self.anybody.delete(SECRETS.named(name, self.namespace), self.uids.pop(name))


@pytest.fixture(scope="module")
def accounts(kubectl: Kubectl) -> Mapping[str, str]:
    """The tokens of one account that may get and patch Secrets, and of one that may do nothing."""
    for name in (READER, STRANGER):
        kubectl("create", "serviceaccount", name)
    kubectl("create", "role", READER, "--verb=get,patch", "--resource=secrets")
    kubectl("create", "rolebinding", READER, f"--role={READER}", f"--serviceaccount={kubectl.namespace}:{READER}")
    return {name: kubectl("create", "token", name).strip() for name in (READER, STRANGER)}


@pytest.fixture
async def keeper(kubectl: Kubectl, accounts: Mapping[str, str]) -> AsyncIterator[ClusterKeeper]:
    """The Secrets of the module's namespace, without those of earlier tests."""
    async with AsyncExitStack() as held:
        anybody, reader, stranger = [
            await held.enter_async_context(apis.opened(token)) for token in ("", accounts[READER], accounts[STRANGER])
        ]
        yield ClusterKeeper(kubectl.namespace, anybody, KubernetesSecrets(reader), KubernetesSecrets(stranger))


class TestClusterSecrets(SecretsSuite):
    """Every promise of the suite, and what only a cluster can show."""

    async def test_an_owner_is_read(self, keeper: ClusterKeeper) -> None:
        await keeper.create("owned", {"token": b"any"})
        made = await keeper.anybody.create(CONFIG_MAPS.within(keeper.namespace), {"metadata": {"name": "owner"}})
        uid = made["metadata"]["uid"]  # of one that is there: what nobody owns any more is collected
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
        part = {"metadata": {"ownerReferences": [owner]}}
        await keeper.anybody.merge(SECRETS.named("owned", keeper.namespace), part)

        found = await keeper.secrets.read(keeper.namespace, "owned")

        assert found is not None
        [read] = found.owners
        assert (read.api_version, read.kind, read.name, read.uid) == ("v1", "ConfigMap", "owner", uid)

    async def test_a_secret_of_the_largest_size_is_read_and_written(self, keeper: ClusterKeeper) -> None:
        most = bytes(1 << 20)
        await keeper.create("large", {"most": most})
        found = await keeper.secrets.read(keeper.namespace, "large")
        assert found is not None

        written = await keeper.secrets.write(found, {"most": most[1:] + b"1"})

        assert written.data == {"most": most[1:] + b"1"}
