"""What comes before a call's process: the decision, its turn, and the sandbox it runs in."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from toolcall_operator.core import status, validation
from toolcall_operator.core.outcomes import Lost, Refused, Wait
from toolcall_operator.core.reasons import Reason, Waiting
from toolcall_operator.core.validation import Plan, Unprobed
from toolcall_operator.errors import ProtocolBroken, Rejected, SandboxLost, Unavailable
from toolcall_operator.ports import Ports, Sandbox
from toolcall_operator.reconcile import equipping, probing
from toolcall_operator.reconcile.equipping import Had
from toolcall_operator.reconcile.faults import fault, retried
from toolcall_operator.reconcile.record import Record, Stop

SILENT_WAIT = timedelta(seconds=1)
"""A wait shorter than this is not worth a write."""


class StillWaiting(Unavailable):
    """What was decided to run has to wait again; `refusal` is the end it comes to if that lasts."""

    def __init__(self, wait: Wait) -> None:
        super().__init__(wait.message)
        self.refusal = wait.refusal


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that may run, and the sandbox it runs in."""

    plan: Plan
    sandbox: Sandbox


async def prepare(record: Record, ports: Ports, held: AsyncExitStack) -> Ready | Refused | Lost:
    """Decide on the call, wait for its turn and for its sandbox; `held` keeps both until the end."""
    if status.is_claimed(record.call):
        return await reach(record, ports, held)
    try:
        plan = await decide(record, ports)
        if isinstance(plan, Refused):
            return plan
        credentials = await retried(partial(equipping.had, plan, ports.broker), record, ports)
        if isinstance(credentials, Refused):
            return credentials
        await turn(record, plan, ports, held)
        return await retried(partial(enter, plan, credentials, record, ports, held), record, ports)
    except StillWaiting as wait:
        return wait.refusal
    except (Unavailable, ProtocolBroken, Rejected) as lasting:
        return fault(record, str(lasting))


async def reach(record: Record, ports: Ports, held: AsyncExitStack) -> Ready | Lost:
    """The sandbox in which a claimed call may be running: whether it may run was decided when it was claimed."""
    turned = False

    async def take_turn(plan: Plan) -> None:
        """It has had its turn, and has it from now on: nobody is given one whom it must not meet."""
        nonlocal turned
        if not turned:
            turns = ports.slots.of(plan.session, plan.session_class, claimed=True, alone=runs_alone(record, plan))
            await held.enter_async_context(turns)
            turned = True

    async def opened() -> Ready | Lost:
        world = await ports.cluster.observe(record.call, live=True)
        plan, session = (
            validation.resumed(record.call, world, ports.now()),
            f"SpiceboxSession {record.call.spec.session}",
        )
        if world.unread and world.session is None and not world.on_demand:
            raise Unavailable(f"{session} cannot be read: {world.unread}")  # its sandbox may be there all the same
        if plan is None:
            return Lost(Reason.SANDBOX_GONE, f"{session} is gone, with its sandbox")
        await take_turn(plan)
        claim = record.call.status.dispatch if record.call.status else None
        opening = ports.sandboxes.open(plan.session, plan.session_class, claim=claim)
        try:
            sandbox = await held.enter_async_context(opening)
            return Ready(await equipping.resumed(plan, sandbox, ports), sandbox)
        except ProtocolBroken as refused:  # somebody with the right key may be following the call: its end is theirs
            raise Unavailable(f"the sandbox of the call does not take us: {refused}") from refused

    with suppress(Unavailable):  # by what is remembered first: those who wait decide by that, too, and as fast
        remembered = await ports.cluster.observe(record.call)
        if plan := validation.resumed(record.call, remembered, ports.now()):
            await take_turn(plan)
    try:
        return await retried(opened, record, ports)
    except SandboxLost as lost:
        return Lost(Reason(lost.reason), str(lost))
    except Unavailable as lasting:
        return Lost(Reason.SANDBOX_UNREACHABLE, str(lasting))


async def decide(record: Record, ports: Ports) -> Plan | Refused | Unprobed:
    """The decision, once nothing is waited for any more; a long wait shows on the call, as it changes.

    One that depends on the version of a program is made later, in the sandbox.
    What is absent from memory is asked for anew before a call is refused for it.
    """
    time = asyncio.get_running_loop().time
    silent_until = time() + SILENT_WAIT.total_seconds()
    deadlines: dict[tuple[Waiting, timedelta], float] = {}
    shown, live = "", False
    found = await judged(record, ports)
    while isinstance(found, Wait):
        until = deadlines.setdefault((found.waiting, found.patience), time() + found.patience.total_seconds())
        if time() >= until and live:
            return found.refusal
        if live := time() >= until:
            found = await judged(record, ports, live=True)
            continue
        if time() < silent_until:
            until = min(until, silent_until)
        elif shown != found.message:
            shown = found.message
            await show(record, found.waiting, shown, ports)
        await change(record, ports, until)
        found = await judged(record, ports)
    return found


