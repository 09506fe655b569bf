"""Judges the objects of a kind: one worker for each that was touched has its status say what there is to say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from toolcall_operator.core.session.actions import Rest
from toolcall_operator.sessions.ports import SessionPorts
from toolcall_operator.sessions.verdicts import J, Judged, Verdicts
from toolcall_operator.sessions.workers import Workers


class Judges(Generic[J]):
    """One worker for every object that was touched; `look` judges the one of a name, None if it is not there."""

    def __init__(self, ports: SessionPorts, look: Callable[[str], Judged[J] | None]) -> None:
        self._look: Callable[[str], Judged[J] | None] = look
        self._workers: Workers[str] = Workers(self._turn, ports.time)
        self._verdicts: Verdicts[str, J] = Verdicts(ports)

    def touch(self, name: str) -> None:
        """An object is new, has changed or is gone, or something that decides about it."""
        self._workers.touch(name)

    async def stop(self) -> None:
        """Judge nothing more."""
        await self._workers.stop()

    async def _turn(self, name: str) -> Rest | None:
        """Judge an object, and write that down if it is not known."""
        judged = self._look(name)
        if judged is None:
            self._verdicts.forget(name)
            return None
        return await self._verdicts.keep(name, judged)
