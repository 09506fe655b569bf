"""Remembers who was woken."""

from __future__ import annotations

from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.unread import Unread


class FakeWakes:
    """Implements `wakes.Wakes`; `woken` are words about what it was told, in order."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        self.calls: list[ToolCall] = []
        self.unread: list[Unread] = []

    def call(self, call: ToolCall) -> None:
        """Remember a call."""
        self.calls.append(call)
        self.woken.append(f"call {call.metadata.name}")

    def call_gone(self, uid: str) -> None:
        """Remember the UID of a call that is no more."""
        self.woken.append(f"gone {uid}")

    def call_unread(self, unread: Unread) -> None:
        """Remember a call that cannot be read."""
        self.unread.append(unread)
        self.woken.append(f"unread {unread.manifest['metadata']['name']}")

    def session(self, key: tuple[str, str]) -> None:
        """Remember a session."""
        self.woken.append(f"session {'/'.join(key)}")

    def session_class(self, name: str) -> None:
        """Remember a class."""
        self.woken.append(f"class {name}")

    def toolkit(self, name: str) -> None:
        """Remember a toolkit."""
        self.woken.append(f"toolkit {name}")

    def toolspec(self, name: str) -> None:
        """Remember a toolspec."""
        self.woken.append(f"toolspec {name}")

    def agent(self, key: tuple[str, str]) -> None:
        """Remember an AgentIdentity."""
        self.woken.append(f"agent {'/'.join(key)}")

    def pod(self, pod: PodView, *, gone: bool) -> None:
        """Remember a pod."""
        self.woken.append(f"pod {pod.name}{' gone' if gone else ''}")
