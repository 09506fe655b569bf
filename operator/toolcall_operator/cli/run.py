"""`toolcall run`: carries the ToolCalls of manifest files to their end on this machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from toolcall_operator import bootstrap, errors
from toolcall_operator.cli import notes, output, supervisors
from toolcall_operator.cli.refusal import Refusal
from toolcall_operator.cli.rows import Row, row
from toolcall_operator.cli.running import carried
from toolcall_operator.cli.screen import screen
from toolcall_operator.local import expectations, manifests
from toolcall_operator.local.cluster import FileCluster
from toolcall_operator.settings import Settings

HELP = """Run the ToolCalls of manifest FILES on this machine, without a cluster.

FILES are YAML or JSON files, folders (every *.yaml, *.yml and *.json below), or - for standard input. All their objects
make one world: ToolCalls run with the SpiceboxSessions and SpiceboxClasses they name, validated, started and recorded
as in a cluster.

\b
  toolcall run examples/quickstart              watch the calls of a folder
  toolcall run --expect examples/quickstart     judge how each call ended
  toolcall run -o json call.yaml world.yaml     finished objects for programs
  kubectl get tc,sbxses,sbxcls -o yaml | toolcall run -

A call whose status says that it has ended is not run again.

\b
Exit code: 0  every call succeeded (with --expect: ended as expected)
           1  some call did not; a document could not be read; or output could
              not be kept
           2  nothing was run: no ToolCall, an unreadable file, no supervisor
         130  Ctrl-C (143 SIGTERM, 129 hang-up): unfinished calls were canceled
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for besides the files."""

    scratch: Path | None
    keep: bool
    artifacts: Path
    form: str | None
    expect: bool
    supervisor: Path | None


@click.command(help=HELP)
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--expect",
    is_flag=True,
    help=f"Judge each call by its annotation {expectations.ANNOTATION}: the reason it has to end for.",
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(tuple(output.FORMS)),
    help="Print the finished objects on stdout, and all else on stderr.",
)
@click.option(
    "--artifacts",
    type=click.Path(file_okay=False, path_type=Path),
    default="toolcall-artifacts",
    show_default=True,
    help="Folder that keeps what tools wrote; references on status lead there.",
)
@click.option(
    "--scratch",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for everything tools write.  [default: a temporary one]",
)
@click.option("--keep", is_flag=True, help="Keep the temporary scratch folder.")
@click.option(
    "--supervisor",
    type=click.Path(path_type=Path),
    help="The supervisor binary; also TOOLCALL_SUPERVISOR.  [default: the one of the checkout, else the one on PATH]",
)
def run(files: tuple[str, ...], **chosen: Any) -> None:  # noqa: ANN401 (the fields of Options, typed by click)
    """Run the calls of the files."""
    options = Options(**chosen)
    cluster = loaded(files)
    binary = supervisors.binary(options.supervisor or Settings().supervisor)
    for note in notes.before(cluster, options.artifacts.absolute()):
        click.echo(f"note: {note}", err=True)
    signaled = watched(cluster, binary, options)
    printed = options.form is None or output.printed(output.rendered(cluster.entries, options.form))
    for note in notes.after(cluster):
        click.echo(f"note: {note}", err=True)
    code = judged(cluster, options)
    sys.exit(signaled if signaled is not None else code or (not printed))


def loaded(files: tuple[str, ...]) -> FileCluster:
    """The world of the files.

    Raises:
        Refusal: a file cannot be read, or there is no call in any.
    """
    try:
        documents = manifests.load(files)
    except manifests.Unreadable as unreadable:
        raise Refusal(str(unreadable)) from unreadable
    cluster = FileCluster(documents, bootstrap.now)
    if not cluster.entries:
        raise Refusal("\n".join([*map(str, cluster.findings), f"no ToolCall in {', '.join(files)}"]))
    return cluster


def watched(cluster: FileCluster, binary: Path, options: Options) -> int | None:
    """Run the calls and show them; return the exit code of the signal that ended the run early, if one did."""

    def rows() -> list[Row]:
        return [row(entry, bootstrap.now()) for entry in cluster.entries]

    with scratch_folder(options) as scratch, screen(sys.stderr if options.form else sys.stdout, rows) as shown:
        for entry in cluster.entries:
            if entry.end is not None:
                shown.changed(row(entry, bootstrap.now()))
        cluster.listen(lambda entry: shown.changed(row(entry, bootstrap.now())))
        place = bootstrap.Place(binary, scratch, options.artifacts.absolute().as_uri())
        try:
            return asyncio.run(carried(cluster, place))
        except errors.OperatorError as error:
            raise Refusal(str(error)) from error


@contextmanager
def scratch_folder(options: Options) -> Iterator[Path]:
    """The folder for what tools write: the one asked for, or a temporary one that goes when its context ends.

    Raises:
        Refusal: it cannot be made.
    """
    try:
        if options.scratch is not None:
            options.scratch.mkdir(parents=True, exist_ok=True)
            folder = options.scratch.resolve()
        else:
            folder = Path(tempfile.mkdtemp(prefix="toolcall-"))
    except OSError as error:
        raise Refusal(f"the scratch folder cannot be made: {error.strerror}") from error
    try:
        yield folder
    finally:
        if options.scratch is None and not options.keep:
            removed(folder)
        elif options.keep:
            click.echo(f"note: the scratch folder {folder} is kept", err=True)


def removed(folder: Path) -> None:
    """Remove the folder, also when tools have locked parts of it; say so if something stays."""
    shutil.rmtree(folder, ignore_errors=True)
    for where, names, _ in os.walk(folder):
        for name in names:
            with suppress(OSError):
                Path(where, name).chmod(0o700, follow_symlinks=False)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        click.echo(f"note: the scratch folder {folder} could not be removed", err=True)


def judged(cluster: FileCluster, options: Options) -> int:
    """The exit code of a run that came to its end."""
    if not options.expect:
        return (
            0 if notes.is_whole(cluster) and all(entry.succeeded or entry.leaving for entry in cluster.entries) else 1
        )
    verdicts = expectations.judged(cluster.entries)
    for text in notes.verdicts(verdicts):
        click.echo(text, err=options.form is not None)
    return 0 if notes.is_whole(cluster) and all(verdict.holds for verdict in verdicts) else 1
