"""What a watch of the API server says, line by line."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pydantic_core

from toolcall_operator import errors

LONGEST_LINE = 16 << 20
"""Bytes of one event: an object has at most 1.5 MiB, and its managed fields come on top."""

_EXPIRED = 410


class Expired(errors.Unavailable):
    """The version to watch from is too old: what has happened since cannot be told any more."""


@dataclass(frozen=True, slots=True)
class Change:
    """An object as it is since `version`; `gone` says that it was deleted, and how it looked then."""

    object: Mapping[str, Any] = field(repr=False)
    version: str
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing happened up to `version`."""

    version: str


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The whole lines of a stream; a last one that was cut off is none.

    Raises:
        Unavailable: a line has no end.
    """
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
        if len(rest) > LONGEST_LINE:
            raise errors.Unavailable("the API server sent an event that is too long")


def read(line: bytes) -> Change | Bookmark:
    """What a line says.

    Raises:
        Expired: that the watch began too far back.
        Unavailable: that the watch cannot go on, or nothing that can be read.
    """
    try:
        event = pydantic_core.from_json(line)
        kind, about = str(event["type"]), event["object"]
        if kind == "ERROR":
            raise _error(about)
        version = str(about["metadata"]["resourceVersion"])
    except (ValueError, KeyError, TypeError) as error:
        raise errors.Unavailable("the API server sent an event that cannot be read") from error
    return Bookmark(version) if kind == "BOOKMARK" else Change(about, version, kind == "DELETED")


def _error(status: Mapping[str, Any]) -> errors.Unavailable:
    message = errors.foreign(str(status.get("message") or "no reason given"))
    kind = Expired if status.get("code") == _EXPIRED else errors.Unavailable
    return kind(f"the API server ended the watch: {message}")
