"""A cluster that the user names by $KUBECONFIG: it is used as it is, and never stopped."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from hack.cluster import bundle, kubectl, layout, project
from hack.cluster.say import Impossible, say


def named() -> str | None:
    """The user's $KUBECONFIG; None when it is unset, or names a cluster that was started here."""
    kubeconfig = os.environ.get("KUBECONFIG")
    return None if kubeconfig in (None, "", str(layout.KUBECONFIG)) else kubeconfig


def up(kubeconfig: str) -> None:
    """Return when the cluster answers, with the supervisor loaded where the user says how; its kinds are the user's.

    Raises:
        Impossible: when it does not.
    """
    if complaint := kubectl.complaint(kubeconfig):
        raise Impossible(f"the cluster of KUBECONFIG={kubeconfig} does not answer: {complaint}")
    if loader():
        project.build()
        project.load(load)
    else:
        say(f"sandboxes need the image {bundle.named('supervisor')}, and CLUSTER_LOAD names no command to load it:")
        say("set it, or build operator/supervisor/Dockerfile, push that, and name it in TOOLCALL_SUPERVISOR_IMAGE")
    say(f"its kinds are left alone: kubectl apply --server-side -f {project.KINDS}")
    say(f"tests expect the image {bundle.named('busybox')} in it: any busybox will do")


def loader() -> list[str]:
    """The command that loads an image archive, which becomes its last argument; empty when the user names none."""
    return shlex.split(os.environ.get("CLUSTER_LOAD", ""))


def load(archive: Path) -> None:
    """Load an image with the command that the user names.

    Raises:
        Impossible: when no command is named.
    """
    if not (command := loader()):
        raise Impossible(
            "CLUSTER_LOAD names no command that loads an image archive into the cluster of your KUBECONFIG"
        )
    subprocess.run([*command, archive], check=True, stdout=sys.stderr)
