"""Reads of Secrets, shared by all who had asked before one began."""

from __future__ import annotations

import asyncio

from toolcall_operator import errors
from toolcall_operator.broker import flights
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Secrets

_Read = asyncio.Task[SecretObject | None]
_Name = tuple[str, str]


class Reading:
    """Reads Secrets, each at most once at a time. A read that has begun may miss a change: nobody joins it any more."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._coming: dict[_Name, _Read] = {}
        self._begun: dict[_Name, _Read] = {}

    async def needed(self, namespace: str, name: str) -> SecretObject | Refused:
        """The Secret as it is now, or why it cannot be had.

        Raises:
            Unavailable: nobody knows.
        """
        found = await self.optional(namespace, name)
        return found or Refused(Reason.CREDENTIAL_UNRESOLVED, f"Secret {namespace}/{name} is not there")

    async def optional(self, namespace: str, name: str) -> SecretObject | Refused | None:
        """The Secret as it is now, None if it is not there, or why nobody may know.

        Raises:
            Unavailable: nobody knows.
        """
        try:
            return await self._read((namespace, name))
        except errors.Rejected:
            message = f"the operator may not read Secret {namespace}/{name}"
            return Refused(Reason.CREDENTIAL_UNRESOLVED, message)

    async def _read(self, name: _Name) -> SecretObject | None:
        if (task := self._coming.get(name)) is None:
            task = self._coming[name] = asyncio.create_task(self._begin(name))
            task.add_done_callback(flights.heeded)
        return await flights.outcome(task)

    async def _begin(self, name: _Name) -> SecretObject | None:
        if before := self._begun.get(name):
            await asyncio.wait((before,))
        self._begun[name] = self._coming.pop(name)
        try:
            return await self._secrets.read(*name)
        finally:
            del self._begun[name]
