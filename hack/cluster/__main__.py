"""Starts a Kubernetes cluster for development and tests, stops it, and loads images into it."""

import argparse
import fcntl
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hack.cluster import choice, images, kind, kubectl, layout, local
from hack.cluster.say import Impossible, say


@contextmanager
def alone() -> Iterator[None]:
    """Let one such command work at a time."""
    layout.CACHE.mkdir(parents=True, exist_ok=True)
    with (layout.CACHE / "cluster.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another such command")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def up(_options: argparse.Namespace) -> None:
    """Have a cluster running, and print the commands by which a shell finds it."""
    began = time.monotonic()
    cluster = choice.chosen()
    say(f"using {cluster.what}")
    cluster.up()
    say(f"answers at {cluster.kubeconfig}, after {time.monotonic() - began:.0f} s")
    for name, value in kubectl.settings(cluster.kubeconfig).items():
        print(f"export {name}={shlex.quote(value)}")
    if shutil.which("kubectl") != kubectl.program():
        print(f'export PATH={shlex.quote(str(Path(kubectl.program()).parent))}:"$PATH"')


def down(_options: argparse.Namespace) -> None:
    """Stop whatever was started here, and leave nothing of it."""
    kind.stop()
    local.stop()


def status(_options: argparse.Namespace) -> None:
    """Say whether a cluster that was started here runs.

    Raises:
        Impossible: when none does.
    """
    if not (kind.is_started() or local.node()):
        raise Impossible("no cluster was started here")
    say("a cluster runs here")


def load(options: argparse.Namespace) -> None:
    """Load an image archive."""
    choice.chosen().load(options.archive)


def image(options: argparse.Namespace) -> None:
    """Make an image of a folder, and load it."""
    config = {"Entrypoint": options.entrypoint} if options.entrypoint else {}
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch, "image.tar")
        images.write(images.Image(options.name, options.folder, config), archive)
        choice.chosen().load(archive)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python3 -m hack.cluster", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for command in (up, down, status, load, image):
        added = commands.add_parser(command.__name__, help=(command.__doc__ or "").splitlines()[0])
        added.set_defaults(command=command)
        if command is load:
            added.add_argument("archive", type=Path, help="a tar file in the OCI image layout")
        if command is image:
            added.add_argument("name", help="with registry and tag: toolcall.local/supervisor:local")
            added.add_argument("folder", type=Path, help="becomes the root of the image")
            added.add_argument("entrypoint", nargs=argparse.REMAINDER, help="what a container of it runs")
    return parser.parse_args()


def main() -> int:
    """Do what the command line says; 1 when it cannot be done."""
    options = arguments()
    try:
        with alone():
            options.command(options)
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except (Impossible, OSError, subprocess.CalledProcessError) as error:
        say(f"FAILED: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
