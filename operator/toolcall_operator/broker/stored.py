"""Credentials that are kept as they are."""

from __future__ import annotations

from toolcall_operator.core.credentials import layouts
from toolcall_operator.core.credentials.references import Source
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused


async def value(source: Source, secret: SecretObject) -> Hidden | Refused:
    """What stands under the source's key in a Secret that was just read."""
    return layouts.static(secret, source.key)
