"""What bounds all calls of a sandbox together, in a pod stand-in: its processes and threads, and its spools."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contract import harness, podlike
from tests.contract.harness import Limits
from tests.contract.pods import PodHarness
from tests.contract.programs import Programs
from toolcall_operator import errors
from toolcall_operator.core.outcomes import Cause

TASKS = 512
BLOCK = 4096
_MANY = 100  # more at once than there is room for
_V1 = Path("/sys/fs/cgroup/pids")
_CONTROLLER = _V1 if _V1.is_dir() else Path("/sys/fs/cgroup")
_NO_WANT_OF_MEMORY = ("--memory", str(16 << 30))


@dataclass(frozen=True, slots=True)
class Bounded(podlike.Recipe):
    """A recipe with more flags for serve, in a control group of its own where one is given."""

    flags: tuple[str, ...] = ()
    group: Path | None = None

    def command(self) -> list[str]:
        """The command line that starts it."""
        command = [*podlike.Recipe.command(self), *self.flags]
        if self.group is None:
            return command
        return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.group), *command]


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group without a limit, as a container's is; it tells how many processes and threads are in it."""
    folder = _CONTROLLER / f"bounds-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"needs a control group of its own: {error}")
    yield folder
    for _ in range(1000):
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.01)
    raise AssertionError(f"{folder} cannot be removed")


@pytest.fixture
async def crowded(programs: Programs, tmp_path: Path, group: Path) -> AsyncIterator[PodHarness]:
    """A sandbox that may have few processes and threads."""
    flags = ("--tasks", str(TASKS), *_NO_WANT_OF_MEMORY)
    recipe = Bounded(programs.supervisor, programs.tool, tmp_path / "pod", flags=flags, group=group)
    async with podlike.running(recipe) as box:
        yield box


@pytest.fixture
async def narrow(programs: Programs, tmp_path: Path) -> AsyncIterator[PodHarness]:
    """A sandbox whose spools may hold three blocks."""
    flags = ("--spool-bytes", str(3 * BLOCK))
    async with podlike.running(Bounded(programs.supervisor, programs.tool, tmp_path / "pod", flags=flags)) as box:
        yield box


async def test_of_many_calls_at_once_those_without_room_are_refused_and_the_others_are_unharmed(
    crowded: PodHarness, group: Path
) -> None:
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, int((group / "pids.current").read_text()))
            await asyncio.sleep(0.005)

    watching = asyncio.create_task(watch())
    ends = await asyncio.gather(*(crowded.run("sleep", "3s") for _ in range(_MANY)), return_exceptions=True)
    watching.cancel()

    refused = [end for end in ends if isinstance(end, errors.Unavailable)]
    ran = [end for end in ends if isinstance(end, harness.Ran)]
    assert len(refused) + len(ran) == _MANY
    assert len(ran) >= 10
    assert len(refused) >= 10
    assert {end.result.code for end in ran} == {0}
    assert "processes and threads" in str(refused[0])
    assert most <= TASKS
    assert (await crowded.run("echo", "well")).stdout == b"well\n"


async def test_the_call_with_the_most_processes_dies_when_they_run_out_and_the_others_live(
    crowded: PodHarness,
) -> None:
    small = crowded.call("ignore-term", "60s", limits=Limits(grace=0))
    async with crowded.sandbox.start(small) as execution:
        await harness.ready(execution)
        big = await crowded.run("fork-bomb", "1000", limits=Limits(timeout=30, pids=4000))
        well = await crowded.run("echo", "well")
        await crowded.sandbox.kill(small.uid)
        survivor = await harness.ended(execution)

    assert (big.result.cause, big.result.code) == (Cause.TOO_MANY_PROCESSES, None)
    assert well.stdout == b"well\n"
    assert survivor.result.cause is Cause.KILLED


async def test_what_no_spool_has_room_for_is_counted_and_not_kept_until_a_call_is_acknowledged(
    narrow: PodHarness,
) -> None:
    first = narrow.call("write", "stdout", "100000", "1000")
    one = await harness.run(narrow.sandbox, first)
    other = await narrow.run("echo", "lost")
    await narrow.sandbox.acknowledge(first.uid)
    third = await narrow.run("echo", "kept")

    assert one.stdout == harness.pattern(100_000)[: 3 * BLOCK]
    assert (one.result.stdout.size, one.result.stdout.truncated, one.result.code) == (100_000, True, 0)
    assert (other.stdout, other.result.stdout.size, other.result.code) == (b"", 5, 0)
    assert third.stdout == b"kept\n"


async def test_input_without_room_is_refused_and_starts_nothing(narrow: PodHarness) -> None:
    call = narrow.call("cat", stdin=b"x" * (3 * BLOCK + 1))

    with pytest.raises(errors.Unavailable, match="stdin could not be kept"):
        await harness.run(narrow.sandbox, call)

    assert call.uid not in await narrow.sandbox.calls()
    assert (await narrow.run("cat", stdin=b"y" * BLOCK)).stdout == b"y" * BLOCK
