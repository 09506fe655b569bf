"""How a call ends: here and nowhere else."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core import status
from toolcall_operator.core.outcomes import Lost, Outcome, Refused
from toolcall_operator.core.reasons import Terminal, terminal
from toolcall_operator.errors import Gone, Rejected, Unavailable
from toolcall_operator.ports import Ports
from toolcall_operator.reconcile.faults import as_often_as_it_takes
from toolcall_operator.reconcile.record import Record


async def settle(record: Record, outcome: Outcome, ports: Ports) -> None:
    """Write down how the call ended, as often as it takes, and let its object go; one that is gone needs no end.

    Raises:
        Superseded: somebody else knows more about the call.
    """
    final = status.settled(record.latest, outcome, ports.now())
    try:
        await as_often_as_it_takes(partial(written, record, final))
    except Gone:
        return
    remark(record, outcome, ports)
    await let_go(record)


async def written(record: Record, final: ToolCallStatus) -> None:
    """Write the end; if it is more than the API server takes, what matters of it.

    Raises:
        Unavailable: not even that was taken; what forbids it may be taken back, and no call stays without an end.
    """
    with suppress(Rejected):
        return await record.write(final)
    try:
        await record.write(status.minimal(final))
    except Rejected as refused:
        raise Unavailable(str(refused)) from refused


async def let_go(record: Record) -> None:
    """Release the call's object if it is held."""
    if record.held:
        await as_often_as_it_takes(record.release)


def remark(record: Record, outcome: Outcome, ports: Ports) -> None:
    """An ordinary end is nothing to be told of; a refusal and a loss are."""
    if isinstance(outcome, Refused | Lost) and terminal(outcome.reason) is Terminal.FAILED:
        ports.cluster.remark(record.call, outcome.reason, outcome.message)
