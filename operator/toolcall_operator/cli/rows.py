"""One call as one line for people: what its status says, made fit for a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from toolcall_operator import errors
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core.conditions import ConditionType, find, is_true
from toolcall_operator.core.reasons import Terminal
from toolcall_operator.local.entries import Entry

PENDING = "Pending"
"""Shown of a call that has no status yet."""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a call; every text is one printable line."""

    name: str
    tool: str
    state: str
    exit: str
    duration: str
    text: str
    good: bool | None
    """Whether it succeeded; None while it is not known."""


def row(entry: Entry, now: datetime) -> Row:
    """What there is to say of a call at `now`."""
    status = entry.status or ToolCallStatus()
    told = telling(status)
    return Row(
        name=entry.name,
        tool=entry.tool,
        state=state(told),
        exit="" if status.exit_code is None else str(status.exit_code),
        duration=duration(status, now),
        text=first_line(status, told),
        good=(told is not None and told.type == Terminal.SUCCEEDED) if status.finished else None,
    )


def state(told: Condition | None) -> str:
    """The condition in a word or two; one that does not hold only gives its reason (a call that is Queued, say)."""
    if told is None:
        return PENDING
    return f"{told.type}/{told.reason}" if told.status == "True" else told.reason


def telling(status: ToolCallStatus) -> Condition | None:
    """The condition that tells most: how the call ended, else why it is tried again, else whether it runs."""
    for kind in (*Terminal, ConditionType.RECONCILE_RETRYING):
        if is_true(status.conditions, kind):
            return find(status.conditions, kind)
    return find(status.conditions, ConditionType.RUNNING)


def duration(status: ToolCallStatus, now: datetime) -> str:
    """Seconds from the claim to the end, or so far, as precise as its times; empty for a call that never ran."""
    began, ended = status.started_at, status.finished_at
    if began is None:
        return ""
    passed = max((ended or now) - began, timedelta()).total_seconds()
    if began.microsecond or (ended and ended.microsecond):
        return f"{passed:.2f}s"
    return f"{int(passed)}s" if passed >= 1 else "<1s"


def first_line(status: ToolCallStatus, told: Condition | None) -> str:
    """The first line of output; without any, the message of a call that neither runs nor succeeded."""
    text = status.result.text if status.result and status.result.text else ""
    first, _, rest = text.partition("\n")
    if text:
        return errors.foreign(first) + (" …" if rest else "")
    silent = (Terminal.SUCCEEDED, ConditionType.RUNNING)
    if told is None or (told.type in silent and told.status == "True"):
        return ""
    return errors.foreign(told.message)
