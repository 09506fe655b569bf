"""A credential that was made just now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from toolcall_operator.core.credentials.values import Hidden


@dataclass(frozen=True, slots=True)
class Minted:
    """A credential and its end: there is none without."""

    value: Hidden
    expires_at: datetime
