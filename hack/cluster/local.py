"""The local cluster: one node and its control plane, as processes in namespaces of their own on this machine."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from hack.cluster import bundle, components, gobuild, kubectl, layout, machine, packages, pki, project
from hack.cluster.say import Impossible, say

NODE = ("-m", "hack.cluster.node", str(layout.STATE))
NAMESPACES = ("--pid", "--mount-proc", "--mount", "--net", "--ipc", "--uts")
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
"""What the components find in their environment: nothing of the developer's, such as a proxy."""
READY = layout.STATE / "ready"
SETTINGS = layout.STATE / "settings.json"


def obstacles() -> list[str]:
    """Why there can be no local cluster on this machine; empty when there can be one."""
    reasons = {
        "it needs Linux": sys.platform == "linux",
        "it needs root": os.geteuid() == 0,
        "it needs apt-get and dpkg-query, for containerd and its tools": packages.can_install(),
        "it needs Go, to build Kubernetes": shutil.which("go") is not None,
    }
    return [reason for reason, holds in reasons.items() if not holds]


def node() -> int | None:
    """The node's PID 1, as this machine numbers it; None when no node runs."""
    return machine.process(*NODE)


def up() -> None:
    """Have the cluster running: as it is, when it was started completely and answers, else a new one."""
    if node() and READY.exists() and not kubectl.complaint(str(layout.KUBECONFIG)):
        say("it runs already")
    else:
        start()
    project.bring(load)


def start() -> None:
    """Start the cluster, whatever was there before.

    Raises:
        Impossible: when a component does not start; it and the end of its log have been shown.
    """
    packages.install()
    built = {name: gobuild.built(name) for name in components.PROGRAMS}
    dns = gobuild.built("coredns")
    stop()
    try:
        prepare(built)
        launch()
        bundle.load(load, dns)
        finish()
    except BaseException:
        stop()
        raise
    READY.touch()


def prepare(built: dict[str, Path]) -> None:
    """Write the files of the cluster, and make ready what the machine lends it."""
    for folder in ("bin", "programs", "log", "pid", "kubelet"):
        (layout.STATE / folder).mkdir(parents=True)
    for program, (name, *others) in components.PROGRAMS.items():
        place(built[program], layout.STATE / "programs" / name)
        for other in others:
            (layout.STATE / "programs" / other).symlink_to(name)
    kubectl.OURS.symlink_to(built["kubernetes"])
    shutil.copytree(layout.HERE / "etc", layout.STATE / "etc")
    pki.write(layout.STATE / "pki")
    for user in pki.USERS:
        pki.write_kubeconfig(layout.STATE / "etc" / f"{user}.kubeconfig", user, "127.0.0.1")
    pki.write_kubeconfig(layout.KUBECONFIG, "admin", layout.NODE)
    machine.remember_settings(SETTINGS)
    machine.make_cgroup()


def place(program: Path, target: Path) -> None:
    """Put a program where the node sees it: as a second name of the same file, where that can be."""
    try:
        target.hardlink_to(program)
    except OSError:
        shutil.copy2(program, target)


def launch() -> None:
    """Start the node and return when all of its components are healthy.

    Raises:
        Impossible: when one is not.
    """
    launcher = subprocess.Popen(
        ["unshare", "--fork", "--kill-child", "--propagation=slave", *NAMESPACES, sys.executable, *NODE],
        cwd=layout.ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    while not (pid := node()) and launcher.poll() is None:
        time.sleep(0.01)
    if pid:
        machine.plug_in(pid)
    for line in launcher.stdout or ():
        if line == "ready\n":
            return
        say(line.rstrip())
    raise Impossible("the local cluster did not start")


def load(archive: Path) -> None:
    """Make an image known to the node.

    Raises:
        Impossible: when no node runs.
    """
    pid = node()
    if pid is None:
        raise Impossible("no local cluster runs")
    command = ["nsenter", f"--target={pid}", "--mount", "--pid", "ctr", "--namespace=k8s.io", "images", "import", "-"]
    with archive.open("rb") as tar:
        subprocess.run(command, stdin=tar, stdout=sys.stderr, check=True)


def finish() -> None:
    """Add what a cluster has besides its components, and return when pods can run and Services have names."""
    kubectl.run(layout.KUBECONFIG, "apply", "--filename", str(layout.HERE / "etc" / "addons.yaml"))
    for condition in ("create", "condition=Ready"):
        kubectl.run(layout.KUBECONFIG, "wait", f"--for={condition}", "node/node", "--timeout=60s")
    kubectl.run(
        layout.KUBECONFIG, "--namespace=kube-system", "rollout", "status", "deployment/coredns", "--timeout=60s"
    )


def stop() -> None:
    """Leave nothing of a cluster: no process, mount, namespace, link, rule, cgroup, setting or folder.

    Raises:
        Impossible: when its processes do not end, or the cluster that runs is another.
    """
    if pid := node():
        os.kill(pid, signal.SIGKILL)
        if not machine.ends(pid):
            raise Impossible(f"process {pid} does not end, though it was killed")
    if not machine.loses_link():
        raise Impossible(f"a cluster runs whose files are not in {layout.STATE}: its link {layout.LINK} is there")
    machine.remove_cgroup()
    if SETTINGS.exists():
        machine.restore_settings(SETTINGS)
    layout.remove_state()
