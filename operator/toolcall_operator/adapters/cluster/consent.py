"""Which of two locks keeps Secrets from calls now: the API server's policies, or the label of each Secret."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from toolcall_operator.adapters.cluster import admission
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.errors import Gone, Rejected, Unavailable

log = logging.getLogger(__name__)

LOOK_EVERY = 5.0
"""Seconds between two looks at the policies: somebody may take them away, or change them, at any time."""

SETTLING = timedelta(seconds=2)
"""So long an API server takes to judge by policies that were made; times of objects are in whole seconds, too."""


class Consent:
    """Whether a Secret is used only if its label consents: always, or while the policies are not as they are shipped.

    Policies that were taken away are missed within some seconds, and from then on the label is asked for; so it is for
    whoever was not judged because the policies were not there yet, or were not seen to be.
    """

    def __init__(self, client: Client, *, by_label: bool) -> None:
        self._client = client
        self._by_label = by_label
        self._required = True
        self._judged_since: datetime | None = None
        self._missed_at: datetime | None = None
        self._unanswered = 0

    @property
    def required(self) -> bool:
        """Whether the label is needed now."""
        return self._required

    @property
    def judged_since(self) -> datetime | None:
        """Since when the policies judge without a gap that was seen; None where they do not decide."""
        return self._judged_since

    async def settle(self) -> None:
        """Look for the policies, if they are to decide.

        Raises:
            Unavailable: nobody knows.
            Rejected: they are not there, or not as they should be.
        """
        if self._by_label:
            return
        await admission.require(self._client)
        try:
            made_at = await admission.judging_since(self._client)
        except Gone as gone:
            raise Rejected("a policy was taken away just now") from gone
        self._judged_since = max(made_at, self._missed_at or made_at) + SETTLING
        self._required, self._unanswered = False, 0

    async def keep(self) -> None:
        """For ever, look again; the first time at once."""
        while not self._by_label:
            await self._look()
            await asyncio.sleep(LOOK_EVERY)

    async def _look(self) -> None:
        was = self._required
        try:
            await self.settle()
        except Rejected as lacking:
            self._miss(f"{lacking}; until then calls use only Secrets whose label consents", known=was)
        except Unavailable as trouble:
            self._unanswered += 1
            if self._unanswered > 1:  # what was true a moment ago is not true for ever
                self._miss(
                    f"whether policies judge cannot be seen: {trouble}; calls need the label meanwhile", known=was
                )
        else:
            if was:
                log.warning("the API server asks who may use which Secret, calls made from now on need no label")

    def _miss(self, message: str, *, known: bool) -> None:
        self._required, self._missed_at = True, datetime.now(UTC)
        if not known:
            log.error("%s", message)
