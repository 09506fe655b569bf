"""What signals do to a run."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from toolcall_operator.cli.interrupts import Interrupts


async def raised(number: signal.Signals) -> None:
    """The signal, and time for the loop to take note of it."""
    os.kill(os.getpid(), number)
    await asyncio.sleep(0.01)


@pytest.mark.parametrize(("number", "code"), ((signal.SIGINT, 130), (signal.SIGTERM, 143)))
async def test_the_first_signal_cancels_and_names_the_exit_code(number: signal.Signals, code: int) -> None:
    canceled: list[str] = []
    with Interrupts(lambda: canceled.append("calls")) as interrupts:
        await raised(number)

    assert canceled == ["calls"]
    assert interrupts.exit_code == code


async def test_the_second_signal_ends_the_patience_and_cancels_nothing_again() -> None:
    canceled: list[str] = []
    with Interrupts(lambda: canceled.append("calls")) as interrupts:
        waiting = asyncio.create_task(interrupts.patience(asyncio.sleep(60)))
        await raised(signal.SIGINT)
        assert not waiting.done()
        await raised(signal.SIGTERM)
        await asyncio.wait_for(waiting, 1)

    assert canceled == ["calls"]
    assert interrupts.exit_code == 130


async def test_without_a_signal_the_patience_lasts_as_long_as_the_work() -> None:
    with Interrupts(lambda: None) as interrupts:
        await interrupts.patience(asyncio.sleep(0))

    assert interrupts.exit_code is None


async def test_a_fault_of_the_work_is_not_swallowed() -> None:
    async def faulty() -> None:
        raise ConnectionResetError

    with Interrupts(lambda: None) as interrupts, pytest.raises(ConnectionResetError):
        await interrupts.patience(faulty())


async def test_signals_mean_what_they_meant_before_once_the_context_is_over() -> None:
    with Interrupts(lambda: None):
        pass

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
