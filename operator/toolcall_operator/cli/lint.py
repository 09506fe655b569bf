"""`toolcall lint`: everything that is wrong with manifest files, with file, line and field."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial

import click

from toolcall_operator.local import admission, manifests, policychecks
from toolcall_operator.local import lint as linter
from toolcall_operator.local.findings import Finding, Level
from toolcall_operator.local.objections import objections

HELP = """Tell everything that is wrong with manifest FILES, with file, line and field.

FILES are YAML or JSON files, folders (every *.yaml, *.yml and *.json below), or - for standard input. Objects that name
each other are looked at together; one that is in no file may be in the cluster, and is a warning only.

\b
  toolcall lint examples/quickstart
  toolcall lint -o json call.yaml | jq .

Exit code: 0 when there is no error, 1 when there is one.
"""


@click.command(help=HELP)
@click.argument("files", nargs=-1, required=True)
@click.option("-o", "--output", "form", type=click.Choice(("json",)), help="Print the findings as a list for programs.")
def lint(files: tuple[str, ...], form: str | None) -> None:
    """Tell what is wrong with the files."""
    found = findings(files)
    click.echo(
        json.dumps([asdict(each) for each in found], indent=2) if form else "\n".join(map(str, found)),
        nl=bool(found or form),
    )
    sys.exit(any(each.level is Level.ERROR for each in found))


def findings(files: Iterable[str]) -> tuple[Finding, ...]:
    """What is wrong with the files, and with the documents in those that can be read."""
    loaded = manifests.read(files)
    at = datetime.now(UTC)
    documents = tuple(replace(each, raw=admission.completed(each.raw, at)) for each in loaded.documents)
    return (*loaded.findings, *linter.lint(documents, (*policychecks.CHECKS, partial(objections, now=at))))
