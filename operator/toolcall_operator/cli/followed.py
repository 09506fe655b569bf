"""One ToolCall of a run on a cluster: as it was written, as the cluster has it, and why nothing more comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from toolcall_operator.cli import rows
from toolcall_operator.cli.rows import Row
from toolcall_operator.cli.wanted import Wanted
from toolcall_operator.core.status import Subject
from toolcall_operator.local.entries import Entry

Key = tuple[str, str]
"""Namespace and name of a call."""


class Trouble(StrEnum):
    """What can become of a call besides an end."""

    NOT_APPLIED = "NotApplied"
    DELETED = "Deleted"


@dataclass(frozen=True, slots=True)
class Followed:
    """A call: `entry` is the cluster's object when there is a `uid`, else what was written.

    `trouble` is why it will never have an end, and `why` says so in words; both are empty while it may still have one.
    """

    entry: Entry
    uid: str = ""
    trouble: Trouble | None = None
    why: str = ""

    @classmethod
    def of(cls, wanted: Wanted) -> Followed:
        """The call that is asked for, before the cluster has it."""
        return cls(Entry(wanted.place, wanted.manifest, None, None))

    @property
    def key(self) -> Key:
        """Its namespace and name."""
        return key(self.entry.manifest)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.trouble is not None or self.entry.end is not None

    def seen(self, manifest: Mapping[str, Any]) -> Followed:
        """The call as the cluster has it now."""
        metadata = {name: value for name, value in manifest["metadata"].items() if name != "managedFields"}
        known = Subject.of_manifest(manifest).status if manifest.get("status") else None
        entry = replace(self.entry, manifest={**manifest, "metadata": metadata}, status=known)
        return replace(self, entry=entry, uid=metadata["uid"])

    def given_up(self, trouble: Trouble, why: str) -> Followed:
        """The call, of which nothing more will come; one that has ended stays as it ended."""
        return self if self.is_over else replace(self, trouble=trouble, why=why)

    def row(self, now: datetime) -> Row:
        """What there is to say of it at `now`."""
        row = rows.row(self.entry, now)
        return replace(row, state=self.trouble, text=self.why, good=False) if self.trouble else row


def key(manifest: Mapping[str, Any]) -> Key:
    """The namespace and name of a call that has both."""
    return manifest["metadata"]["namespace"], manifest["metadata"]["name"]
