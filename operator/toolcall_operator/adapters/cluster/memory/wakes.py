"""Who is told of what the caches learn."""

from __future__ import annotations

from typing import Protocol

from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.unread import Unread


class Wakes(Protocol):
    """Who is told of what the caches learn. Nothing here waits, and nothing raises."""

    def call(self, call: ToolCall) -> None:
        """A call that has not ended is new, or was canceled, claimed or marked for deletion."""
        ...

    def call_gone(self, uid: str) -> None:
        """A call that had not ended is no more."""
        ...

    def call_unread(self, unread: Unread) -> None:
        """A call that has not ended cannot be read."""
        ...

    def session(self, key: tuple[str, str]) -> None:
        """A session, by namespace and name, or one of its pods is new, has changed or is no more."""
        ...

    def session_class(self, name: str) -> None:
        """A class is new, has changed or is no more."""
        ...

    def toolkit(self, name: str) -> None:
        """A toolkit is new, has changed or is no more, or another one that describes the same tool."""
        ...

    def toolspec(self, name: str) -> None:
        """A toolspec is new, has changed or is no more, or its toolkit."""
        ...

    def agent(self, key: tuple[str, str]) -> None:
        """An AgentIdentity, by namespace and name, is new, has changed or is no more."""
        ...

    def pod(self, pod: PodView, *, gone: bool) -> None:
        """A sandbox's pod is new, has changed, or is no more."""
        ...


class Asleep:
    """Implements `Wakes` for a process that only watches: it does not lead."""

    def call(self, call: ToolCall) -> None:
        """Nothing."""

    def call_gone(self, uid: str) -> None:
        """Nothing."""

    def call_unread(self, unread: Unread) -> None:
        """Nothing."""

    def session(self, key: tuple[str, str]) -> None:
        """Nothing."""

    def session_class(self, name: str) -> None:
        """Nothing."""

    def toolkit(self, name: str) -> None:
        """Nothing."""

    def toolspec(self, name: str) -> None:
        """Nothing."""

    def agent(self, key: tuple[str, str]) -> None:
        """Nothing."""

    def pod(self, pod: PodView, *, gone: bool) -> None:
        """Nothing."""
