"""Reads the Secrets that objects name: few at once, and none for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from toolcall_operator import errors
from toolcall_operator.core.agentcredentials import Found, Unreadable
from toolcall_operator.ports import Secrets

READS_AT_ONCE = 16
"""Of all objects together: calls and sessions ask the same API server."""

READ_SECONDS = 10.0
"""How long one may take: it holds up others, should there be as many of them as may be at once."""


class SecretReads:
    """One after the other of what one object names, so that no object takes the turns of the others."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._turns = asyncio.Semaphore(READS_AT_ONCE)

    async def all(self, namespace: str, names: Iterable[str]) -> Mapping[str, Found]:
        """The Secrets of these names as they are now; after one that cannot be read, no other is asked for."""
        found: dict[str, Found] = {}
        trouble: Unreadable | None = None
        for name in names:
            found[name] = each = trouble or await self._read(namespace, name)
            trouble = each if isinstance(each, Unreadable) else None
        return found

    async def _read(self, namespace: str, name: str) -> Found:
        try:
            async with self._turns, asyncio.timeout(READ_SECONDS):
                return await self._secrets.read(namespace, name)
        except TimeoutError:
            return Unreadable(f"Secret {namespace}/{name} could not be read within {READ_SECONDS:g} s")
        except errors.OperatorError as fault:
            return Unreadable(f"Secret {namespace}/{name} cannot be read: {fault}")
