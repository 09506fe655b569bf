"""Points in time: UTC in Python, RFC 3339 with Z in manifests, as precise as the Kubernetes type of the field."""

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from toolcall_operator.api.schema import refused

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?P<fraction>\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_WORDS = "must be a time such as '2026-01-31T12:00:00Z'"


def parse(text: str) -> datetime:
    """The moment ``text`` names, in UTC; digits beyond the microsecond are dropped."""
    form = _RFC3339.fullmatch(text)
    if not form:
        raise ValueError(_WORDS)
    fraction = form["fraction"] or ""
    return datetime.fromisoformat(text.upper().replace(fraction, fraction[:7], 1)).astimezone(UTC)


def render(moment: datetime) -> str:
    """Whole seconds, as ``metav1.Time`` is written; what is left of a second is cut, so order is kept."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def render_micro(moment: datetime) -> str:
    """Six digits of a second, as ``metav1.MicroTime`` is written."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _from_manifest(value: object) -> datetime:
    if isinstance(value, datetime) and value.tzinfo:
        return value.astimezone(UTC)
    if not isinstance(value, str):
        raise refused(_WORDS)
    try:
        return parse(value)
    except (ValueError, OverflowError):
        raise refused(_WORDS) from None


_SCHEMA = WithJsonSchema({"type": "string", "format": "date-time"})

Time = Annotated[datetime, BeforeValidator(_from_manifest), PlainSerializer(render), _SCHEMA]
MicroTime = Annotated[datetime, BeforeValidator(_from_manifest), PlainSerializer(render_micro), _SCHEMA]
