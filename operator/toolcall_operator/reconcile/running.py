"""A call's process: claimed, started once or attached to, seen to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

from toolcall_operator import transfer
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch
from toolcall_operator.core import status
from toolcall_operator.core.outcomes import Ended, ExecRequest, Lost, Outcome
from toolcall_operator.core.reasons import Reason
from toolcall_operator.errors import Gone, OperatorError, ProtocolBroken, Rejected, SandboxLost, Superseded, Unavailable
from toolcall_operator.ports import Ports, Sandbox
from toolcall_operator.reconcile.faults import as_often_as_it_takes, fault, retried
from toolcall_operator.reconcile.preparing import Ready, stopped_in_time
from toolcall_operator.reconcile.record import Record, Stop

HELD_AFTER = timedelta(seconds=1)
"""A call that runs longer is held: its end is seen also when it is deleted. A shorter one saves the write."""

UNANSWERED = timedelta(seconds=30)
"""How long after its kill and its grace a call is given up whose start is not answered; one answer takes so long."""


_NOT_STARTED_ANY_MORE = (
    "its sandbox does not know it; what accepted it, or a credential, is not to be had any more: it is not started"
)


async def run(ready: Ready, record: Record, ports: Ports, stop: Stop) -> Outcome:
    """Claim the call for this life of its sandbox, then start it or attach to it, and see it to its end."""
    if not status.is_claimed(record.call):
        try:
            await retried(partial(claim, ready, record, ports), record, ports)
        except (Unavailable, Rejected) as lasting:
            return fault(record, str(lasting))
        ports.slots.started(ready.plan.session.metadata.uid)
    elif objection := not_ours(record.call, ready.sandbox):
        return objection
    try:
        async with held_after_a_while(record, stop):
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
    known = ready.plan.session.status
    if known and known.sandbox and known.sandbox.boot_id == ready.sandbox.boot_id:
        dispatch = dispatch.model_copy(update={"pod_name": known.pod_name, "pod_uid": known.sandbox.pod_uid})
    await record.write(status.started(record.call, ready.plan, dispatch, now))


async def follow(ready: Ready, record: Record, ports: Ports, stop: Stop) -> Outcome:
    """Start the process once, or attach to it, and keep its output; again from its first byte if the store failed."""
    call, session, request = record.call, ready.plan.session, ready.plan.request
    key = f"{call.metadata.namespace}/{session.metadata.name}/{session.metadata.uid}/{call.metadata.uid}"
    kept: Ended | Lost | None = None

    async def attempt() -> Ended | Lost:
        nonlocal kept
        if stop.reason and call.metadata.uid not in await ready.sandbox.calls():
            return Lost(stop.reason, stopped_in_time(stop.reason).message)
        if ready.plan.only_followed and call.metadata.uid not in await ready.sandbox.calls():
            return Lost(Reason.TRANSPORT_LOST, _NOT_STARTED_ANY_MORE)
        async with (
            killed_when_asked(ready.sandbox, request, stop) as answered,
            ready.sandbox.start(due(request, call, ports)) as execution,
        ):
            answered()
            kept = await transfer.collect(execution, key, ports.artifacts)
        if problem := kept.stdout.problem or kept.stderr.problem:
            raise Unavailable(problem)
        return kept

    try:
        return await retried(attempt, record, ports, request.grace)
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
async def killed_when_asked(sandbox: Sandbox, request: ExecRequest, stop: Stop) -> AsyncIterator[Callable[[], None]]:
    """While the context is open, have the call's process tree ended as soon as `stop` is asked.

    It is started within, and what is yielded is called once that was answered: what came to be after a kill is killed
    again.

    Raises:
        SandboxLost: the kill got through, and the start is still not answered long after.
    """
    kill = partial(as_often_as_it_takes, partial(killed, sandbox, request.uid))
    started, patience = asyncio.Event(), asyncio.timeout(None)

    async def kill_when_asked() -> None:
        await stop.asked()
        with suppress(SandboxLost):  # the result tells
            await kill()
            if not started.is_set():
                patience.reschedule(asyncio.get_running_loop().time() + (request.grace + UNANSWERED).total_seconds())
                await started.wait()
                await kill()

    def answered() -> None:
        started.set()
        patience.reschedule(None)

    try:
        async with patience, meanwhile(kill_when_asked):
            yield answered
    except TimeoutError:
        if not patience.expired():
            raise
        message = "canceled; its sandbox took that, but never said whether the process was started"
        raise SandboxLost(stop.reason or Reason.TRANSPORT_LOST, message) from None


async def killed(sandbox: Sandbox, uid: str) -> None:
    """Have a call's process tree ended; a sandbox that answers nonsense may make sense the next time.

    Raises:
        Unavailable: it was not told.
        SandboxLost: it is no more.
    """
    try:
        await sandbox.kill(uid)
    except ProtocolBroken as broken:
        raise Unavailable(str(broken)) from broken


@asynccontextmanager
async def held_after_a_while(record: Record, stop: Stop) -> AsyncIterator[None]:
    """Have the call's object held if the context stays open for longer; one that is gone by then is to end."""

    async def hold() -> None:
        await asyncio.sleep(HELD_AFTER.total_seconds())
        try:
            with suppress(Superseded):  # of a call that somebody else has ended, the report of our end hears
                await as_often_as_it_takes(record.hold)
        except Gone:
            stop.ask(Reason.USER_DELETE)

    async with meanwhile(hold):
        yield


@asynccontextmanager
async def meanwhile(work: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """While the context is open, have `work` done, or as much of it as there is time for."""
    working = asyncio.ensure_future(work())
    try:
        yield
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
