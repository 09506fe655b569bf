"""`toolcall explain`: what would become of the ToolCalls of manifest files, and which rule decides."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

from toolcall_operator import bootstrap, errors
from toolcall_operator.cli.refusal import Refusal
from toolcall_operator.core import explaining
from toolcall_operator.core.explaining import Explained
from toolcall_operator.core.world import World
from toolcall_operator.local import manifests
from toolcall_operator.local.cluster import FileCluster
from toolcall_operator.local.entries import Entry
from toolcall_operator.local.manifests import Document

HELP = """Tell what would become of the ToolCalls of manifest files: which toolspecs are asked, which rule decides, and
how the command line is read. Nothing is run.

-f names YAML or JSON files, folders (every *.yaml, *.yml and *.json below), or - for standard input. All their objects
make one world: the calls, their SpiceboxSessions, SpiceboxClasses, SpiceboxToolspecs and SpiceboxToolkits. With
--cluster, what the files do not hold is looked up in the cluster of the kubeconfig.

\b
  toolcall explain -f call.yaml -f world/        offline
  toolcall explain -f call.yaml --cluster        against the sessions and toolspecs of the cluster
  kubectl get tc CALL -o yaml | toolcall explain -f - --cluster

What is told of a refusal is what the status of the refused call says. Values that are sensitive are left out.

\b
Exit code: 0  every call would run
           1  some call would not, or that is not certain: its program has to be
              asked for its version
           2  there is no call, a file cannot be read, no cluster
"""


@dataclass(frozen=True, slots=True)
class _Asked:
    """Where to look for what the files do not hold."""

    cluster: bool
    namespace: str
    context: str


@click.command(help=HELP)
@click.option("-f", "--file", "files", multiple=True, required=True, help="A file, a folder, or - for standard input.")
@click.option("--cluster", is_flag=True, help="Look up in the cluster what the files do not hold.")
@click.option("-n", "--namespace", default="", help="With --cluster: the namespace of objects that name none.")
@click.option("--context", default="", help="With --cluster: the context of the kubeconfig.")
@click.option("-o", "--output", "form", type=click.Choice(("json",)), help="Print a list for programs.")
def explain(files: tuple[str, ...], cluster: bool, namespace: str, context: str, form: str | None) -> None:  # noqa: FBT001 (click hands flags over as they are)
    """Tell what would become of the calls."""
    for name, value in (("namespace", namespace), ("context", context)):
        if value and not cluster:
            raise click.UsageError(f"--{name} means nothing without --cluster")
    try:
        documents = manifests.load(files)
        told = asyncio.run(_explained(documents, _Asked(cluster, namespace, context)))
    except (manifests.Unreadable, errors.OperatorError) as error:
        raise Refusal(str(error)) from error
    click.echo(_rendered(told, form))
    sys.exit(not all(each.allowed for _, each in told))


async def _explained(documents: Sequence[Document], asked: _Asked) -> list[tuple[str, Explained]]:
    """Every call of the documents by its name.

    Raises:
        Refusal: there is no call.
        OperatorError: the cluster cannot be asked.
    """
    world = await _with_cluster(documents, asked) if asked.cluster else documents
    files = FileCluster(world, bootstrap.now)
    for finding in files.findings:
        click.echo(str(finding), err=True)
    if not files.entries:
        raise Refusal("no ToolCall in any of the files")
    return [(entry.name, await _told(entry, files)) for entry in files.entries]


async def _told(entry: Entry, files: FileCluster) -> Explained:
    if entry.call is None:
        message = entry.status.conditions[0].message if entry.status and entry.status.conditions else ""
        return Explained(allowed=False, lines=(f"{entry.name} cannot be read", f"  {message}"))
    if entry.leaving:
        return Explained(allowed=False, lines=(f"ToolCall {entry.name} would not run", f"  {entry.leaving}"))
    return explaining.explained(entry.call, _as_it_stands(await files.observe(entry.call)), bootstrap.now())


def _as_it_stands(world: World) -> World:
    """The world in which a session that has a status, as one of a cluster has, takes calls only as that says."""
    status = world.session.status if world.session else None
    return replace(world, on_demand=False) if status and status.conditions else world


def _rendered(told: Sequence[tuple[str, Explained]], form: str | None) -> str:
    if form is None:
        return "\n\n".join("\n".join(each.lines) for _, each in told)
    return json.dumps(
        [{"call": name, "allowed": each.allowed, "lines": list(each.lines)} for name, each in told], indent=2
    )


async def _with_cluster(documents: Sequence[Document], asked: _Asked) -> Sequence[Document]:
    """The documents, and what the cluster holds besides them."""
    from toolcall_operator.cli import surroundings  # noqa: PLC0415 - the Kubernetes client takes half a second to load

    return await surroundings.around(documents, asked.namespace, asked.context)
