"""Asks programs for their versions, each once in every life of a sandbox, before calls are decided by them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import validation
from toolcall_operator.core.outcomes import Confinement, ExecRequest, ExecResult, Refused, Wait
from toolcall_operator.core.policy import extraction, probing
from toolcall_operator.core.policy.probing import Probe, Version
from toolcall_operator.core.validation import Plan, Unprobed
from toolcall_operator.errors import OperatorError, Unavailable
from toolcall_operator.ports import Asked, Ports, Sandbox, Told

TIMEOUT = timedelta(seconds=10)
"""How long a program may take to tell its version."""

UNANSWERED = timedelta(seconds=30)
"""How long the sandbox may take to tell how that went; one answer of it takes so long at most."""

AGAIN_AFTER = timedelta(minutes=1)
"""A program that told no version is asked again after so long: it may have been the sandbox that was too full."""

REMEMBERED = 4_096
"""Answers that are kept; the oldest give way."""

_GRACE = timedelta(seconds=1)


async def verified(
    found: Plan | Unprobed, call: ToolCall, sandbox: Sandbox, ports: Ports
) -> Plan | Refused | Wait | Unprobed:
    """The decision with the versions that the programs of this sandbox have; a plan stays as it is.

    It is still `Unprobed` if a program had to be asked just now: meanwhile what decides may have changed.

    Raises:
        Unavailable, SandboxLost, ProtocolBroken: a program could not be asked.
    """
    versions: dict[Probe, Version] = {}
    now = ports.now()
    decided: Plan | Refused | Wait | Unprobed = found
    while isinstance(decided, Unprobed):
        key = sandbox.boot_id, decided.probe
        known = ports.asked.get(key)
        if known is None or (known.done() and _is_stale(known.result(), ports)):
            await _ask(key, decided.session_class, sandbox, ports)
            return found
        if not known.done():
            await asyncio.shield(known)
            return found
        versions[decided.probe] = known.result().version
        decided = validation.considered(call, decided.world, now, versions)
    return decided


def _is_stale(told: Told, ports: Ports) -> bool:
    return told.version.text is None and ports.now() >= told.at + AGAIN_AFTER


async def _ask(key: tuple[str, Probe], session_class: SpiceboxClass, sandbox: Sandbox, ports: Ports) -> None:
    """Ask, for all who want to know; whoever waits for an answer that does not come is to ask anew.

    Raises:
        Unavailable, SandboxLost, ProtocolBroken: it could not be asked.
    """
    told: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
    ports.asked[key] = told
    try:
        told.set_result(Told(await asked(key[1], session_class, sandbox), ports.now()))
    except BaseException as error:
        del ports.asked[key]
        why = str(error) if isinstance(error, OperatorError) else "the call for which it was asked ended before that"
        told.set_exception(Unavailable(why))
        told.exception()  # there may be nobody else who waits for it
        raise
    _forget_the_oldest(ports.asked)


async def asked(probe: Probe, session_class: SpiceboxClass, sandbox: Sandbox) -> Version:
    """What the program says, from a process of its own that has nothing of any call.

    A supervisor that is asked for the calls it has names that process among them, by a UID that is no object's. Whoever
    ends there what belongs to no call ends it, too; it is then asked anew.

    Raises:
        Unavailable: it did not come to an answer.
        SandboxLost, ProtocolBroken: see `ports.Sandbox.start`.
    """
    request = _request(probe, session_class)
    try:
        async with asyncio.timeout((TIMEOUT + UNANSWERED).total_seconds()):
            result, stdout = await _ran(request, sandbox)
    except TimeoutError:
        raise Unavailable(f"the sandbox did not tell what {probe.program} says of its version") from None
    with suppress(OperatorError):  # the supervisor drops it by itself after its retention
        await sandbox.acknowledge(request.uid)
    version = probing.answer(probe, result, stdout)
    if version is None:
        raise Unavailable(f"{probe.program} was ended before it told its version ({result.cause})")
    return version


def _request(probe: Probe, session_class: SpiceboxClass) -> ExecRequest:
    """One process that asks; its UID has never been used, and is never that of a call, which is a bare UUID."""
    return ExecRequest(
        uid=f"version-{uuid.uuid4()}",
        argv=probe.argv,
        env={},
        stdin=b"",
        timeout=TIMEOUT,
        grace=_GRACE,
        output_bytes=extraction.OUTPUT,
        pids=session_class.spec.resources.pids_limit,
        confinement=Confinement(network=False, writable=(), trusted=True),
    )


async def _ran(request: ExecRequest, sandbox: Sandbox) -> tuple[ExecResult, bytes]:
    async with sandbox.start(request) as execution:
        stdout, _ = await asyncio.gather(_whole(execution.stdout), _whole(execution.stderr))
        return await execution.result(), stdout


async def _whole(stream: AsyncIterator[bytes]) -> bytes:
    """All of a stream, which the sandbox bounds."""
    return b"".join([chunk async for chunk in stream])


def _forget_the_oldest(known: Asked) -> None:
    if len(known) > REMEMBERED:
        done = next((key for key, told in known.items() if told.done()), None)
        if done:
            del known[done]
