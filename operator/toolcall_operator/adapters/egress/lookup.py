"""The addresses of a name, asked of the system."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import Protocol

Found = tuple[str, ...]

# As many as requests may be under way. The system's lookup blocks its thread, for half a minute when the servers of a
# name are silent, and cannot be called off: whoever names such a host must not hold up the names of others, nor what
# else the process does in its common threads.
_AT_ONCE = 128


class Resolver(Protocol):
    """Looks names up."""

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host, the best first. Raises OSError when there are none."""
        ...


class SystemResolver:
    """Asks as every program here does, so that /etc/hosts and search domains count.

    A literal comes back as the address that the system would dial, also one that is written 127.1 or 2130706433.
    """

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, host: str, port: int) -> Found:
        """The addresses of a host, the best first.

        Raises:
            OSError: there are none, or no thread could be had to ask for them.
        """
        with suppress(socket.gaierror):
            return _looked_up(host, port, socket.AI_NUMERICHOST)
        await self._free.acquire()
        found: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        try:
            # A daemon: a lookup that hangs must not keep the process from ending.
            Thread(target=self._look_up, args=(found, host, port), name="lookup", daemon=True).start()
        except RuntimeError:
            self._free.release()
            raise OSError("no thread for a lookup") from None
        return await found

    def _look_up(self, found: asyncio.Future[Found], host: str, port: int) -> None:
        try:
            outcome: Found | Exception = _looked_up(host, port)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever waits
            outcome = error
        with suppress(RuntimeError):  # the loop may have ended meanwhile
            found.get_loop().call_soon_threadsafe(self._tell, found, outcome)

    def _tell(self, found: asyncio.Future[Found], outcome: Found | Exception) -> None:
        self._free.release()
        if found.done():  # nobody waits any more
            return
        if isinstance(outcome, Exception):
            found.set_exception(outcome)
        else:
            found.set_result(outcome)


def _looked_up(host: str, port: int, flags: int = 0) -> Found:
    # As bytes: a str would pass the codec for old IDNA, which raises errors of its own kind.
    found = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM, flags=flags)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))
