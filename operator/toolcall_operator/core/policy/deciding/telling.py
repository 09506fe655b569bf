"""What the status of a refused call tells of the toolspecs that did not allow it, as far as there is room for it."""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Sequence

from toolcall_operator.api.schema import bytes_in
from toolcall_operator.api.toolcallstatus import FailedRule, ToolspecFailure
from toolcall_operator.core.policy.deciding import redaction
from toolcall_operator.core.policy.deciding.candidates import Failure

FAILURES = 64
"""As many as a status has room for; its message tells how many there are."""

BYTES = 48 * 1_024
"""Room for all of them together, as JSON. Their names and paths alone take less than half of it."""

_ESCAPED = 5
"""Bytes more that `<`, `>` and `&` take at an API server, which writes each as six."""

_LENGTHS = range(redaction.LONGEST + 1)


def told(failures: Sequence[Failure]) -> tuple[ToolspecFailure, ...]:
    """The first of the failures. Where there is not room for all, what rules say is cut first, and then the reasons."""
    first = failures[:FAILURES]
    whole = _cut(first)
    if _size(whole) <= BYTES:
        return whole
    without = _cut(first, message=0)
    if _size(without) <= BYTES:
        return _cut(first, message=_longest(lambda length: _cut(first, message=length)))
    return _cut(first, message=0, reason=_longest(lambda length: _cut(first, message=0, reason=length)))


def _cut(
    failures: Sequence[Failure], message: int = redaction.LONGEST, reason: int = redaction.LONGEST
) -> tuple[ToolspecFailure, ...]:
    """The failures, with texts of so many characters; one that is left with none is absent."""
    return tuple(
        ToolspecFailure(
            spec_name=each.spec_name,
            reason=_shortened(each.reason, reason),
            failed_on=FailedRule(path=each.path, message=_shortened(each.message, message)) if each.path else None,
        )
        for each in failures
    )


def _shortened(text: str | None, longest: int) -> str | None:
    if text is None or not longest:
        return None
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _longest(cut: Callable[[int], tuple[ToolspecFailure, ...]]) -> int:
    """With how many characters the failures have room; 0 if with none, which always fits."""
    return max(bisect.bisect_right(_LENGTHS, BYTES, key=lambda length: _size(cut(length))) - 1, 0)


def _size(failures: tuple[ToolspecFailure, ...]) -> int:
    """How many bytes they take where they are kept."""
    text = json.dumps([each.to_manifest() for each in failures], ensure_ascii=False, separators=(",", ":"))
    return bytes_in(text) + _ESCAPED * sum(map(text.count, "<>&"))
