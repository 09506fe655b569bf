"""What `toolcall run` says besides its table: what it is not, what has no effect, and whether expectations were met."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from toolcall_operator.core.conditions import ConditionType, find
from toolcall_operator.local import place
from toolcall_operator.local.cluster import FileCluster
from toolcall_operator.local.entries import Entry
from toolcall_operator.local.expectations import Judgement
from toolcall_operator.local.findings import Finding, Level


class Ran(Protocol):
    """A run: its calls as they stand, and what was wrong with documents that took no part."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every call, in the order of the documents."""
        ...

    findings: tuple[Finding, ...]


def before(cluster: FileCluster, artifacts: Path) -> list[str]:
    """What to say once, before anything starts."""
    fields = [
        f"without effect here: {manifest.kind} {manifest.metadata.name} {', '.join(without)}"
        for manifest in cluster.used
        if (without := place.without_effect(manifest))
    ]
    ended = [
        f"{entry.name} had ended before and is not run again: remove its status to run it"
        for entry in cluster.entries
        if entry.call is not None and entry.end is not None
    ]
    leaving = [
        f"{entry.name} is not run: {entry.leaving}; its status stays as it is"
        for entry in cluster.entries
        if entry.leaving
    ]
    kept = f"output is kept below {artifacts}"
    return [place.NOT_A_SANDBOX, *fields, kept, *ended, *leaving, *map(str, cluster.findings)]


def after(ran: Ran) -> list[str]:
    """What went missing although calls came to their ends."""
    return [
        f"{entry.name}: {missing.message}"
        for entry in ran.entries
        if entry.status and (missing := find(entry.status.conditions, ConditionType.OUTPUTS_HARVESTED))
    ]


def is_whole(ran: Ran) -> bool:
    """Whether every document took part and all output was kept."""
    unread = any(finding.level is Level.ERROR for finding in ran.findings)
    return not unread and not after(ran)


def verdicts(judged: Sequence[Judgement]) -> list[str]:
    """Whether every call ended as expected, and which did not."""
    wrong = [verdict for verdict in judged if not verdict.holds]
    if not wrong:
        return [f"{len(judged)} calls, each ended as expected"]
    names, expected = (
        max(len(text) for text in column) for column in zip(*((v.name, v.expected) for v in wrong), strict=True)
    )
    lines = [f"  {v.name:{names}}  expected {v.expected:{expected}}  got {v.actual or 'no end'}" for v in wrong]
    return [f"{len(wrong)} of {len(judged)} calls did not end as expected:", *lines]
