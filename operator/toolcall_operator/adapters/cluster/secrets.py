"""The Secrets of a cluster: read by name when a call needs one, written only where nobody wrote in between."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import SECRETS, Address
from toolcall_operator.api.base import OwnerReference
from toolcall_operator.core.credentials.secrets import SecretObject


class KubernetesSecrets:
    """Implements `ports.Secrets`: nothing is watched, listed or remembered, and no error tells of what is in one."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, namespace: str, name: str) -> SecretObject | None:
        """The Secret as it is now, if it is there.

        Raises:
            Unavailable: nobody knows.
            Rejected: we may not read it; the text names the right that lacks.
        """
        address = SECRETS.named(name, namespace)
        try:
            return _secret(await self._client.get(address), address)
        except errors.Gone:
            return None

    async def write(self, secret: SecretObject, data: Mapping[str, bytes | None]) -> SecretObject:
        """Set these keys, remove those that are None, and leave the others; the Secret is then as returned.

        Raises:
            Superseded: it is not as `secret` any more; nothing was written.
            Gone: it is no more; one of the same name is another one.
            Unavailable: it may or may not have been written.
            Rejected: we may not write it.
        """
        address = SECRETS.named(secret.name, secret.namespace)
        basis = {"uid": secret.uid, "resourceVersion": secret.resource_version}
        part = {"metadata": basis, "data": {key: _encoded(value) for key, value in data.items()}}
        try:
            return _secret(await self._client.amend(address, part), address)
        except (errors.Superseded, errors.Rejected):
            if await self._is_another(secret):
                raise errors.Gone(f"{address} is another one by now") from None
            raise

    async def _is_another(self, secret: SecretObject) -> bool:
        """Whether there is no such Secret any more: one of its name is refused like one that was changed."""
        try:
            found = await self.read(secret.namespace, secret.name)
        except errors.Rejected:
            return False
        return found is None or found.uid != secret.uid


def _encoded(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _secret(manifest: Mapping[str, Any], address: Address) -> SecretObject:
    """What of a manifest matters here; an error quotes none of it."""
    try:
        metadata = manifest["metadata"]
        return SecretObject(
            namespace=metadata["namespace"],
            name=metadata["name"],
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            type=manifest.get("type") or "Opaque",
            labels=dict(metadata.get("labels") or {}),
            owners=tuple(OwnerReference.model_validate(each) for each in metadata.get("ownerReferences") or ()),
            data={key: base64.b64decode(text, validate=True) for key, text in (manifest.get("data") or {}).items()},
            immutable=manifest.get("immutable") is True,
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise errors.Unavailable(f"the API server answered something else than {address}") from None
