"""Work that is done once for all who ask for it while it is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Flights(Generic[K, T]):
    """Work by its key. It runs in a task of its own: whoever asked for it may be canceled, and it goes on."""

    def __init__(self) -> None:
        self._under_way: dict[K, asyncio.Task[T]] = {}

    async def join(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the work under `key` comes to: the one that is under way, or else `work`, which begins now.

        Whatever it raises, all raise who wait for it.
        """
        if (task := self._under_way.get(key)) is None:
            task = self._under_way[key] = asyncio.create_task(work())
            task.add_done_callback(partial(self._landed, key))
        return await outcome(task)

    async def landed(self) -> None:
        """Return once nothing is under way, however it ended."""
        while self._under_way:
            await asyncio.wait(tuple(self._under_way.values()))

    def _landed(self, key: K, task: asyncio.Task[T]) -> None:
        del self._under_way[key]
        heeded(task)


async def outcome(task: asyncio.Task[T]) -> T:
    """What a task comes to, which goes on when we are canceled."""
    await asyncio.wait((task,))
    return task.result()


def heeded(task: asyncio.Task[Any]) -> None:
    """A task's exception counts as seen: those who wait for the task raise it, and maybe nobody does any more."""
    if not task.cancelled():
        task.exception()
