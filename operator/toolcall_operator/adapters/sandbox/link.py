"""What a byte stream to a supervisor is, and how one comes to be: the seam between the protocol and its carriers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from toolcall_operator import errors


class Reader(Protocol):
    """The bytes from a supervisor; `asyncio.StreamReader` is one."""

    async def read(self, n: int, /) -> bytes:
        """Between 1 and `n` bytes, or none at the end. Raises OSError when the carrier broke."""
        ...


class Writer(Protocol):
    """The bytes to a supervisor; `asyncio.StreamWriter` is one."""

    def write(self, data: bytes, /) -> None:
        """Queue `data`; never blocks."""
        ...

    async def drain(self) -> None:
        """Wait until little is queued. Raises OSError when the carrier broke."""
        ...


async def _unexplained(trouble: errors.Unavailable) -> errors.OperatorError:
    return trouble


@dataclass(frozen=True, slots=True)
class Link:
    """One byte stream in each direction; `close` ends both, may be called twice, and raises nothing.

    `explain` is asked about a link over which no supervisor was met: it knows that the sandbox is lost, or more words
    for the trouble, or nothing.
    """

    reader: Reader
    writer: Writer
    close: Callable[[], Awaitable[None]]
    explain: Callable[[errors.Unavailable], Awaitable[errors.OperatorError]] = _unexplained


class Connector(Protocol):
    """Makes links to one sandbox."""

    async def connect(self) -> Link:
        """A new link.

        Raises:
            Unavailable: not now; another attempt may succeed.
            SandboxLost: never again.
        """
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we say we are; the key never shows."""

    key: bytes = field(repr=False)
    epoch: int = 0
    client: str = "toolcall-operator"
