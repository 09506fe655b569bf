"""Which of two locks keeps Secrets from calls now: the API server's policies, or the label of each Secret."""

from __future__ import annotations

import asyncio
import logging

from toolcall_operator.adapters.cluster import admission
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.errors import Rejected, Unavailable

log = logging.getLogger(__name__)

LOOK_EVERY = 30.0
"""Seconds between two looks at the policies: somebody may take them away, or change them, at any time."""


class Consent:
    """Whether a Secret is used only if its label consents: always, or while the policies are not as they are shipped.

    One of the two locks is always on: policies that were taken away while calls are made are missed within half a
    minute, and from then on the label is asked for.
    """

    def __init__(self, client: Client, *, by_label: bool) -> None:
        self._client = client
        self._by_label = by_label
        self._required = True

    @property
    def required(self) -> bool:
        """Whether the label is needed now."""
        return self._required

    async def settle(self) -> None:
        """Look for the policies, if they are to decide.

        Raises:
            Unavailable: nobody knows.
            Rejected: they are not there, or not as they should be.
        """
        if not self._by_label:
            await admission.require(self._client)
            self._required = False

    async def keep(self) -> None:
        """For ever, look again."""
        while not self._by_label:
            await asyncio.sleep(LOOK_EVERY)
            was = self._required
            try:
                await self.settle()
            except Rejected as lacking:
                self._required = True
                if not was:
                    log.error("%s; until then calls use only Secrets whose label consents", lacking)  # noqa: TRY400 (its text tells)
            except Unavailable:
                continue  # what was true a moment ago is as good as anything
            else:
                if was:
                    log.warning("the API server asks again who may use which Secret")
