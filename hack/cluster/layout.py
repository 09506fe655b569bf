"""Where clusters keep their files, and the addresses of the local one."""

import contextlib
import os
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def _folder(variable: str, default: str) -> Path:
    """A base folder of the user, as the XDG Base Directory Specification has it."""
    return Path(os.environ.get(variable) or Path.home() / default) / "toolcall-operator"


CACHE = _folder("XDG_CACHE_HOME", ".cache")
"""Built programs, kept for ever."""

STATE = _folder("XDG_STATE_HOME", ".local/state") / "cluster"
"""Everything of the running cluster; `down` removes it."""

KUBECONFIG = STATE / "kubeconfig"
AUDIT_LOG = STATE / "log" / "audit.log"

HOME = "/run/cluster"
"""STATE, as the node sees it."""

LINK = "toolcall0"
"""The machine's end of the cable to the node."""

CGROUP = "toolcall-cluster"

# These stand in the files below etc/ too.
MACHINE = "10.213.0.1"
NODE = "10.213.0.2"
SERVICES = "10.214.0.0/16"
API_SERVICE = "10.214.0.1"
PODS = "10.215.0.0/16"


def remove_state() -> None:
    """Remove the files of a stopped cluster, and the folder they are in when it held nothing else."""
    if STATE.exists():
        shutil.rmtree(STATE)
    with contextlib.suppress(OSError):
        STATE.parent.rmdir()
