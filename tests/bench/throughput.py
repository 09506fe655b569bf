"""How many calls a second go through, with many in flight."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.measured import Measured
from tests.bench.sandbox import SUPERVISOR, TRUE, Bench, a_call, ran

CALLS, IN_FLIGHT, AT_LEAST = 2000, 64, 200
CALLS_OF_A_RUN = 200


async def client(bench: Bench) -> Measured:
    """Calls a second through the Python client and one supervisor."""
    async with bench.supervisor("throughput") as supervisor:
        slots = asyncio.Semaphore(IN_FLIGHT)

        async def one() -> None:
            async with slots:
                await ran(supervisor.sandbox, a_call(TRUE))

        begun = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(CALLS):
                group.create_task(one())
        passed = time.perf_counter() - begun
    return Measured(f"calls with {IN_FLIGHT} in flight", CALLS / passed, "calls/s", at_least=AT_LEAST)


def whole_run(bench: Bench) -> Measured:
    """Calls a second of `toolcall run`, from its start to its exit: manifests, artifacts and status included."""
    path = bench.folder / "calls.yaml"
    path.write_text("\n---\n".join(json.dumps(each) for each in manifests()))
    command: list[str | Path] = [
        Path(sys.executable).parent / "toolcall",
        "run",
        "-o",
        "json",
        "--artifacts",
        bench.folder / "out",
        path,
    ]
    environment = os.environ | {"TOOLCALL_SUPERVISOR": str(SUPERVISOR)}
    begun = time.perf_counter()
    subprocess.run(command, env=environment, capture_output=True, check=True)
    passed = time.perf_counter() - begun
    return Measured(f"toolcall run of {CALLS_OF_A_RUN} calls, start-up included", CALLS_OF_A_RUN / passed, "calls/s")


def manifests() -> list[dict[str, object]]:
    """A class, a session, and calls of `true`."""
    resources = {"cpu": "1", "memory": "1Gi", "ephemeralStorage": "1Gi"}
    tools = [{"name": "true", "command": [TRUE]}]
    calls = [manifest("ToolCall", f"t{n}", {"session": "s", "tool": "true"}) for n in range(CALLS_OF_A_RUN)]
    return [
        manifest("SpiceboxClass", "c", {"resources": resources, "tools": tools}),
        manifest("SpiceboxSession", "s", {"class": "c"}),
        *calls,
    ]


def manifest(kind: str, name: str, spec: dict[str, object]) -> dict[str, object]:
    """One object."""
    head = {"apiVersion": "agentprimitives.authzed.com/v1alpha1", "kind": kind}
    return {**head, "metadata": {"name": name}, "spec": spec}
