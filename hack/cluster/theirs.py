"""A cluster that the user names by $KUBECONFIG: it is used as it is, and never stopped."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from hack.cluster import kubectl, layout
from hack.cluster.say import Impossible, say


def named() -> str | None:
    """The user's $KUBECONFIG; None when it is unset, or names a cluster that was started here."""
    kubeconfig = os.environ.get("KUBECONFIG")
    return None if kubeconfig in (None, "", str(layout.KUBECONFIG)) else kubeconfig


def up(kubeconfig: str) -> None:
    """Return when the cluster answers.

    Raises:
        Impossible: when it does not.
    """
    if complaint := kubectl.complaint(kubeconfig):
        raise Impossible(f"the cluster of KUBECONFIG={kubeconfig} does not answer: {complaint}")


def load(archive: Path) -> None:
    """Load an image with the command that the user names, which takes the archive as its last argument."""
    command = os.environ.get("CLUSTER_LOAD")
    if not command:
        say(f"not loaded: {archive.name}. Set CLUSTER_LOAD to a command that loads an image archive into your cluster")
        return
    subprocess.run([*shlex.split(command), archive], check=True, stdout=sys.stderr)
