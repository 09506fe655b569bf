"""Judges classes: each one's status says whether sessions can be made of it."""

from __future__ import annotations

from collections.abc import Iterable

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.core import classes, classstatus, unread
from toolcall_operator.core.classes import Judgement
from toolcall_operator.sessions.judging import Judges
from toolcall_operator.sessions.ports import SessionPorts
from toolcall_operator.sessions.references import References
from toolcall_operator.sessions.verdicts import Judged


class Classes:
    """Judges every class that was touched, and knows which classes name a toolspec."""

    def __init__(self, ports: SessionPorts) -> None:
        self._ports = ports
        self._judges = Judges(ports, self._judged)
        self._references: References[str, str] = References()

    def touch(self, name: str) -> None:
        """A class is new, has changed or is gone, or a toolspec that it names."""
        self._judges.touch(name)

    def naming(self, toolspec: str) -> frozenset[str]:
        """The classes that name a toolspec; one that was touched a moment ago is judged anyway."""
        return self._references.to(toolspec)

    async def stop(self) -> None:
        """Judge nothing more."""
        await self._judges.stop()

    def _judged(self, name: str) -> Judged[SpiceboxClass] | None:
        cluster = self._ports.cluster
        if session_class := cluster.session_class(name):
            self._refer(name, (each.name for each in session_class.spec.toolspecs))
            image = self._ports.settings.default_image
            return _told(session_class, classes.judged(session_class, image, cluster.library), is_unread=False)
        self._refer(name, ())
        if found := cluster.unread_class(name):
            return _told(unread.session_class(found), classes.unread(found.why), is_unread=True)
        return None

    def _refer(self, name: str, toolspecs: Iterable[str]) -> None:
        self._references.refer(name, toolspecs)


def _told(session_class: SpiceboxClass, judgement: Judgement, *, is_unread: bool) -> Judged[SpiceboxClass]:
    return Judged(
        obj=session_class,
        status=lambda found, now: classstatus.judged(found, judgement, now),
        objection=None if judgement.valid else (judgement.reason, judgement.message),
        is_unread=is_unread,
    )
