"""Leadership: one of several operators holds a Lease, and each term of it has a higher number than all before."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import LEASES

log = logging.getLogger(__name__)

_FIRST_TERM = 1_700_000_000
"""In seconds of Unix time, the zero of the number of a Lease's first term."""
_CONFLICTS = 3
_RELEASE_SECONDS = 2.0

NAME = "toolcall-operator"
"""Of the Lease for which the operators of one namespace compete."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How long leadership lasts, in seconds.

    Others may take it when it was not renewed for `duration`, its holder gives it up after `give_up`: there may be a
    while with no leader, and none with two.
    """

    duration: float = 8.0
    renew: float = 2.0
    give_up: float = 5.0


class Lease:
    """One candidate, for one term: `epoch` is its number. `lost` is set when it is over, for whatever reason.

    The `identity` must be this process's own. Clocks of machines are not compared: a Lease has run out when this
    process has seen it unchanged for its whole duration.
    """

    def __init__(self, client: Client, namespace: str, name: str, identity: str, terms: Terms | None = None) -> None:
        self.epoch = 0
        self.lost = asyncio.Event()
        self._client = client
        self._address = LEASES.named(name, namespace)
        self._identity = identity
        self._terms = terms or Terms()
        self._record: dict[str, Any] = {}
        self._version = ""
        self._unchanged_since = 0.0
        self._renewed = 0.0
        self._renewing: asyncio.Task[None] | None = None
        self._told = ""

    async def acquire(self) -> None:
        """Return once we lead; from then on the Lease is renewed until it is released or lost.

        What is waited for is told in the log, once each.

        Raises:
            Rejected: the API server will not have it.
        """
        while True:
            began = asyncio.get_running_loop().time()
            if await self._attempt():
                self._renewed = began
                self._renewing = asyncio.create_task(self._keep())
                return
            await asyncio.sleep(self._terms.renew * random.uniform(0.2, 0.4))  # noqa: S311 - guards nothing

    def holds(self) -> bool:
        """Whether nobody else can lead now; false at once in a process that was stopped for too long."""
        now = asyncio.get_running_loop().time()
        return self._renewing is not None and not self.lost.is_set() and now < self._renewed + self._terms.give_up

    async def release(self) -> None:
        """Give it up, so that the next leader need not wait; it runs out by itself when that does not work."""
        if self._renewing is None:
            return
        over = self.lost.is_set()
        self.lost.set()  # a task that is canceled before its first step does nothing
        self._renewing.cancel()
        await asyncio.gather(self._renewing, return_exceptions=True)
        if not over:
            try:
                async with asyncio.timeout(_RELEASE_SECONDS):
                    await self._write("")
            except (errors.OperatorError, TimeoutError) as trouble:
                log.warning("The Lease %s was not released: %s", self._address.name, _why(trouble))

    async def _attempt(self) -> bool:
        """Whether it was free, and is ours now; trouble with the API server may pass."""
        try:
            async with asyncio.timeout(self._terms.give_up):
                return await self._take()
        except errors.Superseded:
            return False
        except (errors.Unavailable, errors.Gone, TimeoutError) as trouble:
            self._tell(logging.WARNING, f"the lead cannot be asked for: {_why(trouble)}")
            return False

    async def _take(self) -> bool:
        try:
            found = await self._client.get(self._address)
        except errors.Gone:
            self._record = await self._client.create(LEASES.within(self._address.namespace), self._first())
        else:
            if (holder := _holder(found)) and not self._has_run_out(found):
                self._tell(logging.INFO, f"waiting for the lead, which {errors.foreign(holder)} holds")
                return False
            spec = self._spec(self._identity, _term(found) + 1)
            self._record = await self._client.replace(self._address, _with(found, spec))
        self.epoch = _term(self._record)
        return True

    def _has_run_out(self, found: Mapping[str, Any]) -> bool:
        now, version = asyncio.get_running_loop().time(), found["metadata"]["resourceVersion"]
        if version != self._version:
            self._version, self._unchanged_since = version, now
        duration = found["spec"].get("leaseDurationSeconds") or self._terms.duration
        return now - self._unchanged_since >= float(duration)

    async def _keep(self) -> None:
        """Renew it until that fails for too long, or somebody else leads. Counted is from before each request."""
        now, pause = asyncio.get_running_loop().time, self._terms.renew
        try:
            while (left := self._renewed + self._terms.give_up - now()) > 0:
                await asyncio.sleep(min(pause, left))
                began = now()
                try:
                    async with asyncio.timeout_at(min(began + self._terms.renew, self._renewed + self._terms.give_up)):
                        if not await self._write(self._identity):
                            break
                except (errors.OperatorError, TimeoutError) as trouble:
                    log.warning("The Lease %s was not renewed: %s", self._address.name, _why(trouble))
                    pause = self._terms.renew / 4
                else:
                    self._renewed, pause = began, self._terms.renew
        finally:
            self.lost.set()

    async def _write(self, holder: str) -> bool:
        """Write the record anew; False when it is not ours any more.

        A conflict tells little: a request of ours whose answer was lost has landed, or somebody set an annotation.
        """
        for _ in range(_CONFLICTS):
            try:
                self._record = await self._client.replace(
                    self._address, _with(self._record, self._spec(holder, self.epoch))
                )
            except errors.Superseded:
                self._record = await self._client.get(self._address)
                if (_holder(self._record), _term(self._record)) != (self._identity, self.epoch):
                    return False
            except errors.Gone:
                return False
            else:
                return True
        raise errors.Unavailable("others write to it all the time")

    def _tell(self, level: int, waited_for: str) -> None:
        if self._told != waited_for:
            self._told = waited_for
            log.log(level, waited_for)

    def _first(self) -> dict[str, Any]:
        """A new Lease.

        Supervisors remember the highest term they have met: one that somebody deletes must not count from 1 again.
        """
        metadata = {"name": self._address.name, "namespace": self._address.namespace}
        spec = self._spec(self._identity, int(time.time()) - _FIRST_TERM)
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}

    def _spec(self, holder: str, term: int) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        began = {} if self._renewing else {"acquireTime": now}
        return {
            "holderIdentity": holder,
            "leaseDurationSeconds": max(1, round(self._terms.duration)),
            "leaseTransitions": term,
            "renewTime": now,
            **began,
        }


def _why(trouble: Exception) -> str:
    """What a trouble is about; a timeout has no text of its own."""
    return "no answer in time" if isinstance(trouble, TimeoutError) else str(trouble)


def _holder(lease: Mapping[str, Any]) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")


def _term(lease: Mapping[str, Any]) -> int:
    return int((lease.get("spec") or {}).get("leaseTransitions") or 0)


def _with(lease: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {**lease, "spec": {**(lease.get("spec") or {}), **spec}}
