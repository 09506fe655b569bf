"""kubectl, as the scripts call it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from hack.cluster import layout
from hack.cluster.say import Impossible

OURS = layout.STATE / "bin" / "kubectl"


def program() -> str:
    """The cluster's own kubectl, else the user's.

    Raises:
        Impossible: when there is none.
    """
    if OURS.exists():
        return str(OURS)
    if found := shutil.which("kubectl"):
        return found
    raise Impossible("there is no kubectl on PATH")


def settings(kubeconfig: str) -> dict[str, str]:
    """The environment variables by which a kubectl finds the cluster of a kubeconfig."""
    found = {"KUBECONFIG": kubeconfig}
    if kubeconfig == str(layout.KUBECONFIG):
        # What kubectl remembers of a cluster is not true of the next one at the same address.
        found["KUBECACHEDIR"] = str(layout.STATE / "kubectl")
        if os.environ.keys() & {"HTTPS_PROXY", "https_proxy"}:
            found["NO_PROXY"] = ",".join(filter(None, [layout.NODE, os.environ.get("NO_PROXY")]))
    return found


def run(kubeconfig: Path, *arguments: str) -> None:
    """Run kubectl and show what it says.

    Raises:
        subprocess.CalledProcessError: when it fails.
    """
    subprocess.run([program(), *arguments], env=os.environ | settings(str(kubeconfig)), check=True, stdout=sys.stderr)


def complaint(kubeconfig: str) -> str:
    """Why the API server of a kubeconfig does not answer; empty when it does."""
    command = [program(), "get", "--raw=/readyz", "--request-timeout=10s"]
    done = subprocess.run(command, env=os.environ | settings(kubeconfig), capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""
