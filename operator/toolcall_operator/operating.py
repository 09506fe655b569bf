"""The operator as a process: put together, led by one of several, ended without ending a call."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager

import uvloop

from toolcall_operator import bootstrap, errors
from toolcall_operator.adapters.cluster import config
from toolcall_operator.adapters.cluster import lease as leases
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.config import Source
from toolcall_operator.adapters.cluster.lease import Lease
from toolcall_operator.adapters.cluster.memory.resync import Resync
from toolcall_operator.handlers import Intake, watching
from toolcall_operator.leading import Site, led
from toolcall_operator.settings import OperatorSettings

log = logging.getLogger(__name__)

STOPPED, UNFIT = 0, 1
"""Exit codes: told to end; of no more use, to be started anew."""

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def run(settings: OperatorSettings) -> int:
    """Run the operator until it is told to end, or cannot go on; returns the exit code.

    Raises:
        OperatorError: it could not start.
    """
    bootstrap.quiet_retries()
    logging.basicConfig(level=settings.log_level.upper(), format=_FORMAT)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(operate(settings))


async def operate(settings: OperatorSettings) -> int:
    """Watch from now on, and work as soon as the lead is ours.

    Raises:
        Unavailable: there is no cluster to work on.
    """
    async with AsyncExitStack() as held:
        client = await Client.open(source(settings))
        held.push_async_callback(client.aclose)
        site = await Site.open(settings, client)
        held.push_async_callback(site.departures.aclose)
        # kopf takes the signals as it starts: ours are set after that.
        watches = await held.enter_async_context(
            watching(Intake(client, site.caches, site.departures), settings.namespaces)
        )
        ended = held.enter_context(signaled())
        resync = Resync(client, site.caches, site.departures, settings.namespaces)
        return await first_of(ended.wait(), watches.broken(), resync.run(), lead(site))


def source(settings: OperatorSettings) -> Source:
    """Where the credentials come from."""
    return config.source(settings.kubeconfig, settings.context, os.environ)


async def first_of(ended: Coroutine[None, None, object], *work: Coroutine[None, None, None]) -> int:
    """Work until it is ended; work that ends by itself makes this process unfit to go on."""
    ending = asyncio.create_task(ended)
    working = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.wait({ending, *working}, return_when=asyncio.FIRST_COMPLETED)
        for task in working:
            if task.done() and not task.cancelled() and (error := task.exception()):
                log.error("cannot go on: %s", errors.sayable(error))
        return STOPPED if ending.done() else UNFIT
    finally:
        ending.cancel()
        for task in working:
            task.cancel()
        await asyncio.gather(ending, *working, return_exceptions=True)


async def lead(site: Site) -> None:
    """For ever: wait for the lead, carry calls until it is lost, and wait for it again, in a term of its own.

    What runs when it is lost goes on: whoever leads next takes it over.
    """
    # Renewals go by connections of their own: they must wait behind nothing.
    async with aclosing(await Client.open(source(site.settings))) as client:
        while True:
            await term(site, Lease(client, site.namespace, leases.NAME, site.identity))
            log.warning("the lead was lost: calls that run go on, and this process waits for the lead again")


async def term(site: Site, lease: Lease) -> None:
    """Wait for the lead, and carry calls until it is lost; nothing of it is left in this process then.

    Raises:
        Unavailable: the cluster could not be read, though the lead was not lost.
    """
    try:
        await lease.acquire()
        site.client.may_write = lease.holds
        log.info("leading, in term %d, as %s", lease.epoch, site.identity)
        async with led(site, lease.epoch):
            await lease.lost.wait()
    except errors.Unavailable:
        if not lease.lost.is_set():
            raise
    finally:
        await lease.release()


@contextmanager
def signaled() -> Iterator[asyncio.Event]:
    """An event that is set by SIGTERM, SIGINT and SIGHUP, while the context is open."""
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def told(number: signal.Signals) -> None:
        log.info("told to end, by %s: calls that run go on, and the next leader takes them over", number.name)
        ended.set()

    for number in numbers:
        loop.add_signal_handler(number, told, number)
    try:
        yield ended
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
