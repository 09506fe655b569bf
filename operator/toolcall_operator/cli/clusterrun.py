"""Applies the documents of a run to a cluster, and waits there until nothing more comes of any ToolCall."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.objections import NotTaken
from toolcall_operator.cli.board import Board
from toolcall_operator.cli.followed import Followed, Trouble, key
from toolcall_operator.cli.following import Calls, Follower
from toolcall_operator.cli.wanted import Wanted, Wish
from toolcall_operator.local.entries import Entry
from toolcall_operator.local.findings import Finding

OPERATOR_PATIENCE = 5.0
"""Seconds without a word after which no operator seems to run: one that does says within two that a call waits."""

NAMED = 3
"""Calls that a note names; the others are counted."""


class Remote(Calls, Protocol):
    """What a run needs of its cluster."""

    async def apply(self, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have the cluster hold the object, and return it as it does.

        Raises:
            NotTaken: the API server will not have it.
            OperatorError: it could not be reached; whether it took the object is not known.
        """
        ...

    async def cancel(self, namespace: str, name: str, uid: str) -> None:
        """Set spec.cancel of a call.

        Raises:
            OperatorError: it was not set.
        """
        ...


class ClusterRun:
    """The calls of some documents in a cluster; `findings` tell of documents that were not taken.

    `say` is given what people should know at once. A call that is there already, and the same, is followed from where
    it stands; one that has ended stays as it ended.
    """

    def __init__(
        self, wish: Wish, remote: Remote, listener: Callable[[Followed], None], say: Callable[[str], None]
    ) -> None:
        self.findings: tuple[Finding, ...] = wish.findings
        self._objects = wish.objects
        self._remote = remote
        self._board = Board(wish.calls, listener)
        self._say = say
        self._tasks = asyncio.TaskGroup()
        self._canceled = False
        self._past: list[str] = []

    @property
    def calls(self) -> tuple[Followed, ...]:
        """Every call as it stands, in the order of the documents."""
        return self._board.calls

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The same for those who judge calls."""
        return tuple(call.entry for call in self.calls)

    async def carry(self) -> None:
        """Apply every object, and return when each call has ended, is gone or was not taken.

        Raises:
            OperatorError: the cluster has no ToolCalls, or cannot be reached; nothing was applied.
        """
        versions = {namespace: await self._remote.version(namespace) for namespace in self._board.namespaces}
        async with self._tasks as tasks:
            helpers = [tasks.create_task(self._follower(each).follow(version)) for each, version in versions.items()]
            for wanted in self._objects:
                await self._apply(wanted)
            if self._past:
                self._say(f"{listed(self._past)} had ended before; to run it anew, delete it first")
            helpers.append(tasks.create_task(self._miss_the_operator()))
            await self._board.over()
            for helper in helpers:
                helper.cancel()

    def cancel(self) -> None:
        """Ask for the end of every call that has not ended; what was not applied yet is not applied any more."""
        self._canceled = True
        for call in self._board.unfinished():
            self._tasks.create_task(self._cancel(call))

    def _follower(self, namespace: str) -> Follower:
        return Follower(self._remote, self._board, namespace, self._say)

    async def _apply(self, wanted: Wanted) -> None:
        """Apply one object; what stands in its way is told, and hinders no other."""
        if self._canceled:
            self._give_up(wanted, "canceled before it was applied")
            return
        try:
            taken = await self._remote.apply(wanted.manifest)
        except NotTaken as refused:
            self.findings += tuple(wanted.found(each.path, each.message) for each in refused.objections)
            self._give_up(wanted, str(refused))
        except errors.OperatorError as error:
            self.findings += (wanted.found("", f"may not have been applied: {error}"),)
            self._give_up(wanted, f"may not have been applied: {error}")
        else:
            if wanted.is_call:
                await self._take(taken)

    async def _take(self, taken: Mapping[str, Any]) -> None:
        call = self._board.take(taken)
        if call.is_over and call.entry.manifest.get("status") == taken.get("status"):
            self._past.append(call.entry.name)
        if self._canceled and not call.is_over:
            await self._cancel(call)

    def _give_up(self, wanted: Wanted, why: str) -> None:
        if wanted.is_call:
            self._board.give_up(key(wanted.manifest), Trouble.NOT_APPLIED, why)

    async def _miss_the_operator(self) -> None:
        """Say so when nobody seems to take care of calls."""
        await asyncio.sleep(OPERATOR_PATIENCE)
        unseen = [call.entry.name for call in self._board.unfinished() if call.entry.status is None]
        if unseen and not self._board.heard:
            self._say(f"no operator has looked at {listed(unseen)} in {OPERATOR_PATIENCE:g} s: is one running?")

    async def _cancel(self, call: Followed) -> None:
        try:
            await self._remote.cancel(*call.key, call.uid)
        except errors.OperatorError as error:
            self._say(f"{call.entry.name} could not be canceled: {error}")


def listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    shown, more = names[:NAMED], len(names) - NAMED
    return f"{', '.join(shown)}{f' and {more} more' if more > 0 else ''}"
