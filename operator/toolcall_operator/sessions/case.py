"""What the controller holds of one session while it leads."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from toolcall_operator.core.session.actions import Errand
from toolcall_operator.core.session.activity import Activity
from toolcall_operator.core.session.known import Known


@dataclass(frozen=True, slots=True)
class Underway:
    """Something that is done beside the rest."""

    action: Errand
    task: asyncio.Task[None] = field(repr=False)


@dataclass(slots=True)
class Case:
    """One session, by its UID: what is known of it, the errand that is under way, what its calls had last done.

    `unread`: whether it could not be read when it was last looked at.
    """

    key: tuple[str, str]
    uid: str
    known: Known
    errand: Underway | None = None
    seen: Activity = field(default_factory=Activity)
    unread: bool = False

    def remember(self, **changes: Any) -> None:  # noqa: ANN401 (fields of what is known)
        """Know something new."""
        self.known = replace(self.known, **changes)

    def look(self, *, unread: bool) -> None:
        """A look at it; of what was written while it could not be read, only the conditions are its own."""
        if self.unread and not unread:
            self.remember(status=None)
        self.unread = unread

    async def give_up_errand(self) -> None:
        """End the errand that is under way, if there is one."""
        if self.errand:
            errand, self.errand = self.errand, None
            errand.task.cancel()
            await asyncio.gather(errand.task, return_exceptions=True)
