"""SIGINT, SIGTERM and SIGHUP during a run: the first cancels the calls, the second gives up waiting for them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Listens while its context is open; `cancel` is called at the first signal, on the event loop."""

    def __init__(self, cancel: Callable[[], None]) -> None:
        self.first: signal.Signals | None = None
        self._cancel = cancel
        self._second = asyncio.Event()

    def __enter__(self) -> Self:
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._caught, number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in SIGNALS:
            asyncio.get_running_loop().remove_signal_handler(number)

    async def patience(self, work: Awaitable[None]) -> None:
        """Return when `work` is done, or when the second signal came."""
        working = asyncio.ensure_future(work)
        waiting = asyncio.ensure_future(self._second.wait())
        try:
            await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            working.cancel()
            waiting.cancel()

    @property
    def exit_code(self) -> int | None:
        """What a shell expects of a program that a signal ended: 128 and its number. None if there was no signal."""
        return None if self.first is None else 128 + self.first

    def _caught(self, number: signal.Signals) -> None:
        if self.first is None:
            self.first = number
            self._cancel()
        else:
            self._second.set()
