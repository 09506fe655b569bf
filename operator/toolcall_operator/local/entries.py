"""One ToolCall of an embedded run: as it was written, as it was read, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolcall_operator import errors
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core import conditions
from toolcall_operator.core.conditions import ConditionType
from toolcall_operator.core.reasons import Terminal


@dataclass(frozen=True, slots=True)
class Entry:
    """A ToolCall: `manifest` is the object as it was written, `call` as it was read, None if it cannot be read.

    `place` says where it was written; `leaving` why it is not to be run, when it or its session is being deleted. Texts
    are one printable line each.
    """

    place: str
    manifest: Mapping[str, Any]
    call: ToolCall | None
    status: ToolCallStatus | None
    leaving: str = ""

    @property
    def name(self) -> str:
        """Its name, with its namespace if that is not the default one; its place if it has no name."""
        name, namespace = self._text("metadata", "name"), self._text("metadata", "namespace")
        if not name:
            return self.place
        return f"{namespace}/{name}" if namespace not in {"", "default"} else name

    @property
    def tool(self) -> str:
        """The tool it names."""
        return self._text("spec", "tool")

    @property
    def end(self) -> Condition | None:
        """The condition that says how it ended, whoever wrote it; None while it has not."""
        held = self.status.conditions if self.status else ()
        ends = (ConditionType.FINISHED, *Terminal)
        return next((conditions.find(held, end) for end in ends if conditions.is_true(held, end)), None)

    @property
    def succeeded(self) -> bool:
        """Whether it ended well."""
        return self.status is not None and conditions.is_true(self.status.conditions, Terminal.SUCCEEDED)

    def annotation(self, key: str) -> str:
        """The value of an annotation; empty if there is none."""
        return self._text("metadata", "annotations", key)

    def to_manifest(self) -> dict[str, Any]:
        """The object with its status."""
        return {**self.manifest, "status": self.status.to_manifest()} if self.status else dict(self.manifest)

    def _text(self, *path: str) -> str:
        value: object = self.manifest
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return errors.foreign(value) if isinstance(value, str) else ""
