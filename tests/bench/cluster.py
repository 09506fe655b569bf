"""What a call costs on a cluster, beside the cheapest thing that could be done instead: ratios of one run."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from tests.bench import credentials, memory
from tests.bench.measured import Measured
from tests.bench.site import Site, audited, manifest, opened
from toolcall_operator import transfer
from toolcall_operator.adapters.cluster import operatorkey
from toolcall_operator.adapters.cluster.resources import PODS, TOOLCALLS
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.link import Identity
from toolcall_operator.adapters.sandbox.podlink import PodConnector
from toolcall_operator.adapters.sandbox.pods import channel_key
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.core.outcomes import ExecRequest
from toolcall_operator.core.pod.pods import SANDBOX, PodView

IDLE_CALLS, CROWD, IN_FLIGHT = 60, 600, 64
FINISHED_CALLS, FEW_FINISHED, CHANNELS = 5000, 1000, 50
STREAMS, STREAM_BYTES, SLOW_BYTES_A_SECOND = 8, 64 << 20, 4 << 20
MIB = 1 << 20


async def measured(folder: Path) -> list[Measured]:
    """Every row that needs a cluster, each pair of numbers from the same minute."""
    async with opened(folder) as site:
        return [
            *await idle(site),
            await credentials.ratio(site),
            await crowd(site),
            *await requests(site),
            await control_frames(site),
            *await after(site),
        ]


async def idle(site: Site) -> list[Measured]:
    """From the creation of a call of a tool that does nothing to its end as a watcher sees it, beside a bare exec."""
    pod = PODS.named("one-pod", site.namespace)
    calls, execs, loop = [], [], asyncio.get_running_loop()
    for number in range(IDLE_CALLS):  # by turns: whatever else this machine does hits both alike
        name, began = f"idle-{number}", loop.time()
        await site.create(name)
        calls.append(await site.finished(name) - began)
        began = loop.time()
        stream = await site.client.exec(pod, SANDBOX, ("true",))
        while await stream.read(1 << 16):
            pass
        execs.append(loop.time() - began)
        await stream.close()
    call, bare = statistics.median(calls), statistics.median(execs)
    return [
        Measured("a call on a cluster, from create to its end seen by a watcher", 1000 * call, "ms"),
        Measured("the same, as a part of one exec of the same program", call / bare, "", at_most=0.35),
    ]


async def crowd(site: Site) -> Measured:
    """Calls a second of one session with many in flight, and objects a second that are only created and patched."""
    halves = []
    for half in range(2):  # calls, patches, calls, patches
        calls = await rate(partial(_call, site, f"crowd-{half}"))
        patches = await rate(partial(_patched, site, f"patched-{half}"))
        halves.append(calls / patches)
    return Measured(
        f"calls with {IN_FLIGHT} in flight, as a part of create and two patches without an operator",
        statistics.mean(halves),
        "",
        at_least=0.6,
    )


async def rate(one: Callable[[int], Awaitable[None]]) -> float:
    """How many a second."""
    began = time.perf_counter()
    await crowded(CROWD // 2, one)
    return CROWD / 2 / (time.perf_counter() - began)


async def crowded(total: int, one: Callable[[int], Awaitable[None]]) -> None:
    """Do it so often, with so many in flight."""
    slots = asyncio.Semaphore(IN_FLIGHT)

    async def turn(number: int) -> None:
        async with slots:
            await one(number)

    await asyncio.gather(*map(turn, range(total)))


async def _call(site: Site, prefix: str, number: int = 0) -> None:
    name = f"{prefix}-{number}"
    await site.create(name)
    await site.finished(name)


async def _patched(site: Site, prefix: str, number: int) -> None:
    """In a namespace nobody watches: as cheap as it can be."""
    name = f"{prefix}-{number}"
    await site.create(name, namespace=site.plain)
    status = TOOLCALLS.named(name, site.plain).part("status")
    for finished in (False, True):
        await site.client.merge(status, {"status": {"conditions": [_condition()], "finished": finished or None}})


def _condition() -> dict[str, str]:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"type": "Running", "status": "True", "reason": "Started", "message": "", "lastTransitionTime": at}


async def requests(site: Site) -> list[Measured]:
    """What the audit log has of one short call, besides its creation."""
    await _call(site, "counted")
    await asyncio.sleep(1.5)  # whoever wanted to hold it would do so after a second
    entries = [each for each in audited(site.namespace, "counted-0") if each["verb"] != "create"]
    if not entries:
        return []
    writes = sum(each["verb"] in {"patch", "update"} for each in entries)
    return [
        Measured("writes to the ToolCall of a short call", writes, "", at_most=2),
        Measured("reads of it", sum(each["verb"] in {"get", "list"} for each in entries), "", at_most=0),
    ]


class SlowStore:
    """Takes so many bytes a second, and keeps none."""

    async def put(self, key: str, body: AsyncIterator[bytes]) -> str:
        """Take it all, slowly."""
        async for chunk in body:
            await asyncio.sleep(len(chunk) / SLOW_BYTES_A_SECOND)
        return key


async def control_frames(site: Site) -> Measured:
    """The round trip of a control frame while much output moves to a slow store, over the same line."""
    site.session("bulk")  # of its own: whoever speaks for a later term than the operator's ends its rights there
    view = PodView.parse(await site.client.get(PODS.named("bulk-pod", site.namespace)))
    key = channel_key(await operatorkey.load_or_create(site.client, site.namespace), view.session_uid)
    identity = Identity(key, epoch=2**40)
    sandbox = await SupervisedSandbox.open(PodConnector(site.client, view), identity, Patience(opening=30))
    moving = [asyncio.create_task(moved(sandbox, f"bulk-{number}")) for number in range(STREAMS)]
    trips = []
    while not all(task.done() for task in moving):
        began = time.perf_counter()
        await sandbox.calls()
        trips.append(1000 * (time.perf_counter() - began))
        await asyncio.sleep(0.01)
    await asyncio.gather(*moving)
    await sandbox.close()
    total = STREAMS * STREAM_BYTES // MIB
    return Measured(
        f"p99 of a control frame's round trip while {total} MiB move to a slow store",
        statistics.quantiles(trips, n=100)[98],
        "ms",
        at_most=50,
    )


async def moved(sandbox: SupervisedSandbox, uid: str) -> None:
    """One call with much output, carried into the slow store."""
    request = ExecRequest(
        uid=uid,
        argv=("head", "-c", str(STREAM_BYTES), "/dev/zero"),
        env={},
        stdin=b"",
        timeout=timedelta(minutes=10),
        grace=timedelta(seconds=1),
        output_bytes=STREAM_BYTES,
        pids=64,
    )
    async with sandbox.start(request) as execution:
        await transfer.collect(execution, uid, SlowStore())
    await sandbox.acknowledge(uid)


async def after(site: Site) -> list[Measured]:
    """What an operator needs with many finished calls and many channels, and how fast it starts among them."""
    await finish(site, FEW_FINISHED)
    site.operator.terminate()
    site.operator.start()
    names = [f"open-{number}" for number in range(CHANNELS)]
    site.kubectl.apply(*(manifest("SpiceboxSession", name, {"class": site.namespace}) for name in names))
    await asyncio.gather(*(_opened(site, name) for name in names))
    assert site.operator.process is not None
    resident = memory.of_process(site.operator.process.pid) / MIB
    site.kubectl("delete", "spiceboxsession", *names, "--wait=false")
    await finish(site, FINISHED_CALLS - FEW_FINISHED)
    site.operator.terminate()
    await site.create("waits")
    began = time.perf_counter()
    site.operator.start()
    await site.finished("waits")
    started = time.perf_counter() - began
    return [
        Measured(
            f"memory of the operator with {FEW_FINISHED} finished calls and {CHANNELS} channels", resident, "MiB", 150
        ),
        Measured(f"start among {FINISHED_CALLS} finished calls, to the end of one that waited", started, "s", 8),
    ]


async def _opened(site: Site, session: str) -> None:
    await site.create(f"on-{session}", session=session)
    await site.finished(f"on-{session}")


async def finish(site: Site, calls: int) -> None:
    """Have so many calls more that have ended long ago."""
    begun = len(site.ends)
    await crowded(calls, partial(_ended, site, f"old-{begun}"))


async def _ended(site: Site, prefix: str, number: int) -> None:
    name = f"{prefix}-{number}"
    await site.create(name, cancel=True)
    await site.finished(name)
