"""A request to a server outside, and its answer, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from toolcall_operator.core.credentials.values import Hidden


@dataclass(frozen=True, slots=True)
class Request:
    """One request; what it says stays out of every repr. A header's value may be a secret.

    `timeout` is for everything: looking up the name, connecting, asking, reading the whole answer, of which at most
    `answer_bytes` are read. `url` is absolute, http or https.
    """

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str | Hidden] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    timeout: timedelta = timedelta(seconds=20)
    answer_bytes: int = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: its status, its headers by lower-case names, its body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
