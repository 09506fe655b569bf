"""What one call costs from start to exit, as a multiple of the cheapest process there is."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.measured import Measured
from tests.bench.sandbox import BASELINE, TRUE, Bench, a_call, ran

ROUNDS = 400
BATCHES, PER_BATCH = 20, 20
AT_MOST = 8
KEY = b"bench"
FOLDERS = ("workspace", "work/in", "work/out", "home", "tmp", "spool")


def raw(bench: Bench) -> Iterator[Measured]:
    """Through the supervisor's frames alone, in turns with fork, exec and wait, both from one Go program."""
    sandbox = bench.sandbox("raw")
    for folder in FOLDERS:
        (sandbox.root / folder).mkdir(parents=True)
    medians = baseline(ROUNDS, *sandbox.command(KEY, retention=600), env={"BENCH_KEY": KEY.hex()})
    yield Measured("fork, exec and wait of true", medians["bare"] / 1000, "ms")
    yield Measured("true through the supervisor", medians["supervised"] / 1000, "ms")
    yield Measured("true through the supervisor / bare", medians["supervised"] / medians["bare"], "times", AT_MOST)


async def client(bench: Bench) -> list[Measured]:
    """Through the Python client as well, in turns with batches of fork, exec and wait."""
    bare, through = [], []
    async with bench.supervisor("client") as supervisor:
        for _ in range(BATCHES):
            bare.append(baseline(PER_BATCH)["bare"] / 1e6)
            for _ in range(PER_BATCH):
                begun = time.perf_counter()
                await ran(supervisor.sandbox, a_call(TRUE))
                through.append(time.perf_counter() - begun)
    value = statistics.median(through)
    return [
        Measured("true through the Python client", value * 1000, "ms"),
        Measured("true through the Python client / bare", value / statistics.median(bare), "times", AT_MOST),
    ]


def baseline(rounds: int, *supervisor: str, env: dict[str, str] | None = None) -> dict[str, float]:
    """The medians of the Go program, in microseconds."""
    through = ("--", *supervisor) if supervisor else ()
    command: list[str | Path] = [BASELINE, str(rounds), TRUE, *through]
    printed = subprocess.run(command, env=os.environ | (env or {}), stdout=subprocess.PIPE, check=True).stdout
    medians: dict[str, float] = json.loads(printed)
    return medians