async def judged(record: Record, ports: Ports, *, live: bool = False) -> Plan | Refused | Wait | Unprobed:
    """What the checks say now."""

    async def look() -> Plan | Refused | Wait | Unprobed:
        return validation.considered(record.call, await ports.cluster.observe(record.call, live=live), ports.now())

    return await retried(look, record, ports)


async def change(record: Record, ports: Ports, until: float) -> None:
    """Return when what decides may have changed, or at `until`."""
    with suppress(TimeoutError):
        async with asyncio.timeout_at(until):
            await ports.cluster.changed(record.call)


async def turn(record: Record, plan: Plan | Unprobed, ports: Ports, held: AsyncExitStack) -> None:
    """Wait until the session's and the operator's limits let this call run; a long wait shows on the call."""
    turns = ports.slots.of(plan.session, plan.session_class, claimed=False, alone=runs_alone(record, plan))
    waiting = asyncio.ensure_future(held.enter_async_context(turns))
    try:
        await asyncio.wait({waiting}, timeout=SILENT_WAIT.total_seconds())
        if not waiting.done():
            message = "as many calls run as may at once, in its session, its namespace, or in all"
            await show(record, Waiting.QUEUED, message, ports)
        await waiting
    finally:
        waiting.cancel()


def runs_alone(record: Record, plan: Plan | Unprobed) -> bool:
    """Whether the call shares its sandbox with no other while it runs: its supervisor would not start it otherwise."""
    sandbox = plan.session.status.sandbox if plan.session.status else None
    unguarded = sandbox is not None and sandbox.isolation == "Exclusive"
    return bool(record.call.spec.credentials) and (unguarded or plan.session_class.spec.credentials.exclusive)


async def show(record: Record, what: Waiting, message: str, ports: Ports) -> None:
    """Have the call say what it waits for; a wait that cannot be shown is still a wait."""
    with suppress(Unavailable, Rejected):
        await record.write(status.waiting(record.call, what, message, ports.now()))


async def enter(
    plan: Plan | Unprobed, credentials: Had, record: Record, ports: Ports, held: AsyncExitStack
) -> Ready | Refused:
    """The sandbox the call runs in, kept open as long as `held`; where the world has moved on, it is decided anew.

    Raises:
        Unavailable: there is no sandbox now.
    """
    found = await entered(plan, credentials, record, ports, held)
    while isinstance(found, Unprobed):
        found = await entered(found, credentials, record, ports, held)
    return found


async def entered(
    plan: Plan | Unprobed, credentials: Had, record: Record, ports: Ports, held: AsyncExitStack
) -> Ready | Refused | Unprobed:
    """As `enter`, once: still `Unprobed` if a program of the sandbox was asked for its version meanwhile."""
    found = await renewed(plan, record, ports)
    if isinstance(found, Refused):
        return found
    async with AsyncExitStack() as opened:
        try:
            sandbox = await opened.enter_async_context(ports.sandboxes.open(found.session, found.session_class))
            decided = await probing.verified(found, record.call, sandbox, ports)
        except SandboxLost as lost:  # nothing of this call was in it: another sandbox will do
            raise Unavailable(str(lost)) from lost
        if isinstance(decided, Wait):
            raise StillWaiting(decided)
        if isinstance(decided, Plan):
            decided = await equipping.equipped(decided, credentials, ports.broker)
        if isinstance(decided, Plan):
            await held.enter_async_context(opened.pop_all())
            return Ready(decided, sandbox)
    return decided


async def renewed(plan: Plan | Unprobed, record: Record, ports: Ports) -> Plan | Refused | Unprobed:
    """The decision in the world as it is now.

    Raises:
        Unavailable: it could not be observed, or has to be waited for again.
    """
    world = await ports.cluster.observe(record.call)
    if world is plan.world:
        return plan
    found = validation.considered(record.call, world, ports.now())
    if isinstance(found, Wait):  # nothing is refused for what memory lacks
        found = validation.considered(record.call, await ports.cluster.observe(record.call, live=True), ports.now())
    if isinstance(found, Wait):
        raise StillWaiting(found)
    return found


async def unless_stopped(preparing: Coroutine[Any, Any, Ready | Refused | Lost], stop: Stop) -> Ready | Refused | Lost:
    """What `preparing` returns, or the end of a call that was asked to stop before it was claimed."""
    if stop.reason is not None:
        preparing.close()
        return stopped_in_time(stop.reason)
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
    return stopped_in_time(stop.reason)


def stopped_in_time(reason: Reason) -> Refused:
    """The end of a call that was asked to stop before anything was started; to a waiting call, its session is gone."""
    if reason is Reason.SESSION_TERMINATED:
        return Refused(Reason.SESSION_GONE, "its session ended before the call could start")
    return Refused(reason, "canceled before it started")
