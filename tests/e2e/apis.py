"""The operator's own client for the tests of this folder: as the kubeconfig's user, or with a token's rights alone."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from toolcall_operator.adapters.cluster import config
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.config import Credentials, Source


@dataclass(frozen=True, slots=True)
class OfToken:
    """A `config.Source` that shows a token in place of the kubeconfig's credentials."""

    token: str

    async def load(self, before: Credentials | None = None) -> Credentials:
        """The kubeconfig's server, and the token."""
        found = await _kubeconfig().load(before)
        certificates = replace(found.certificates, certificate=b"", key=b"")
        kept = before.context if before else certificates.context()
        return replace(found, certificates=certificates, context=kept, authorization=f"Bearer {self.token}")


@asynccontextmanager
async def opened(token: str = "") -> AsyncIterator[Client]:
    """A client, while the context is open."""
    client = await Client.open(OfToken(token) if token else _kubeconfig())
    try:
        yield client
    finally:
        await client.aclose()


def _kubeconfig() -> Source:
    return config.source("", "", os.environ)
