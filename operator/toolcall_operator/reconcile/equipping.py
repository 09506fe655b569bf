"""Credentials of a call: asked for before it takes anybody's turn, and as they are when it is claimed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from toolcall_operator.core import execenv
from toolcall_operator.core.credentials import injection
from toolcall_operator.core.credentials.carried import Carried
from toolcall_operator.core.credentials.references import Reference, Requester
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import ExecRequest, Refused
from toolcall_operator.core.validation import Plan, Unprobed
from toolcall_operator.ports import Broker, Ports, Sandbox

FRESH_SECONDS = 1.0
"""So long credentials that were had are as they are now: a call that has waited longer asks again."""


@dataclass(frozen=True, slots=True)
class Had:
    """Credentials that were had for references; `at` is the event loop's time."""

    references: tuple[Reference, ...] = ()
    values: tuple[Hidden, ...] = ()
    at: float = 0.0


NOTHING = Had()


async def had(plan: Plan | Unprobed, broker: Broker) -> Had | Refused:
    """The credentials of a plan: what cannot be had is told before the call waits for its turn.

    Nobody's turn is used up by a server that does not answer.

    Raises:
        Unavailable: nobody can say now.
    """
    wanted = plan.otherwise if isinstance(plan, Unprobed) else plan
    if not isinstance(wanted, Plan) or not wanted.references:
        return NOTHING
    at = asyncio.get_running_loop().time()
    values = await broker.resolve(wanted.references, _requester(wanted))
    return values if isinstance(values, Refused) else Had(wanted.references, values, at)


async def equipped(plan: Plan, earlier: Had, broker: Broker) -> Plan | Refused:
    """The plan, with its credentials in the request; those that were had a moment ago will do.

    Raises:
        Unavailable: nobody can say now.
    """
    if not plan.references:
        return plan
    now = asyncio.get_running_loop().time()
    stale = plan.references != earlier.references or now > earlier.at + FRESH_SECONDS
    found = await had(plan, broker) if stale else earlier
    return found if isinstance(found, Refused) else replace(plan, request=_carrying(plan, found.values))


async def resumed(plan: Plan, sandbox: Sandbox, ports: Ports) -> Plan:
    """The plan of a claimed call, with its credentials if nobody has started it yet: one that runs has its own.

    Raises:
        Unavailable: nobody can say now.
    """
    if not plan.references:
        return plan
    if plan.only_followed or plan.request.uid in await sandbox.calls():
        return replace(plan, only_followed=True)  # it is never started without them
    found = await equipped(plan, NOTHING, ports.broker)
    return replace(plan, only_followed=True) if isinstance(found, Refused) else found


def _carrying(plan: Plan, values: tuple[Hidden, ...]) -> ExecRequest:
    spec = plan.session_class.spec
    carried = Carried(
        env=injection.environment(plan.references, values),
        redacted=spec.redaction == "On",
        workspace=spec.credentials.workspace,
        exclusive=spec.credentials.exclusive,
    )
    return execenv.carrying(plan.request, carried)


def _requester(plan: Plan) -> Requester:
    metadata = plan.session.metadata
    return Requester(metadata.namespace, metadata.name, metadata.uid, plan.asked_at)
