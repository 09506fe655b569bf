"""JSON objects that servers answer with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolcall_operator import errors
from toolcall_operator.broker import patience
from toolcall_operator.core.exchange import Request
from toolcall_operator.ports import Egress

Document = Mapping[str, Any]

_SUCCESSFUL = range(200, 300)


async def document(egress: Egress, request: Request) -> Document | str:
    """The object that a server answers with, or why there is none, in words that repeat nothing of an answer."""
    try:
        answer = await patience.answer(egress, request)
    except (errors.Denied, errors.Unavailable) as trouble:
        return unheard(trouble)
    if answer.status not in _SUCCESSFUL:
        return f"answered with status {answer.status}"
    return parsed(answer.body) or "answered with nothing usable"


def unheard(trouble: errors.Denied | errors.Unavailable) -> str:
    """Why there is no answer, by the words of the egress: they tell the host and the kind of trouble, and no more."""
    if isinstance(trouble, errors.Denied):
        return f"is not at an address the operator may speak to: {trouble}"
    return f"could not be reached, or did not answer as a whole: {trouble}"


def parsed(body: bytes) -> Document | None:
    """The object of a body, if it is one that says something."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) and said else None
