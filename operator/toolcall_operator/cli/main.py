"""The command `toolcall` and its subcommands."""

from __future__ import annotations

import io
import sys
from importlib import metadata

import click

from toolcall_operator.cli.explain import explain
from toolcall_operator.cli.lint import lint
from toolcall_operator.cli.operator import listed, operator
from toolcall_operator.cli.refusal import Refusal
from toolcall_operator.cli.run import run


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def main() -> None:
    """Tool calls of AI agents as Kubernetes objects: validated, confined, accounted for."""
    if sys.stdout is None:
        raise Refusal("standard output is closed: there is nowhere to tell how calls ended")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character the terminal cannot show is no reason to fail


@main.command()
def version() -> None:
    """Print the version."""
    click.echo(metadata.version("toolcall-operator"))


main.add_command(run)
main.add_command(lint)
main.add_command(explain)
main.add_command(operator)
main.add_command(listed)
