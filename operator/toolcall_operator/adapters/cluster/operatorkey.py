"""The operator's key, from which the keys of all channels come: 32 bytes in one Secret, made once and never shown."""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import Any

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import SECRETS

NAME = "toolcall-operator-key"
_FIELD = "key"
_BYTES = 32


async def load_or_create(client: Client, namespace: str, name: str = NAME) -> bytes:
    """The key, the same for all operators of the namespace: of two that make it at once, both get the first one's.

    Raises:
        Unavailable: it could not be read or made.
        Rejected: the Secret of its name holds no such key, or may not be made.
    """
    address = SECRETS.named(name, namespace)
    try:
        return _key(await client.get(address), name)
    except errors.Gone:
        pass
    try:
        return _key(await client.create(SECRETS.within(namespace), _manifest(namespace, name)), name)
    except errors.Superseded:
        return _key(await client.get(address), name)


def _manifest(namespace: str, name: str) -> dict[str, Any]:
    text = base64.b64encode(secrets.token_bytes(_BYTES)).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "Opaque",
        "immutable": True,
        "data": {_FIELD: text},
    }


def _key(secret: dict[str, Any], name: str) -> bytes:
    text = (secret.get("data") or {}).get(_FIELD)
    try:
        key = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except binascii.Error:
        key = b""
    if len(key) != _BYTES:
        raise errors.Rejected(f"Secret {name} holds no key of {_BYTES} bytes in its field {_FIELD}")
    return key
