"""The exit code of a run, and the verdicts that it comes from."""

from __future__ import annotations

import click

from toolcall_operator.cli import notes
from toolcall_operator.cli.notes import Ran
from toolcall_operator.cli.options import Options
from toolcall_operator.local import expectations


def judged(ran: Ran, options: Options) -> int:
    """The exit code of a run that came to its end; whether expectations were met is told."""
    if not options.expect:
        return 0 if notes.is_whole(ran) and all(entry.succeeded or entry.leaving for entry in ran.entries) else 1
    verdicts = expectations.judged(ran.entries)
    for text in notes.verdicts(verdicts):
        click.echo(text, err=options.form is not None)
    return 0 if notes.is_whole(ran) and all(verdict.holds for verdict in verdicts) else 1
