"""What a cluster holds around the calls of some files, as documents beside them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from toolcall_operator.adapters.cluster import config, gathering
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.api.crds import CLUSTER_WIDE
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.local import keys, manifests
from toolcall_operator.local.manifests import Document


async def around(documents: Sequence[Document], namespace: str, context: str) -> list[Document]:
    """The documents, and after them what the cluster of the kubeconfig holds that decides about their calls.

    Objects that name no namespace are taken to be in `namespace`, or else in the one of the kubeconfig's context.

    Raises:
        OperatorError: the cluster cannot be asked.
    """
    async with aclosing(await Client.open(config.source("", context, os.environ))) as client:
        placed = [_placed(each, namespace or client.namespace) for each in documents]
        found = await gathering.surroundings(client, dict.fromkeys(_sessions(placed)))
    written = {keys.of_unread(each.raw) for each in placed}
    return [*placed, *(manifests.unwritten("the cluster", raw) for raw in found if keys.of_unread(raw) not in written)]


def _placed(document: Document, namespace: str) -> Document:
    """The document, in the namespace in which the cluster would take it to be."""
    raw = document.raw
    if not isinstance(raw, Mapping) or not isinstance(raw.get("metadata"), Mapping) or raw.get("kind") in CLUSTER_WIDE:
        return document
    return replace(document, raw={**raw, "metadata": {"namespace": namespace, **raw["metadata"]}})


def _sessions(documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """The sessions that the calls name."""
    for document in documents:
        key = keys.of_unread(document.raw)
        spec = document.raw.get("spec") if key and key.kind == ToolCall.__name__ else None
        if key and isinstance(spec, Mapping) and isinstance(spec.get("session"), str):
            yield key.namespace, spec["session"]
