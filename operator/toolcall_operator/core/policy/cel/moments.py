"""Timestamps and durations: their range, how they are written, and their parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

from toolcall_operator.core.policy.cel.errors import EvaluationError
from toolcall_operator.core.policy.cel.values import INT_MAX, INT_MIN, Duration, Timestamp

SECOND = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = -62_135_596_800 * SECOND
_LAST = 253_402_300_800 * SECOND - 1
"""Years 1 to 9999."""

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,18}))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_OFFSET = re.compile(r"([+-]?)(\d\d?):(\d\d)", re.ASCII)
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_AMOUNT = re.compile(r"(\d{1,19})?(?:\.(\d{0,18}))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_LONGEST = 64


def timestamp(ns: int) -> Timestamp:
    """The moment, if it is in the years 1 to 9999."""
    if _FIRST <= ns <= _LAST:
        return Timestamp(ns)
    raise EvaluationError("a moment outside the years 1 to 9999")


def duration(ns: int) -> Duration:
    """The length of time, if it is one of about 292 years or less."""
    if INT_MIN <= ns <= INT_MAX:
        return Duration(ns)
    raise EvaluationError("a duration beyond its range of about 292 years")


def of_datetime(moment: datetime) -> Timestamp:
    """The moment of a datetime that knows its zone."""
    passed = moment - _EPOCH
    return timestamp(((passed.days * 86_400 + passed.seconds) * 10**6 + passed.microseconds) * 1_000)


def timestamp_of_text(text: str) -> Timestamp:
    """The moment that is written so, by RFC 3339."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise EvaluationError("timestamp() takes text like 2030-01-31T12:00:00Z")
    written, fraction, sign, hours, minutes = found.groups()
    try:
        moment = datetime.fromisoformat(written).replace(tzinfo=UTC)
    except ValueError:
        raise EvaluationError("timestamp() takes days and hours that exist") from None
    shift = (int(hours) * 60 + int(minutes)) * 60 * SECOND if sign else 0
    ns = of_datetime(moment).ns + int((fraction or "0").ljust(9, "0")[:9])
    return timestamp(ns + shift if sign == "-" else ns - shift)


def duration_of_text(text: str) -> Duration:
    """The length of time that is written so: 1h30m, -1.5s."""
    unsigned = text[1:] if text[:1] in {"+", "-"} else text
    if unsigned == "0":
        return Duration(0)
    total = at = 0
    while at < len(unsigned) <= _LONGEST:
        found = _AMOUNT.match(unsigned, at)
        if found is None or not (found[1] or found[2]):
            break
        unit, fraction = _UNITS[found[3]], found[2] or ""
        total += int(found[1] or 0) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        at = found.end()
    if not unsigned or at != len(unsigned):
        raise EvaluationError("duration() takes text like 1h30m or 1.5s")
    return duration(-total if text[0] == "-" else total)


def timestamp_text(moment: Timestamp) -> str:
    """As RFC 3339 has it, with no more digits than needed."""
    seconds, fraction = divmod(moment.ns, SECOND)
    whole = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return f"{whole}{_fraction(fraction)}Z"


def duration_text(length: Duration) -> str:
    """In seconds, with no more digits than needed."""
    seconds, fraction = divmod(abs(length.ns), SECOND)
    return f"{'-' if length.ns < 0 else ''}{seconds}{_fraction(fraction)}s"


def _fraction(ns: int) -> str:
    return f".{ns:09}".rstrip("0") if ns else ""


def part(name: str, value: Timestamp | Duration, zone: str) -> int | None:
    """The part that a method like getHours() asks for; None for a duration that has no such part."""
    if isinstance(value, Duration):
        unit = _OF_DURATION.get(name)
        return None if unit is None else int(abs(value.ns) // unit) * (-1 if value.ns < 0 else 1)
    if name == "getMilliseconds":
        return value.ns % SECOND // 10**6
    try:
        return _OF_TIMESTAMP[name]((_EPOCH + timedelta(seconds=value.ns // SECOND)).astimezone(_zone(zone)))
    except OverflowError:
        raise EvaluationError("a moment outside the years 1 to 9999") from None


def _zone(name: str) -> timezone:
    if name in {"", "UTC"}:
        return UTC
    found = _OFFSET.fullmatch(name)
    if found is None or int(found[2]) >= 24 or int(found[3]) >= 60:  # noqa: PLR2004 - hours of a day, minutes of an hour
        raise EvaluationError('a time zone is "UTC" or an offset like "+02:00"')
    shift = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return timezone(-shift if found[1] == "-" else shift)


_OF_DURATION = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND, "getMilliseconds": 10**6}
_OF_TIMESTAMP: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDate": lambda at: at.day,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
}
