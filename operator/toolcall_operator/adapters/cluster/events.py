"""Kubernetes Events about refusals and faults: best effort, few enough to do no harm."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import EVENTS
from toolcall_operator.api import times
from toolcall_operator.api.base import API_VERSION, Manifest
from toolcall_operator.api.crds import CLUSTER_WIDE
from toolcall_operator.core import plaintext
from toolcall_operator.errors import OperatorError

log = logging.getLogger(__name__)

COMPONENT = "toolcall-operator"
LONGEST_QUEUE = 256
SUBJECTS_REMEMBERED = 4_096
AGAIN_AFTER = timedelta(minutes=5)
"""How long one object is not spoken of again for the same reason."""

PAUSE = timedelta(milliseconds=50)
"""Between two Events: a thousand refusals must not crowd out the writes that matter."""

_LONGEST_NAME = 200
"""Of the object's name in the Event's own, which may be 253 characters long."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The object an Event is about; a namespace of "" is that of an object of the whole cluster."""

    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, manifest: Manifest) -> Subject:
        """The subject that an object is."""
        metadata = manifest.metadata
        namespace = "" if manifest.kind in CLUSTER_WIDE else metadata.namespace
        return cls(manifest.kind, namespace, metadata.name, metadata.uid)


class Events:
    """Takes remarks without waiting, and writes them down one after the other while `run` runs.

    What does not fit into the queue, or cannot be written, is dropped: the status says the same.
    """

    def __init__(self, client: Client, instance: str, now: Callable[[], datetime]) -> None:
        self._client = client
        self._instance = instance
        self._now = now
        self._queue: deque[tuple[Subject, dict[str, Any]]] = deque(maxlen=LONGEST_QUEUE)
        self._remarked: OrderedDict[tuple[str, str], datetime] = OrderedDict()
        self._filled = asyncio.Event()

    def warn(self, subject: Subject, reason: str, message: str) -> None:
        """Have a Warning written about an object, unless the same was said of it a moment ago."""
        now = self._now()
        last = self._remarked.get((subject.uid, reason))
        if last is not None and now - last < AGAIN_AFTER:
            return
        self._remarked[subject.uid, reason] = now
        self._remarked.move_to_end((subject.uid, reason))
        if len(self._remarked) > SUBJECTS_REMEMBERED:
            self._remarked.popitem(last=False)
        self._queue.append((subject, self._event(subject, reason, message, now)))
        self._filled.set()

    async def run(self) -> None:
        """Write down what is remarked, for ever."""
        while True:
            await self._filled.wait()
            await self.flush()

    async def flush(self) -> None:
        """Write down what is in the queue."""
        self._filled.clear()
        while self._queue:
            subject, event = self._queue.popleft()
            try:
                await self._client.create(EVENTS.within(_namespace(subject)), event)
            except OperatorError as trouble:
                log.debug("an Event about %s %s/%s was not written: %s", *_named(subject), trouble)
            await asyncio.sleep(PAUSE.total_seconds())

    def _event(self, subject: Subject, reason: str, message: str, now: datetime) -> dict[str, Any]:
        at = times.render(now)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{subject.name[:_LONGEST_NAME]}.{uuid.uuid4().hex[:16]}",
                "namespace": _namespace(subject),
            },
            "involvedObject": {
                "apiVersion": API_VERSION,
                "kind": subject.kind,
                "name": subject.name,
                "uid": subject.uid,
                **({"namespace": subject.namespace} if subject.namespace else {}),
            },
            "type": "Warning",
            "reason": reason,
            "message": plaintext.message(message),
            "count": 1,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._instance,
        }


def _namespace(subject: Subject) -> str:
    """Where its Events are kept; those about objects of the whole cluster stand in `default`."""
    return subject.namespace or "default"


def _named(subject: Subject) -> tuple[str, str, str]:
    return subject.kind, subject.namespace, subject.name
