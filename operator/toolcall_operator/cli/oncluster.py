"""A run on a cluster: `toolcall run --cluster`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

import click

from toolcall_operator import bootstrap, errors
from toolcall_operator.adapters.cluster import config
from toolcall_operator.adapters.cluster.applier import Applier
from toolcall_operator.cli import notes, output, verdict, wanted
from toolcall_operator.cli.clusterrun import ClusterRun
from toolcall_operator.cli.interrupts import Interrupts
from toolcall_operator.cli.options import Options
from toolcall_operator.cli.refusal import Refusal
from toolcall_operator.cli.rows import Row
from toolcall_operator.cli.screen import Screen, screen
from toolcall_operator.cli.wanted import Wish
from toolcall_operator.local import manifests
from toolcall_operator.local.manifests import Document


def run(files: tuple[str, ...], options: Options) -> int:
    """Apply the files, show how their calls go, and return the exit code.

    Raises:
        Refusal: nothing was applied.
    """
    try:
        documents = manifests.load(files)
    except manifests.Unreadable as unreadable:
        raise Refusal(str(unreadable)) from unreadable
    try:
        ran, signaled = asyncio.run(_carried(documents, options))
    except errors.OperatorError as error:
        raise Refusal(str(error)) from error
    objects = (entry.manifest for entry in ran.entries)
    printed = options.form is None or output.printed(output.rendered(objects, options.form))
    for note in [*map(str, ran.findings), *notes.after(ran)]:
        _say(note)
    code = verdict.judged(ran, options)
    return signaled if signaled is not None else code or (not printed)


async def _carried(documents: Sequence[Document], options: Options) -> tuple[ClusterRun, int | None]:
    """The run when it is over, and the exit code of the signal that ended it early, if one did.

    Raises:
        Refusal: there is no call.
        OperatorError: the cluster cannot be reached, or knows no calls.
    """
    source = config.source("", options.context, os.environ)
    async with Applier.opened(source, options.namespace) as cluster:
        wish = wanted.wish(documents, cluster.namespace)
        if not wish.calls:
            raise Refusal("\n".join([*map(str, wish.findings), "no ToolCall in any of the files"]))
        await cluster.expect_calls()
        _say(f"applied to {cluster.server}, where no other namespace is named to {cluster.namespace}")
        return await _shown(wish, cluster, options)


async def _shown(wish: Wish, cluster: Applier, options: Options) -> tuple[ClusterRun, int | None]:
    """The same, once everything is known that the run needs."""
    ran: ClusterRun

    def rows() -> list[Row]:
        return [call.row(bootstrap.now()) for call in ran.calls]

    shown: Screen = screen(sys.stderr if options.form else sys.stdout, rows)
    ran = ClusterRun(wish, cluster, lambda call: shown.changed(call.row(bootstrap.now())), _say)

    def cancel() -> None:
        _say("canceling every call that has not ended; once more to wait no longer")
        ran.cancel()

    with shown, Interrupts(cancel) as interrupts:
        await interrupts.patience(ran.carry())
    return ran, interrupts.exit_code


def _say(note: str) -> None:
    click.echo(f"note: {note}", err=True)
