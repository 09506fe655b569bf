"""What the API server's refusals mean to us, as errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pydantic_core

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.resources import SECRETS, Address

_NO_RIGHT = re.compile(r'\bUser ".*" cannot ', re.DOTALL)
_TOO_LARGE = ("request is too large", "larger than max")
_WRITES = frozenset({"create", "update", "patch", "delete"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is none: its HTTP status, and what the API server says of it, as far as it says anything."""

    status: int
    message: str = field(default="", repr=False)
    about: str = ""
    """The name of the object that it is about."""
    causes: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Each field that is wrong, and what is said of it."""

    @classmethod
    def parse(cls, status: int, body: bytes) -> Refusal:
        """Read the Status object in `body`; anything else tells nothing."""
        try:
            said: Any = pydantic_core.from_json(body)
        except ValueError:
            return cls(status)
        if not isinstance(said, Mapping):
            return cls(status)
        details = said.get("details")
        if not isinstance(details, Mapping):
            details = {}
        listed = details.get("causes")
        causes = tuple(
            (str(cause.get("field") or ""), str(cause.get("message") or ""))
            for cause in (listed if isinstance(listed, list) else ())
            if isinstance(cause, Mapping)
        )
        return cls(status, str(said.get("message") or ""), str(details.get("name") or ""), causes)


def error(verb: str, address: Address, refusal: Refusal) -> errors.OperatorError:
    """The error that stands for a refused request; its text is bounded and in one line.

    A 404 that names no object is about the kind: its definition is not there, or not there yet. A conflict is somebody
    else's newer word, but to a patch, which the API server could not place among other writes in time. A write that is
    forbidden is so by a right that lacks, which may be given, or by a rule (quota, Pod Security) that it breaks. Of a
    Secret it is final that it may not be read: rights to them are given one by one.
    """
    kind, words = _meaning(verb, address, refusal)
    return kind(f"{words}{_said(verb, address, refusal)}")


def _said(verb: str, address: Address, refusal: Refusal) -> str:
    """What the API server says, but of a write to a Secret: its text, or an admission webhook's, may quote what was."""
    if address.resource == SECRETS and verb in _WRITES:
        return f" (HTTP {refusal.status})"
    return f": {errors.foreign(refusal.message)}" if refusal.message else ""


def _meaning(verb: str, address: Address, refusal: Refusal) -> tuple[type[errors.OperatorError], str]:
    cannot = f"cannot {verb} {address}"
    known: tuple[type[errors.OperatorError], str]
    match refusal.status:
        case 401:
            known = errors.Unavailable, f"the API server does not know us, and we cannot {verb} {address.what}"
        case 403 if verb not in _WRITES or _NO_RIGHT.search(refusal.message):
            known = errors.Unavailable, f"we have no right to {verb} {address.what}"
            if address.resource == SECRETS:
                known = errors.Rejected, f"we have no right to {verb} {address}"
        case 404 if refusal.about:
            known = errors.Gone, f"{address} is not there"
        case 409 if verb != "patch":
            known = errors.Superseded, cannot
        case 500 if any(words in refusal.message for words in _TOO_LARGE):
            known = errors.Rejected, cannot
        case 400 | 403 | 405 | 406 | 413 | 415 | 422:
            known = errors.Rejected, cannot
        case status:
            known = errors.Unavailable, f"{cannot} now, HTTP {status}"
    return known
