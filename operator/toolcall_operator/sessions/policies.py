"""Judges toolkits and toolspecs: each one's status says whether it can be built on, or judge calls."""

from __future__ import annotations

from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core import unread
from toolcall_operator.core.policy.loading import policystatus
from toolcall_operator.core.policy.loading.reasons import Objection
from toolcall_operator.sessions.judging import Judges
from toolcall_operator.sessions.ports import SessionPorts
from toolcall_operator.sessions.verdicts import Judged


class Policies:
    """Tells of every toolkit and toolspec that was touched what the library makes of it."""

    def __init__(self, ports: SessionPorts) -> None:
        self._cluster = ports.cluster
        self._toolkits = Judges(ports, self._toolkit)
        self._toolspecs = Judges(ports, self._toolspec)

    def touch_toolkit(self, name: str) -> None:
        """A toolkit is new, has changed or is gone, or one that it shares a name with."""
        self._toolkits.touch(name)

    def touch_toolspec(self, name: str) -> None:
        """A toolspec is new, has changed or is gone, or its toolkit."""
        self._toolspecs.touch(name)

    async def stop(self) -> None:
        """Judge nothing more."""
        await self._toolkits.stop()
        await self._toolspecs.stop()

    def _toolkit(self, name: str) -> Judged[SpiceboxToolkit] | None:
        toolkit, found = self._cluster.toolkit(name), self._cluster.unread_toolkit(name)
        judgement = self._cluster.library.toolkit(name)
        if toolkit is None and found:
            toolkit = unread.toolkit(found)
        if toolkit is None or judgement is None:
            return None
        return Judged(
            obj=toolkit,
            status=lambda obj, now: policystatus.of_toolkit(obj, judgement, now),
            objection=_objection(judgement),
            is_unread=found is not None,
        )

    def _toolspec(self, name: str) -> Judged[SpiceboxToolspec] | None:
        toolspec, found = self._cluster.toolspec(name), self._cluster.unread_toolspec(name)
        judgement = self._cluster.library.toolspec(name)
        if toolspec is None and found:
            toolspec = unread.toolspec(found)
        if toolspec is None or judgement is None:
            return None
        return Judged(
            obj=toolspec,
            status=lambda obj, now: policystatus.of_toolspec(obj, judgement, now),
            objection=_objection(judgement),
            is_unread=found is not None,
        )


def _objection(judgement: object) -> tuple[str, str] | None:
    return (judgement.reason, judgement.message) if isinstance(judgement, Objection) else None
