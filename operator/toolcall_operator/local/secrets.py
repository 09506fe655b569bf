"""Secrets of manifest files, and those that whoever starts a run gives it from the environment."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from toolcall_operator.api.parsing import Malformed, Problem
from toolcall_operator.core.credentials.secrets import CONSENT, SecretObject
from toolcall_operator.errors import Rejected
from toolcall_operator.local.keys import Key

KIND = "Secret"

_NO_BREAKS = str.maketrans("", "", "\r\n")
"""Kubernetes reads base64 that is broken into lines."""

Given = Mapping[tuple[str, str], str]
"""Values by the name of a Secret and a key in it; they are there in every namespace."""


class FileSecrets:
    """Implements `ports.Secrets` over documents. What is given has precedence, and consents to its use.

    None can be written: a token that was renewed would be lost with the run.
    """

    def __init__(self, given: Given | None = None) -> None:
        self._given: dict[str, dict[str, bytes]] = {}
        for (name, key), value in (given or {}).items():
            self._given.setdefault(name, {})[key] = value.encode(errors="surrogateescape")
        self._secrets: dict[tuple[str, str], SecretObject] = {}

    def put(self, secret: SecretObject) -> None:
        """Take in the Secret of a document."""
        self._secrets[secret.namespace, secret.name] = secret

    async def read(self, namespace: str, name: str) -> SecretObject | None:
        """The Secret, with what was given of it."""
        secret, given = self._secrets.get((namespace, name)), self._given.get(name)
        if given is None:
            return secret
        data = {**(secret.data if secret else {}), **given}
        uid = secret.uid if secret else f"given-{name}"
        return SecretObject(namespace, name, uid, "1", labels={CONSENT: "true"}, data=data, immutable=True)

    async def write(self, secret: SecretObject, data: Mapping[str, bytes | None]) -> SecretObject:  # noqa: ARG002 (nothing is written)
        """Refuse: files are their author's.

        Raises:
            Rejected: always.
        """
        raise Rejected(f"Secret {secret.namespace}/{secret.name} stands in a file, which is not written to")


def is_secret(manifest: object) -> bool:
    """Whether a document is a Secret of Kubernetes."""
    return isinstance(manifest, Mapping) and (manifest.get("apiVersion"), manifest.get("kind")) == ("v1", KIND)


def key(secret: SecretObject) -> Key:
    """What no two objects share."""
    return Key(KIND, secret.namespace, secret.name)


def parsed(manifest: Mapping[str, Any]) -> SecretObject:
    """The Secret that a completed document describes.

    Raises:
        Malformed: it describes none; no problem shows a value.
    """
    metadata, problems = manifest.get("metadata"), list(_problems(manifest))
    if problems or not isinstance(metadata, Mapping):
        raise Malformed(problems or [Problem("metadata", "must be an object with a name")], KIND)
    data = {name: base64.b64decode(text) for name, text in (manifest.get("data") or {}).items()}
    data |= {name: text.encode() for name, text in (manifest.get("stringData") or {}).items()}
    return SecretObject(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version="1",
        type=manifest.get("type") or "Opaque",
        labels=metadata.get("labels") or {},
        data=data,
        immutable=True,
    )


def _problems(manifest: Mapping[str, Any]) -> Iterator[Problem]:
    metadata = manifest.get("metadata")
    texts = metadata if isinstance(metadata, Mapping) else {}
    for name in ("name", "namespace", "uid"):
        if not isinstance(texts.get(name), str) or not texts[name]:
            yield Problem(f"metadata.{name}", "must be text")
    yield from _not_texts("metadata.labels", texts.get("labels"))
    if not isinstance(manifest.get("type") or "", str):
        yield Problem("type", "must be text")
    yield from _not_texts("stringData", manifest.get("stringData"))
    yield from _not_texts("data", manifest.get("data"))
    if isinstance(data := manifest.get("data"), Mapping):
        for name, text in data.items():
            if isinstance(text, str) and not _is_base64(text):
                yield Problem(f"data.{name}", "must be base64; text as it is belongs into stringData")


def _not_texts(path: str, value: object) -> Iterator[Problem]:
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield Problem(path, "must be an object")
        return
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            yield Problem(f"{path}.{name}" if isinstance(name, str) else path, "must be text; put it in quotes")
        elif not _is_unicode(text):
            yield Problem(f"{path}.{name}", "must be valid Unicode text")


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.translate(_NO_BREAKS), validate=True)
    except (ValueError, binascii.Error):
        return False
    return True


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
