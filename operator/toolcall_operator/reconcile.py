"""Carries one ToolCall from its manifest to its end: gather, decide, claim, run, settle."""

from __future__ import annotations

import asyncio
import logging
import math
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TypeVar

import stamina

from toolcall_operator import transfer
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch, ToolCallStatus
from toolcall_operator.core import status, validation
from toolcall_operator.core.outcomes import Ended, ExecRequest, Lost, Outcome, Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.validation import Plan
from toolcall_operator.errors import OperatorError, ProtocolBroken, SandboxLost, Unavailable
from toolcall_operator.ports import Ports, Sandbox

log = logging.getLogger(__name__)
T = TypeVar("T")

SILENT_WAIT = timedelta(seconds=1)
"""A wait shorter than this is not worth a write."""


class Stop:
    """Asks a call to end early; the first reason given stays."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self.reason: Reason | None = None

    def ask(self, reason: Reason) -> None:
        """End the call, for `reason`."""
        self.reason = self.reason or reason
        self._asked.set()

    async def asked(self) -> None:
        """Return when the call was asked to end."""
        await self._asked.wait()


class Record:
    """The call as it was last reported."""

    def __init__(self, call: ToolCall, ports: Ports) -> None:
        self.call = call
        self._ports = ports

    async def write(self, new: ToolCallStatus) -> None:
        """Keep `new` as the call's status.

        Raises:
            Unavailable: it could not be kept.
        """
        self.call = await self._ports.cluster.report(self.call, new)


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that may run, and the sandbox it runs in."""

    plan: Plan
    sandbox: Sandbox


async def reconcile(call: ToolCall, ports: Ports, stop: Stop) -> ToolCall:
    """Carry one ToolCall to its end; a call that has ended is left as it is."""
    record = Record(call, ports)
    if not status.is_finished(call):
        try:
            await carry_out(record, ports, stop)
        except Exception as bug:  # noqa: BLE001 (a bug must not leave a call without an end, nor take others with it)
            # Where it is may be logged; its text may not, which can hold anything.
            where = "".join(traceback.format_tb(bug.__traceback__))
            log.error("ToolCall %s met a bug: %s\n%s", call.metadata.uid, type(bug).__name__, where)  # noqa: TRY400 (see above)
            await settle(record, fault(record.call, f"internal error: {type(bug).__name__}"), ports)
    return record.call


async def carry_out(record: Record, ports: Ports, stop: Stop) -> None:
    """Prepare, claim, run, settle, acknowledge."""
    async with AsyncExitStack() as held:
        preparing = prepare(record, ports, held)
        # A claimed call may be running: it is reached first, and ended there.
        claimed = status.is_claimed(record.call)
        ready = await (preparing if claimed else unless_stopped(preparing, stop))
        outcome = await run(ready, record, ports, stop) if isinstance(ready, Ready) else ready
        await settle(record, outcome, ports)
        if isinstance(ready, Ready):
            with suppress(OperatorError):  # the supervisor drops it by itself after its retention
                await ready.sandbox.acknowledge(record.call.metadata.uid)


async def prepare(record: Record, ports: Ports, held: AsyncExitStack) -> Ready | Refused | Lost:
    """Decide on the call, wait for its turn and for its sandbox; `held` keeps both until the end."""

    async def decide() -> Plan | Refused:
        return validation.plan(record.call, await ports.cluster.observe(record.call))

    try:
        plan = await retried(decide, record, ports)
        if isinstance(plan, Refused):
            return plan
        await turn(record, plan, ports, held)
        return Ready(plan, await retried(partial(enter, plan, ports, held), record, ports))
    except SandboxLost as lost:
        return fault(record.call, str(lost), Reason(lost.reason))
    except OperatorError as lasting:
        return fault(record.call, str(lasting))


async def enter(plan: Plan, ports: Ports, held: AsyncExitStack) -> Sandbox:
    """The sandbox the call runs in, kept open as long as `held`."""
    return await held.enter_async_context(ports.sandboxes.open(plan.session, plan.session_class))


async def turn(record: Record, plan: Plan, ports: Ports, held: AsyncExitStack) -> None:
    """Wait until the session's and the operator's limits let this call run; a long wait shows on the call."""
    waiting = asyncio.ensure_future(held.enter_async_context(ports.slots.of(plan.session, plan.session_class)))
    try:
        await asyncio.wait({waiting}, timeout=SILENT_WAIT.total_seconds())
        if not waiting.done():
            with suppress(Unavailable):  # a wait that cannot be shown is still a wait
                message = f"session {plan.session.metadata.name} is running as many calls as it may"
                await record.write(status.waiting(record.call, status.Waiting.QUEUED, message, ports.now()))
        await waiting
    finally:
        waiting.cancel()


async def run(ready: Ready, record: Record, ports: Ports, stop: Stop) -> Outcome:
    """Claim the call for this life of its sandbox, then start it or attach to it, and see it to its end."""
    if not status.is_claimed(record.call):
        try:
            await retried(partial(claim, ready, record, ports), record, ports)
        except Unavailable as lasting:
            return fault(record.call, str(lasting))
    elif objection := not_ours(record.call, ready.sandbox):
        return objection
    try:
        outcome = await follow(ready, record, ports, stop)
    except Exception:
        with suppress(OperatorError):  # a bug of ours must not leave a process behind
            await ready.sandbox.kill(record.call.metadata.uid)
        raise
    if isinstance(outcome, Ended):
        request = ready.plan.request
        return replace(outcome, stop=stop.reason, command=request.argv[0], output_bytes=request.output_bytes)
    return outcome


