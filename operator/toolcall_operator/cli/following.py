"""Sees what becomes of the calls of one namespace, however often the connection breaks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.watch import Change
from toolcall_operator.cli.board import Board
from toolcall_operator.cli.followed import Followed, Trouble

PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds after the first, second … failure in a row; the last goes on."""
_WORTH_TELLING = 2
"""Failures in a row: one is a connection that broke, two are a cluster that cannot be reached."""
STEADY = 5.0
"""Seconds after which a watch that breaks is no failure in a row with the one before it."""


class Calls(Protocol):
    """The calls of a cluster; everything raises an OperatorError where they cannot be reached."""

    async def version(self, namespace: str) -> str:
        """The version of the calls of a namespace, from which their changes can be watched."""
        ...

    def changes(self, namespace: str, version: str) -> AsyncIterator[Change]:
        """What happens to the calls of a namespace after that version; it ends only by an error."""
        ...

    async def call(self, namespace: str, name: str) -> Mapping[str, Any]:
        """A call as it stands.

        Raises:
            Gone: there is none.
        """
        ...


class Follower:
    """Follows the calls of a namespace; `say` is given what hinders it for more than a moment."""

    def __init__(self, calls: Calls, board: Board, namespace: str, say: Callable[[str], None]) -> None:
        self._calls = calls
        self._board = board
        self._namespace = namespace
        self._say = say
        self._failures = 0

    async def follow(self, version: str) -> None:
        """See everything that happens after that version, for ever."""
        while True:
            began = time.monotonic()
            try:
                await self._listen(version or await self._caught_up())
            except errors.OperatorError as failure:
                version = ""
                if time.monotonic() - began > STEADY:
                    self._failures = 0
                await self._recover(failure)

    async def _listen(self, version: str) -> None:
        async for change in self._calls.changes(self._namespace, version):
            self._failures = 0
            self._board.see(change)

    async def _caught_up(self) -> str:
        """A version to go on from, once every call was looked at: nothing that was missed stays unseen."""
        version = await self._calls.version(self._namespace)
        for call in self._board.unfinished(self._namespace):
            await self._look(call)
        return version

    async def _look(self, call: Followed) -> None:
        try:
            found = await self._calls.call(*call.key)
        except errors.Gone:
            found = {}
        if found and found["metadata"]["uid"] == call.uid:
            self._board.see(Change(found, ""))
        else:
            self._board.give_up(call.key, Trouble.DELETED, "it was deleted, and how it had ended was not seen")

    async def _recover(self, failure: errors.OperatorError) -> None:
        self._failures += 1
        if self._failures == _WORTH_TELLING:
            self._say(f"{failure}; trying again")
        await asyncio.sleep(PAUSES[min(self._failures, len(PAUSES)) - 1])
