"""One worker for every object that matters: woken when it may have changed, it does what there is to do, and rests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from toolcall_operator import errors
from toolcall_operator.core.session.actions import Rest
from toolcall_operator.sessions.ports import Time

log = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)

BUG_PAUSE = timedelta(seconds=30)
"""A worker that met a bug of ours tries again after this."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A task, and what wakes it."""

    task: asyncio.Task[None]
    changed: asyncio.Event


class Workers(Generic[K]):
    """Runs `turn` for each key that was touched, again when it is touched again or its rest is over.

    A turn returns how long to rest, or None when there is nothing to watch any more. Workers do not wait for each
    other, and a bug that one meets troubles no other.
    """

    def __init__(self, turn: Callable[[K], Awaitable[Rest | None]], time: Time) -> None:
        self._turn = turn
        self._time = time
        self._workers: dict[K, Worker] = {}
        self._stopped = False

    def touch(self, key: K) -> None:
        """Something about `key` may have changed."""
        if self._stopped:
            return
        if key not in self._workers:
            changed = asyncio.Event()
            self._workers[key] = Worker(asyncio.create_task(self._work(key, changed), name=f"worker {key}"), changed)
        self._workers[key].changed.set()

    async def stop(self) -> None:
        """End every worker where it is."""
        self._stopped = True
        tasks = [worker.task for worker in self._workers.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._workers.clear()

    async def _work(self, key: K, changed: asyncio.Event) -> None:
        while True:
            changed.clear()
            rest = await self._safely(key)
            if rest is None and not changed.is_set():
                del self._workers[key]  # with nothing awaited in between, no touch is lost
                return
            if rest is not None:
                await self._time.wait(changed, rest.until)

    async def _safely(self, key: K) -> Rest | None:
        with told(key):
            return await self._turn(key)
        return Rest(self._time.now() + BUG_PAUSE)


@contextmanager
def told(key: Hashable) -> Iterator[None]:
    """A bug in here, or a fault that nobody expected, is logged, and leaves no object without its worker."""
    try:
        yield
    except Exception as bug:  # noqa: BLE001 (see above)
        where = errors.place(bug)
        log.error("The worker of %s met a bug: %s\n%s", key, type(bug).__name__, where)  # noqa: TRY400 (its text can hold anything)
