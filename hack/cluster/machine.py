"""What the local cluster changes on the machine outside its own namespaces, and how that is taken back.

That is: one link with its routes, one cgroup, and the kernel settings that a kubelet sets for the whole machine.
"""

import contextlib
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from hack.cluster import layout

CGROUPS = Path("/sys/fs/cgroup")
PROC = Path("/proc")
SETTINGS = Path("/proc/sys")
KUBELET_SETS = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)


def ip(*arguments: str) -> None:
    """Change links, addresses or routes."""
    subprocess.run(["ip", *arguments], check=True)


def plug_in(pid: int) -> None:
    """Lay a cable to the network namespace of a process, with routes to its pods and Services."""
    ip("link", "add", layout.LINK, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
    ip("address", "add", f"{layout.MACHINE}/30", "dev", layout.LINK)
    ip("link", "set", layout.LINK, "up")
    for network in (layout.PODS, layout.SERVICES):
        ip("route", "add", network, "via", layout.NODE)


def loses_link(patience: float = 5.0) -> bool:
    """Whether the cable is gone, at once or soon: the kernel removes it a moment after its network namespace."""
    return waits(lambda: not Path("/sys/class/net", layout.LINK).exists(), patience)


def hierarchies() -> list[Path]:
    """The cgroup hierarchies: one with version 2, one per controller with version 1, none where there is no Linux."""
    if not CGROUPS.exists():
        return []
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [folder for folder in CGROUPS.iterdir() if folder.is_dir() and not folder.is_symlink()]


def make_cgroup() -> None:
    """Make the cgroup below which kubelet puts pods, in every hierarchy."""
    for hierarchy in hierarchies():
        group = hierarchy / layout.CGROUP
        group.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):  # version 1 starts them empty, and then takes no process
            if (hierarchy / name).exists():
                (group / name).write_text((hierarchy / name).read_text())


def remove_cgroup() -> None:
    """Remove the cgroup and all below it, when its processes are gone."""
    for hierarchy in hierarchies():
        groups = [path for path in (hierarchy / layout.CGROUP).rglob("*") if path.is_dir()]
        for group in [*sorted(groups, reverse=True), hierarchy / layout.CGROUP]:
            if group.exists():
                group.rmdir()


def remember_settings(file: Path) -> None:
    """Note the kernel settings that a kubelet will change."""
    values = {name: (SETTINGS / name).read_text() for name in KUBELET_SETS if (SETTINGS / name).exists()}
    file.write_text(json.dumps(values, indent=1), encoding="ascii")


def restore_settings(file: Path) -> None:
    """Put the noted kernel settings back."""
    for name, value in json.loads(file.read_text(encoding="ascii")).items():
        if (SETTINGS / name).read_text() != value:
            (SETTINGS / name).write_text(value)


def process(*arguments: str) -> int | None:
    """The process that was started with exactly these arguments, its own name aside; None when there is none."""
    wanted = [argument.encode() for argument in arguments]
    for folder in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if (folder / "cmdline").read_bytes().split(b"\0")[1:-1] == wanted:
                return int(folder.name)
    return None


def ends(pid: int, patience: float = 30.0) -> bool:
    """Whether a process is gone in time."""
    return waits(lambda: not (PROC / str(pid)).exists(), patience)


def waits(holds: Callable[[], bool], patience: float) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
