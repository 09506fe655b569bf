"""A cluster that the user names by $KUBECONFIG: it is used as it is, and never stopped."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from hack.cluster import bundle, kubectl, layout
from hack.cluster.say import Impossible, say


def named() -> str | None:
    """The user's $KUBECONFIG; None when it is unset, or names a cluster that was started here."""
    kubeconfig = os.environ.get("KUBECONFIG")
    return None if kubeconfig in (None, "", str(layout.KUBECONFIG)) else kubeconfig


def up(kubeconfig: str) -> None:
    """Return when the cluster answers. The image that tests use has to be there already.

    Raises:
        Impossible: when it does not.
    """
    if complaint := kubectl.complaint(kubeconfig):
        raise Impossible(f"the cluster of KUBECONFIG={kubeconfig} does not answer: {complaint}")
    say(f"tests expect the image {bundle.named('busybox')} in it: any busybox will do")


def load(archive: Path) -> None:
    """Load an image with the command that the user names, which takes the archive as its last argument.

    Raises:
        Impossible: when no command is named.
    """
    command = os.environ.get("CLUSTER_LOAD")
    if not command:
        raise Impossible(
            "CLUSTER_LOAD names no command that loads an image archive into the cluster of your KUBECONFIG"
        )
    subprocess.run([*shlex.split(command), archive], check=True, stdout=sys.stderr)
