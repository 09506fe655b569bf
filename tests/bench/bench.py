"""Measures what the project promises in numbers, and says whether each promise holds on this machine: `make bench`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench import cluster, latency, memory, policy, refresh, site, throughput
from tests.bench.measured import ROOT, Measured
from tests.bench.sandbox import Bench, build

CORES = 2


def main() -> None:
    """Measure everything, print a table, write bench.json; exit code 1 if a promise does not hold."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    build()
    with tempfile.TemporaryDirectory(prefix="toolcall-bench-") as folder:
        rows = list(measured(Bench(Path(folder))))
    Console().print(table(rows))
    (ROOT / "bench.json").write_text(json.dumps([row.to_json() for row in rows], indent=2) + "\n")
    sys.exit(any(row.holds is False for row in rows))


def measured(bench: Bench) -> Iterator[Measured]:
    """Every row, one measurement after the other: none disturbs another."""
    yield from asyncio.run(memory.of_much_output(bench))  # first: nothing has made this process large yet
    yield from policy.measured()
    yield refresh.measured()
    yield from latency.raw(bench)
    yield from asyncio.run(latency.client(bench))
    yield asyncio.run(throughput.client(bench))
    yield throughput.whole_run(bench)
    if reason := site.obstacle():
        print(f"nothing was measured on a cluster: {reason}", file=sys.stderr)  # noqa: T201 - this is a command
    else:
        yield from asyncio.run(cluster.measured(bench.folder))


def table(rows: list[Measured]) -> Table:
    """The rows for people."""
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for heading, justify in (("WHAT", "left"), ("VALUE", "right"), ("UNIT", "left"), ("TARGET", "left"), ("", "left")):
        drawn.add_column(heading, justify=justify)  # type: ignore[arg-type] # both are words that rich knows
    for row in rows:
        verdict = {None: "", True: "[green]holds[/green]", False: "[red]does not hold[/red]"}[row.holds]
        drawn.add_row(row.row, f"{row.value:.4g}", row.unit, row.target, verdict)
    return drawn


if __name__ == "__main__":
    main()
