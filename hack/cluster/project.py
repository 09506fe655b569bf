"""What this project brings into a cluster: its kinds, and the image that puts a supervisor into every sandbox."""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hack.cluster import bundle, kubectl, layout
from hack.cluster.say import say

KINDS = layout.ROOT / "crds"
PROGRAM = layout.ROOT / "build" / "supervisor"
LOADED = layout.STATE / "supervisor"
"""Holds the hash of the supervisor that the running cluster has; it goes with the cluster."""


def bring(loader: Callable[[Path], None]) -> None:
    """Give a cluster that was started here what it lacks of this checkout; one that has it all is left as it is."""
    declare()
    build()
    content = hashlib.sha256(PROGRAM.read_bytes()).hexdigest()
    if not LOADED.exists() or LOADED.read_text(encoding="utf-8") != content:
        load(loader)
        LOADED.write_text(content, encoding="utf-8")


def declare() -> None:
    """Have the cluster know the kinds, as they are in this checkout."""
    kubectl.run(layout.KUBECONFIG, "apply", "--server-side", "--force-conflicts", f"--filename={KINDS}")
    kubectl.run(layout.KUBECONFIG, "wait", "--for=condition=Established", f"--filename={KINDS}", "--timeout=30s")


def build() -> None:
    """Build the supervisor of this checkout."""
    subprocess.run([layout.ROOT / "hack" / "build", "supervisor"], check=True, stdout=sys.stderr)


def load(loader: Callable[[Path], None]) -> None:
    """Load the supervisor that was built."""
    say(f"loading the supervisor as {bundle.named('supervisor')}")
    bundle.load_one(loader, lambda folder: bundle.supervisor(folder, PROGRAM))
