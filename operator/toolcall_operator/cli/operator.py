"""`toolcall operator`: runs the operator against a cluster; `toolcall settings` lists what can be set."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import click
from pydantic import ValidationError

from toolcall_operator import errors, settings
from toolcall_operator.cli import meanings
from toolcall_operator.cli.refusal import Refusal
from toolcall_operator.settings import OperatorSettings

HELP = """Run the operator: carry the ToolCalls of a cluster to their end.

It works on the cluster of the kubeconfig, or on the one in whose pod it runs. Of several operators one leads; the
others wait. SIGTERM ends it within seconds: calls that run go on, and the next operator takes them over.

Every flag can also be set by an environment variable; `toolcall settings` lists them.

\b
Exit code: 0  it was told to end
           1  it lost sight of the cluster: start it again
           2  it could not start
"""

Command = Callable[..., None]


def options(command: Command) -> Command:
    """Give a command a flag for every setting."""
    for name in reversed(OperatorSettings.model_fields):
        told = f"{meanings.meaning(name)} [{settings.variable(name)}]"
        command = click.option(settings.flag(name), name, help=told, metavar="TEXT")(command)
    return command


@click.command(help=HELP)
@options
def operator(**given: str | None) -> None:
    """Run the operator until it is told to end."""
    chosen = read(given)
    from toolcall_operator import operating  # noqa: PLC0415 - its watches take a second to load, which only it needs

    try:
        sys.exit(operating.run(chosen))
    except errors.OperatorError as error:
        raise Refusal(f"the operator cannot start: {error}") from error


@click.command(name="settings")
def listed() -> None:
    """List every setting of the operator: its flag, its environment variable, its value here and now."""
    now = read({}).model_dump(mode="json")
    for name in OperatorSettings.model_fields:
        click.echo(f"{settings.flag(name)}  {settings.variable(name)}={meanings.shown(now[name])}")
        click.echo(f"    {meanings.meaning(name)}")


def read(given: Mapping[str, str | None]) -> OperatorSettings:
    """The settings: flags come before variables.

    Raises:
        Refusal: some are wrong; each is named by its flag and its variable.
    """
    flags: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        return OperatorSettings(**flags)
    except ValidationError as error:
        problems = [problem(str(each["loc"][0]), each["msg"]) for each in error.errors(include_input=False)]
        raise Refusal("\n".join(problems)) from None


def problem(name: str, message: str) -> str:
    """What is wrong with a setting."""
    name = name.lower().removeprefix(settings.PREFIX.lower())
    return f"{settings.flag(name)} ({settings.variable(name)}): {message}"
