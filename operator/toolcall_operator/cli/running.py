"""Carries every call of a cluster of documents to its end, until it has ended or nobody wants to wait any longer."""

from __future__ import annotations

import click

from toolcall_operator import bootstrap
from toolcall_operator.bootstrap import Place
from toolcall_operator.cli.interrupts import Interrupts
from toolcall_operator.core.reasons import Reason
from toolcall_operator.local.cluster import FileCluster


async def carried(cluster: FileCluster, place: Place) -> int | None:
    """Run the calls; return the exit code of the signal that ended the run early, if one did.

    Raises:
        Unavailable: the place is not fit to run calls; none was started.
    """
    async with bootstrap.embedded(cluster, place) as dispatcher:

        def cancel() -> None:
            click.echo("note: canceling every call that has not ended; once more to wait no longer", err=True)
            dispatcher.stop_all(Reason.USER_CANCEL)

        with Interrupts(cancel) as interrupts:
            for entry in cluster.entries:
                if entry.call is not None and not entry.leaving:
                    dispatcher.submit(entry.call)
            await interrupts.patience(dispatcher.join())
            return interrupts.exit_code
