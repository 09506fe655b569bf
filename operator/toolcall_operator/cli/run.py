"""`toolcall run`: carries the ToolCalls of manifest files to their end, on this machine or on a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from toolcall_operator.cli import embedded, output
from toolcall_operator.cli.options import Options
from toolcall_operator.local import expectations

HELP = """Run the ToolCalls of manifest FILES: on this machine, without a cluster, or on a cluster, with --cluster.

FILES are YAML or JSON files, folders (every *.yaml, *.yml and *.json below), or - for standard input. All their objects
make one world: ToolCalls run with the SpiceboxSessions and SpiceboxClasses they name, validated, started and recorded
as in a cluster.

\b
  toolcall run examples/quickstart              watch the calls of a folder
  toolcall run --expect examples/quickstart     judge how each call ended
  toolcall run -o json call.yaml world.yaml     finished objects for programs
  kubectl get tc,sbxses,sbxcls -o yaml | toolcall run -
  toolcall run --cluster examples/quickstart    apply the folder to the cluster
                                                of the kubeconfig, and watch

A call whose status says that it has ended is not run again. Credentials come from the Secrets of the files, and from
the environment: --secret github/token=GITHUB_TOKEN.

With --cluster, every object of the files is applied as `kubectl apply --server-side` does, calls last, and the operator
that runs in the cluster carries the calls. One that is there already, and the same, is shown from where it stands; one
that is not the same is refused by the API server. What tools wrote stays in the cluster's artifact store.

\b
Exit code: 0  every call succeeded (with --expect: ended as expected)
           1  some call did not; a document could not be read or applied; or
              output could not be kept
           2  nothing was run: no ToolCall, an unreadable file, no supervisor,
              no cluster
         130  Ctrl-C (143 SIGTERM, 129 hang-up): unfinished calls were canceled
"""

_OF_A_CLUSTER = ("namespace", "context")
_OF_THIS_MACHINE = ("artifacts", "scratch", "keep", "supervisor", "secret")


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
@click.option("--cluster", is_flag=True, help="Run on the cluster of the kubeconfig: KUBECONFIG, else ~/.kube/config.")
@click.option(
    "-n",
    "--namespace",
    default="",
    help="With --cluster: the namespace of objects that name none.  [default: the one of the kubeconfig's context]",
)
@click.option(
    "--context", default="", help="With --cluster: the context of the kubeconfig.  [default: its current one]"
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
@click.option(
    "--secret",
    multiple=True,
    metavar="NAME/KEY=VARIABLE",
    help="Key KEY of Secret NAME is the value of the environment variable VARIABLE. Can be given several times.",
)
@click.pass_context
def run(invoked: click.Context, /, files: tuple[str, ...], **chosen: Any) -> None:  # noqa: ANN401 (the fields of Options, typed by click)
    """Run the calls of the files."""
    options = Options(**chosen)
    for name in _OF_THIS_MACHINE if options.cluster else _OF_A_CLUSTER:
        if invoked.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name} means nothing {'with' if options.cluster else 'without'} --cluster")
    sys.exit(_on_cluster(files, options) if options.cluster else embedded.run(files, options))


def _on_cluster(files: tuple[str, ...], options: Options) -> int:
    from toolcall_operator.cli import oncluster  # noqa: PLC0415 - the Kubernetes client takes half a second to load

    return oncluster.run(files, options)
