"""What a byte stream to a supervisor is, and how one comes to be: the seam between the protocol and its carriers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol


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


@dataclass(frozen=True, slots=True)
class Link:
    """One byte stream in each direction; `close` ends both, may be called twice, and raises nothing."""

    reader: Reader
    writer: Writer
    close: Callable[[], Awaitable[None]]


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
