"""What the cluster tells, handed on: kopf's watches fill the caches, and the caches wake whom it concerns."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kopf

from toolcall_operator.adapters.cluster.client import Client, Selection
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.departures import Departures
from toolcall_operator.adapters.cluster.memory.shelf import Identity
from toolcall_operator.adapters.cluster.memory.watched import WATCHED
from toolcall_operator.errors import Unavailable

log = logging.getLogger(__name__)

SERVER_SECONDS = 600
"""How long one watch lasts before the API server ends it, to be begun anew where it ended."""

_STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Intake:
    """Where events go."""

    client: Client
    caches: Caches
    departures: Departures

    def is_news(self, event: Any, **_: object) -> bool:  # noqa: ANN401 (kopf's events have no type of their own)
        """Whether anybody needs to hear of an event. Most are echoes of our own writes, or about labels."""
        return event["type"] == "DELETED" or self.caches.is_news(event["object"])

    async def take(self, event: Any, **_: object) -> None:  # noqa: ANN401 (see above)
        """Keep what an event tells; it never waits, since what comes next of the object would wait behind it."""
        manifest = event["object"]
        try:
            if event["type"] == "DELETED":
                self.departures.noticed(manifest["kind"], Identity.of(manifest))
            else:
                self.caches.put(manifest)
        except Exception as bug:  # noqa: BLE001 (kopf would log its text, which can hold anything)
            log.error("an event about %s was not understood: %s", Identity.of(manifest), type(bug).__name__)  # noqa: TRY400 (see above)

    async def login(self, **_: object) -> kopf.ConnectionInfo:
        """Our credentials, for kopf; it asks again when they are refused."""
        return kopf.ConnectionInfo(**await self.client.connection_info())


def registry(intake: Intake) -> kopf.OperatorRegistry:
    """All that kopf is asked to do: to watch. It writes nothing."""
    registered = kopf.OperatorRegistry()
    kopf.on.login(registry=registered, id="login")(intake.login)
    for watched in WATCHED:
        resource = watched.resource
        selected = kopf.on.event(
            group=resource.group,
            version=resource.version,
            plural=resource.plural,
            id=resource.plural,
            when=intake.is_news,
            registry=registered,
        )
        selected(intake.take)
    return registered


class Nothing(kopf.DiffBaseStorage):
    """Remembers nothing of objects: no handler of ours asks what changed, and building the answer doubles the cost."""

    def build(self, *, body: kopf.Body, extra_fields: object = None) -> None:  # type: ignore[override]  # kopf copes with None, as of a first sight
        """Nothing."""

    def fetch(self, *, body: kopf.Body) -> None:
        """Nothing."""

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Nothing."""


def settings() -> kopf.OperatorSettings:
    """How kopf watches: in pages, patiently with the API server, impatiently with silence, and writing nothing."""
    chosen = kopf.OperatorSettings()
    chosen.posting.enabled = False
    chosen.scanning.disabled = True  # our kinds are there before we are; to watch for kinds would need more rights
    chosen.persistence.diffbase_storage = Nothing()
    chosen.process.ultimate_exiting_timeout = None  # the process knows itself when to give up
    chosen.execution.max_workers = 1  # no handler needs a thread
    chosen.queueing.idle_timeout = 1.0  # a short call is over by then
    chosen.queueing.exit_timeout = 0.5
    chosen.queueing.error_delays = (0.5, 1, 2, 5)
    chosen.networking.connect_timeout = 10.0
    chosen.networking.request_timeout = 60.0
    chosen.networking.error_backoffs = (0.2, 0.5, 1, *[2] * 60)
    chosen.watching.server_timeout = SERVER_SECONDS
    chosen.watching.client_timeout = SERVER_SECONDS + 30
    chosen.watching.inactivity_timeout = 75.0  # the API server sends a bookmark every minute
    chosen.watching.chunk_size = 500
    for watched in WATCHED:
        key = (watched.resource.group, watched.resource.version, watched.resource.plural)
        if watched.labels:
            chosen.watching.label_selectors[key] = watched.labels
        if watched.fields:
            chosen.watching.field_selectors[key] = watched.fields
    return chosen


def quieten() -> None:
    """Have kopf speak of troubles only: a line for every event is too much, and the one about odd events shows them."""
    logging.getLogger("kopf").setLevel(logging.WARNING)
    logging.getLogger("kopf._cogs.clients.watching").setLevel(
        logging.CRITICAL
    )  # an API server that is away is a line each try
    for name in ("orchestration", "running"):  # of what ends the watches `Watches.broken` tells, once
        logging.getLogger(f"kopf._core.reactor.{name}").setLevel(logging.CRITICAL)


class Watches:
    """The running watches."""

    def __init__(self, tasks: Collection[asyncio.Task[Any]]) -> None:
        self._tasks = tasks

    async def broken(self) -> None:
        """Return never: watches go on for ever.

        Raises:
            Unavailable: they ended. A process that cannot see is of no use: it has to end, too, and start anew.
        """
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        causes = [task.exception() for task in done if not task.cancelled()]
        raise Unavailable("the watches of the cluster have ended") from next(filter(None, causes), None)

    async def aclose(self) -> None:
        """End them, and what kopf left running in them; what hangs is left behind."""
        await _end(self._tasks)
        # When one watch fails, kopf lets go of the others. They have to end before what they wait for: a watch takes
        # the end of that for a reason to go on.
        await _end([task for task in _kopfs() if task.get_name().startswith("watcher ")])
        await _end(_kopfs())


async def _end(tasks: Collection[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_STOP_SECONDS)


def _kopfs() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if _is_kopfs(task)]


def _is_kopfs(task: object) -> bool:
    code = getattr(task.get_coro(), "cr_code", None) if isinstance(task, asyncio.Task) else None
    return code is not None and Path(code.co_filename).is_relative_to(Path(kopf.__file__).parent)


async def _require(client: Client, namespaces: Sequence[str]) -> None:
    """Everything that is to be watched can be: kopf would wait in silence for a kind that is not there."""
    for watched in WATCHED:
        for collection in watched.collections(namespaces):
            await client.list(collection, Selection(fields="metadata.name=none", metadata_only=True))


def _unretrieved(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What nobody asked a task for, asyncio logs; of watches that end together, kopf asks the first one only."""
    if not _is_kopfs(context.get("future")):
        loop.default_exception_handler(context)


@asynccontextmanager
async def watching(intake: Intake, namespaces: Sequence[str] = ()) -> AsyncIterator[Watches]:
    """Watch these namespaces, or the whole cluster, as long as the context is open.

    kopf takes the signals SIGINT and SIGTERM as it starts: handlers of one's own are to be set within the context.

    Raises:
        Unavailable: one of the kinds is not there, or we may not list it.
    """
    await _require(intake.client, namespaces)
    quieten()
    asyncio.get_running_loop().set_exception_handler(_unretrieved)
    watches = Watches(
        await kopf.spawn_tasks(
            registry=registry(intake),
            settings=settings(),
            namespaces=namespaces,
            clusterwide=not namespaces,
            standalone=True,
        )
    )
    try:
        yield watches
    finally:
        await watches.aclose()