def not_ours(call: ToolCall, sandbox: Sandbox) -> Lost | None:
    """Why a claimed call must not be started, nor attached to, in this life of its sandbox."""
    dispatch = call.status.dispatch if call.status else None
    if dispatch is None:
        message = "it was started by somebody who left no claim, and is not started again"
        return Lost(Reason.TRANSPORT_LOST, message)
    if dispatch.boot_id != sandbox.boot_id:
        message = "the sandbox restarted after the call was claimed; its process is gone"
        return Lost(Reason.SANDBOX_RESTARTED, message)
    return None


async def claim(ready: Ready, record: Record, ports: Ports) -> None:
    """Write down, before anything starts, in which life of which sandbox this call runs: nobody else may then."""
    now = ports.now()
    dispatch = Dispatch(boot_id=ready.sandbox.boot_id, operator=ports.operator, epoch=ports.epoch, at=now)
    await record.write(status.started(record.call, ready.plan, dispatch, now))


async def follow(ready: Ready, record: Record, ports: Ports, stop: Stop) -> Ended | Lost:
    """Start the process once, or attach to it, and keep its output; again from its first byte if the store failed."""
    call, session = record.call, ready.plan.session
    key = f"{call.metadata.namespace}/{session.metadata.name}/{session.metadata.uid}/{call.metadata.uid}"
    kept: Ended | Lost | None = None

    async def attempt() -> Ended | Lost:
        nonlocal kept
        if stop.reason and call.metadata.uid not in await ready.sandbox.calls():
            return Lost(stop.reason, "canceled before it started")
        async with (
            ready.sandbox.start(due(ready.plan.request, call, ports)) as execution,
            killed_when_asked(ready.sandbox, call.metadata.uid, stop),
        ):
            kept = await transfer.collect(execution, key, ports.artifacts)
        if problem := kept.stdout.problem or kept.stderr.problem:
            raise Unavailable(problem)
        return kept

    try:
        return await retried(attempt, record, ports)
    except SandboxLost as lost:
        return kept or Lost(Reason(lost.reason), str(lost))
    except (Unavailable, ProtocolBroken) as lasting:
        return kept or Lost(Reason.RECONCILE_FAILED, f"the process could not be started: {lasting}")


def due(request: ExecRequest, call: ToolCall, ports: Ports) -> ExecRequest:
    """The request with the time that is left of its timeout, which counts from the claim."""
    started_at = call.status.started_at if call.status else None
    passed = max(ports.now() - started_at, timedelta()) if started_at else timedelta()
    return replace(request, timeout=max(request.timeout - passed, timedelta(milliseconds=1)))


@asynccontextmanager
async def killed_when_asked(sandbox: Sandbox, uid: str, stop: Stop) -> AsyncIterator[None]:
    """While the context is open, have a started call's process tree ended as soon as `stop` is asked."""

    async def kill() -> None:
        await stop.asked()
        with suppress(SandboxLost):  # the result tells
            async for attempt in stamina.retry_context(on=Unavailable, attempts=None, timeout=None, wait_max=5.0):
                with attempt:
                    await sandbox.kill(uid)

    killing = asyncio.create_task(kill())
    try:
        yield
    finally:
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)


async def settle(record: Record, outcome: Outcome, ports: Ports) -> None:
    """Write down how the call ended, as often as it takes."""
    final = status.settled(record.call, outcome, ports.now())
    async for attempt in stamina.retry_context(on=Unavailable, attempts=None, timeout=None, wait_max=30.0):
        with attempt:
            await record.write(final)


def fault(call: ToolCall, message: str, claimed: Reason = Reason.RECONCILE_FAILED) -> Refused | Lost:
    """The end of a call that a lasting fault of ours kept from running; of a `claimed` one more may be known."""
    return Lost(claimed, message) if status.is_claimed(call) else Refused(Reason.RECONCILE_FAILED, message)


async def retried(attempt: Callable[[], Awaitable[T]], record: Record, ports: Ports) -> T:
    """What `attempt` returns, tried again while our side is unavailable and the budget lasts; that shows on the call.

    The budget counts from the first fault: an attempt itself may last as long as a call.

    Raises:
        Unavailable: the budget is spent.
    """
    time = asyncio.get_running_loop().time
    until = math.inf

    async def shown() -> T:
        nonlocal until
        try:
            return await attempt()
        except Unavailable as trouble:
            until = min(until, time() + ports.fault_budget.total_seconds())
            with suppress(Unavailable):  # the same fault may keep us from showing it
                await record.write(status.retrying(record.call, str(trouble), ports.now()))
            raise

    def bearable(error: Exception) -> bool:
        return isinstance(error, Unavailable) and time() < until

    return await stamina.retry(on=bearable, attempts=None, timeout=None, wait_max=10.0)(shown)()


async def unless_stopped(preparing: Awaitable[Ready | Refused | Lost], stop: Stop) -> Ready | Refused | Lost:
    """What `preparing` returns, or the end of a call that was asked to stop before it was claimed."""
    task = asyncio.ensure_future(preparing)
    asked = asyncio.ensure_future(stop.asked())
    try:
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        if stop.reason is None:
            return await task
    finally:
        asked.cancel()
        task.cancel()
        await asyncio.wait({task})
    return Refused(stop.reason, "canceled before it started")
