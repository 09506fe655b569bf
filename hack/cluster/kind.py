"""A cluster in a container, by kind: where a Docker daemon answers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from hack.cluster import bundle, gobuild, kubectl, layout, project
from hack.cluster.say import say

NAME = "toolcall"
CONFIG = layout.STATE / "kind.json"
BUSYBOX = "docker.io/library/busybox:1.37.0"

AUDIT_FLAGS = {
    "audit-policy-file": "/etc/kubernetes/audit/audit.yaml",
    "audit-log-path": "/var/log/kubernetes/audit.log",
    "audit-log-maxsize": "2048",
}
FOLDERS = {"etc": "/etc/kubernetes/audit", "log": "/var/log/kubernetes"}
"""Folders of the cluster's state, and where they are in the node."""


def is_possible() -> bool:
    """Whether a Docker daemon answers, and not only its client."""
    return shutil.which("docker") is not None and docker("version").returncode == 0


def docker(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run docker, quietly."""
    return subprocess.run(["docker", *arguments], capture_output=True, check=False)


def kind(*arguments: str) -> None:
    """Run kind and show what it says."""
    subprocess.run([gobuild.built("kind"), *arguments, "--name", NAME], check=True, stdout=sys.stderr)


def config() -> str:
    """One node, whose API server keeps the same audit log as the local cluster's, in the same place."""
    flags = [{"name": name, "value": value} for name, value in AUDIT_FLAGS.items()]
    volumes = [
        {"name": name, "hostPath": path, "mountPath": path, "pathType": "Directory"} for name, path in FOLDERS.items()
    ]
    patch = [
        *({"op": "add", "path": "/apiServer/extraArgs/-", "value": flag} for flag in flags),
        {"op": "add", "path": "/apiServer/extraVolumes", "value": volumes},
    ]
    target = {"group": "kubeadm.k8s.io", "version": "v1beta4", "kind": "ClusterConfiguration"}
    node = {
        "role": "control-plane",
        "extraMounts": [
            {"hostPath": str(layout.STATE / name), "containerPath": path} for name, path in FOLDERS.items()
        ],
        "kubeadmConfigPatchesJSON6902": [target | {"patch": json.dumps(patch)}],
    }
    return json.dumps({"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4", "nodes": [node]}, indent=1)


def is_started() -> bool:
    """Whether there is a cluster, or what is left of one."""
    return CONFIG.exists()


def up() -> None:
    """Have the cluster running: as it is, when it answers, else a new one."""
    if is_started() and not kubectl.complaint(str(layout.KUBECONFIG)):
        say("it runs already")
    else:
        stop()
        start()
    project.bring(load)


def start() -> None:
    """Start the cluster, with the image that tests use."""
    for folder in ("bin", "log"):
        (layout.STATE / folder).mkdir(parents=True)
    shutil.copytree(layout.HERE / "etc", layout.STATE / "etc")
    CONFIG.write_text(config(), encoding="utf-8")
    kubectl.OURS.symlink_to(shutil.which("kubectl") or gobuild.built("kubernetes"))
    kind("create", "cluster", "--config", str(CONFIG), "--kubeconfig", str(layout.KUBECONFIG), "--wait", "2m")
    subprocess.run(["docker", "pull", BUSYBOX], check=True, stdout=sys.stderr)
    subprocess.run(["docker", "tag", BUSYBOX, bundle.named("busybox")], check=True)
    kind("load", "docker-image", bundle.named("busybox"))


def load(archive: Path) -> None:
    """Make an image known to the node."""
    kind("load", "image-archive", str(archive))


def stop() -> None:
    """Leave nothing of the cluster."""
    if is_started():
        kind("delete", "cluster", "--kubeconfig", str(layout.KUBECONFIG))
        layout.remove_state()
