"""The images that clusters are given: those the local one starts with, and the supervisor's."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from hack.cluster import images
from hack.cluster.images import Image

REGISTRY = "toolcall.local"
"""A name that nobody serves: what is not loaded is not found."""

BUSYBOX = "/bin/busybox"
QUICKSTART = "docker.io/library/busybox:stable"
"""The image of examples/quickstart, which a cluster that knows a registry pulls."""


def named(name: str) -> str:
    """The full name of an image of ours."""
    return f"{REGISTRY}/{name}:local"


def busybox(folder: Path) -> Image:
    """A small image with the usual programs, for tests and for the quickstart."""
    (folder / "bin").mkdir()
    shutil.copy2(BUSYBOX, folder / "bin" / "busybox")
    for applet in subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True).stdout.split():
        if applet != "busybox":
            (folder / "bin" / applet).symlink_to("busybox")
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    return Image(named("busybox"), folder, {"Env": ["PATH=/bin"], "Cmd": ["sh"]}, [QUICKSTART])


def pause(folder: Path) -> Image:
    """What keeps the namespaces of a pod: it sleeps."""
    shutil.copy2(BUSYBOX, folder / "busybox")
    return Image(named("pause"), folder, {"Entrypoint": ["/busybox", "sleep", "infinity"]})


def coredns(folder: Path, program: Path) -> Image:
    """The DNS server of the cluster."""
    shutil.copy2(program, folder / "coredns")
    return Image(named("coredns"), folder, {"Entrypoint": ["/coredns"]})


def supervisor(folder: Path, program: Path) -> Image:
    """The supervisor and nothing else: an init container of it installs the supervisor into a sandbox."""
    installed = folder / "supervisor"
    shutil.copy(program, installed)
    installed.chmod(0o755)  # the user of a sandbox reads it once, to install it
    return Image(named("supervisor"), folder, {"Entrypoint": ["/supervisor"], "User": "1000:1000"})


def load(loader: Callable[[Path], None], dns: Path) -> None:
    """Load what the local cluster starts with; `dns` is the DNS server's program."""
    for build in (pause, busybox, lambda folder: coredns(folder, dns)):
        load_one(loader, build)


def load_one(loader: Callable[[Path], None], build: Callable[[Path], Image]) -> None:
    """Build an image in an empty folder, and load it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, archive = Path(scratch, "root"), Path(scratch, "image.tar")
        folder.mkdir()
        images.write(build(folder), archive)
        loader(archive)
