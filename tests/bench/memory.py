"""How much memory a call with very much output costs, on both sides of the channel."""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path

from tests.bench.measured import Measured
from tests.bench.sandbox import SUPERVISOR, TRUE, Bench, a_call, ran

WRITTEN, STORED = 200_000_000, 64 << 20
AT_MOST = 16
LOOK_SECONDS = 0.01
MIB = 1 << 20


async def of_much_output(bench: Bench) -> list[Measured]:
    """Growth in MiB while a tool writes 200 MB, of which as much is stored as a class can ask for."""
    async with bench.supervisor("memory") as supervisor:
        for _ in range(20):
            await ran(supervisor.sandbox, a_call(TRUE))  # what every call costs is not what output costs
        watch = asyncio.create_task(peaks(supervisor.pid))
        await asyncio.sleep(10 * LOOK_SECONDS)
        before = of_supervisor(supervisor.pid), of_process(os.getpid())
        call = a_call("/bin/sh", "-c", f"head -c {WRITTEN} /dev/zero", output_bytes=STORED)
        sizes = (await ran(supervisor.sandbox, call)).stdout
        watch.cancel()
        peak = await watch
    if (sizes.size, sizes.stored) != (WRITTEN, STORED):
        raise RuntimeError(f"not what was to be measured: {sizes}")
    names = (f"memory of the supervisor for {WRITTEN // 10**6} MB of output", "memory of the client for the same")
    return [
        Measured(name, (high - low) / MIB, "MiB", AT_MOST) for name, high, low in zip(names, peak, before, strict=True)
    ]


async def peaks(supervisor: int) -> tuple[int, int]:
    """The most memory that the supervisor and this process were seen to have, until it is canceled."""
    most = (0, 0)
    try:
        while True:
            now = of_supervisor(supervisor), of_process(os.getpid())
            most = max(most[0], now[0]), max(most[1], now[1])
            await asyncio.sleep(LOOK_SECONDS)
    except asyncio.CancelledError:
        return most


def of_supervisor(serve: int) -> int:
    """Resident bytes of `serve` and of the shims below it (the tools' own memory is theirs)."""
    return of_process(serve) + sum(of_process(shim) for shim in shims(serve))


def shims(serve: int) -> list[int]:
    """The children of `serve` that run its program."""
    children = (path.read_text().split() for path in Path(f"/proc/{serve}/task").glob("*/children"))
    return [int(child) for child in itertools.chain(*children) if is_supervisor(int(child))]


def is_supervisor(pid: int) -> bool:
    """Whether the process runs the supervisor's program; one that has ended does not."""
    try:
        return Path(f"/proc/{pid}/exe").samefile(SUPERVISOR)
    except OSError:
        return False


def of_process(pid: int) -> int:
    """Resident bytes of a process; none if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
