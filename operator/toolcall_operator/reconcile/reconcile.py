"""Carries one ToolCall from its manifest to its end: gather, decide, claim, run, settle."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack, suppress

from toolcall_operator import errors
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import status
from toolcall_operator.errors import Gone, OperatorError, Superseded
from toolcall_operator.ports import Ports
from toolcall_operator.reconcile.faults import as_often_as_it_takes, fault
from toolcall_operator.reconcile.preparing import Ready, prepare, unless_stopped
from toolcall_operator.reconcile.record import Record, Stop
from toolcall_operator.reconcile.running import run
from toolcall_operator.reconcile.settling import let_go, settle

log = logging.getLogger(__name__)


async def reconcile(call: ToolCall, ports: Ports, stop: Stop) -> ToolCall:
    """Carry one ToolCall to its end; a call that has ended is left as it is.

    A call about which somebody else knew more is read anew and carried on from there; one that is gone has ended.
    """
    record = Record(call, ports, stop)
    with suppress(Gone):
        while not status.is_finished(record.call):
            try:
                await carried_out(record, ports, stop)
                break
            except Superseded:
                await as_often_as_it_takes(record.reread)
        await let_go(record)
    return record.call


async def carried_out(record: Record, ports: Ports, stop: Stop) -> None:
    """Carry the call out; a bug of ours must not leave it without an end, nor take others with it."""
    try:
        await carry_out(record, ports, stop)
    except (Gone, Superseded):
        raise
    except Exception as bug:  # noqa: BLE001 (see above)
        where = errors.place(bug)
        log.error("ToolCall %s met a bug: %s\n%s", record.call.metadata.uid, type(bug).__name__, where)  # noqa: TRY400 (its text can hold anything)
        await settle(record, fault(record, f"internal error: {type(bug).__name__}"), ports)


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
