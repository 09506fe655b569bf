"""PID 1 of the node: starts the components in namespaces of their own, restarts those that end, reaps what is orphaned.

Nothing of the node outlives this process: with it the kernel ends every process of its PID namespace, and then nobody
holds its mounts, links and firewall rules any more.
"""

import http.client
import os
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Never

from hack.cluster import components, layout
from hack.cluster.components import Component

PATIENCE = 90.0
"""Seconds a component has to become healthy."""


class StartFailed(Exception):
    """A component ended, or did not become healthy in time."""


def mount(*arguments: str) -> None:
    """Mount in the node's namespace."""
    subprocess.run(["mount", *arguments], check=True)


def make_private_folders(state: Path) -> None:
    """Give the node its own /run, /var/lib and /var/log; the last two are in `state`, which becomes /run/cluster."""
    mount("--bind", str(state), "/mnt")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    Path(layout.HOME).mkdir()
    mount("--move", "/mnt", layout.HOME)
    for folder in ("/var/lib", "/var/log"):
        own = Path(f"{layout.HOME}{folder}")
        own.mkdir(parents=True, exist_ok=True)
        mount("--bind", str(own), folder)
    mount("--make-rshared", "/")  # kubelet passes mounts on to containers


def connect() -> None:
    """Bring up the node's end of the cable, when the machine has plugged it in.

    Raises:
        StartFailed: when it does not.
    """
    began = time.monotonic()
    while not any(name == "eth0" for _, name in socket.if_nameindex()):
        if time.monotonic() - began > PATIENCE:
            raise StartFailed("no cable was plugged in")
        time.sleep(0.01)
    for command in (
        "link set lo up",
        f"address add {layout.NODE}/30 dev eth0",
        "link set eth0 up",
        f"route add default via {layout.MACHINE}",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")


def spawn(component: Component) -> int:
    """Start a component and note its pid; what it says is added to its log."""
    log = os.open(component.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    outputs = [(os.POSIX_SPAWN_DUP2, log, descriptor) for descriptor in (1, 2)]
    pid = os.posix_spawnp(component.command[0], component.command, os.environ, file_actions=outputs, setsid=True)
    os.close(log)
    Path(f"{layout.HOME}/pid/{component.name}").write_text(f"{pid}\n", encoding="ascii")
    return pid


def is_healthy(component: Component, context: ssl.SSLContext) -> bool:
    """Whether a component answers."""
    try:
        if component.health.startswith("/"):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(component.health)
        else:
            # The URLs are those of `components`, all of them http or https.
            urllib.request.urlopen(component.health, timeout=2, context=context).close()  # noqa: S310 - see above
    except (OSError, http.client.HTTPException):
        return False
    return True


def failure(component: Component, what: str) -> StartFailed:
    """The error of a component that did not start: its name, what happened, and the end of its log."""
    lines = Path(component.log).read_text(encoding="utf-8", errors="replace").splitlines()[-15:]
    return StartFailed("\n    ".join([f"{component.name} {what}; the end of its log:", *lines]))


def await_health(component: Component, pid: int, context: ssl.SSLContext) -> None:
    """Return when a component answers.

    Raises:
        StartFailed: when it ends first, or does not answer in time.
    """
    began = time.monotonic()
    while not is_healthy(component, context):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            raise failure(component, f"ended with {os.waitstatus_to_exitcode(status)}")
        if time.monotonic() - began > PATIENCE:
            raise failure(component, f"was not healthy after {PATIENCE:.0f} s")
        time.sleep(0.1)


def start() -> dict[int, Component]:
    """Start everything; the running components by pid."""
    context = ssl.create_default_context(cafile=f"{components.PKI}/ca.crt")
    context.load_cert_chain(f"{components.PKI}/admin.crt", f"{components.PKI}/admin.key")
    running: dict[int, Component] = {}
    for stage in components.STAGES:
        started = {spawn(component): component for component in stage}
        for pid, component in started.items():
            await_health(component, pid, context)
            print(f"{component.name} is healthy", flush=True)
        running |= started
    return running


def supervise(running: dict[int, Component]) -> Never:
    """Restart, after a second, each component that ends; for ever."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if component := running.pop(pid, None):
            with Path(component.log).open("a", encoding="utf-8") as log:
                print(f"{component.name} ended with {os.waitstatus_to_exitcode(status)} and is restarted", file=log)
            time.sleep(1)
            running[spawn(component)] = component


def let_go() -> None:
    """Tell the reader of our output that all is up, and write to a log of our own from now on."""
    print("ready", flush=True)
    log = os.open(f"{layout.HOME}/log/node.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)


def main() -> int:
    """Carry the node whose files are in the folder that the command line names."""
    try:
        make_private_folders(Path(sys.argv[1]))
        socket.sethostname("node")
        connect()
        running = start()
    except (StartFailed, OSError, subprocess.CalledProcessError) as error:
        print(error)
        return 1
    let_go()
    supervise(running)


if __name__ == "__main__":
    sys.exit(main())
