"""A run on this machine: `toolcall run` without a cluster."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click
from pydantic import ValidationError

from toolcall_operator import bootstrap, errors
from toolcall_operator.cli import given, notes, output, supervisors, verdict
from toolcall_operator.cli.options import Options
from toolcall_operator.cli.refusal import Refusal
from toolcall_operator.cli.rows import Row, row
from toolcall_operator.cli.running import carried
from toolcall_operator.cli.screen import screen
from toolcall_operator.local import manifests
from toolcall_operator.local.cluster import FileCluster
from toolcall_operator.local.secrets import Given
from toolcall_operator.settings import Settings, variable


def run(files: tuple[str, ...], options: Options) -> int:
    """Run the calls of the files, show them, and return the exit code.

    Raises:
        Refusal: nothing was run.
    """
    cluster, settings = _loaded(files, given.given(options.secret, os.environ)), _settings()
    binary = supervisors.binary(options.supervisor or settings.supervisor)
    for note in notes.before(cluster, options.artifacts.absolute()):
        click.echo(f"note: {note}", err=True)
    signaled = _watched(cluster, binary, options, settings)
    finished = (entry.to_manifest() for entry in cluster.entries)
    printed = options.form is None or output.printed(output.rendered(finished, options.form))
    for note in notes.after(cluster):
        click.echo(f"note: {note}", err=True)
    code = verdict.judged(cluster, options)
    return signaled if signaled is not None else code or (not printed)


def _settings() -> Settings:
    """The settings of the environment.

    Raises:
        Refusal: one of them is not what it should be.
    """
    try:
        return Settings()
    except ValidationError as error:
        raise Refusal("\n".join(f"{variable(str(each['loc'][0]))}: {each['msg']}" for each in error.errors())) from None


def _loaded(files: tuple[str, ...], secrets: Given) -> FileCluster:
    """The world of the files, and of the Secrets that were given.

    Raises:
        Refusal: a file cannot be read, or there is no call in any.
    """
    try:
        documents = manifests.load(files)
    except manifests.Unreadable as unreadable:
        raise Refusal(str(unreadable)) from unreadable
    cluster = FileCluster(documents, bootstrap.now, secrets)
    if not cluster.entries:
        raise Refusal("\n".join([*map(str, cluster.findings), f"no ToolCall in {', '.join(files)}"]))
    return cluster


def _watched(cluster: FileCluster, binary: Path, options: Options, settings: Settings) -> int | None:
    """Run the calls and show them; return the exit code of the signal that ended the run early, if one did."""

    def rows() -> list[Row]:
        return [row(entry, bootstrap.now()) for entry in cluster.entries]

    with _scratch_folder(options) as scratch, screen(sys.stderr if options.form else sys.stdout, rows) as shown:
        for entry in cluster.entries:
            if entry.end is not None:
                shown.changed(row(entry, bootstrap.now()))
        cluster.listen(lambda entry: shown.changed(row(entry, bootstrap.now())))
        place = bootstrap.Place(binary, scratch, options.artifacts.absolute().as_uri(), settings)
        try:
            return asyncio.run(carried(cluster, place))
        except errors.OperatorError as error:
            raise Refusal(str(error)) from error


@contextmanager
def _scratch_folder(options: Options) -> Iterator[Path]:
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
            _remove(folder)
        elif options.keep:
            click.echo(f"note: the scratch folder {folder} is kept", err=True)


def _remove(folder: Path) -> None:
    """Remove the folder, also when tools have locked parts of it; say so if something stays."""
    shutil.rmtree(folder, ignore_errors=True)
    for where, names, _ in os.walk(folder):
        for name in names:
            with suppress(OSError):
                Path(where, name).chmod(0o700, follow_symlinks=False)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        click.echo(f"note: the scratch folder {folder} could not be removed", err=True)
