"""kubectl, as tests call it: against $KUBECONFIG, in one namespace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Kubectl:
    """One cluster and one of its namespaces."""

    program: str
    namespace: str

    def attempt(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """What comes of a command, whether it succeeds or not; it has a minute."""
        command = [self.program, f"--namespace={self.namespace}", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=60)

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """The output of a command that must succeed."""
        done = self.attempt(*arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def apply(self, *manifests: dict[str, Any]) -> None:
        """Apply manifests."""
        self("apply", "--filename=-", stdin=as_list(manifests))

    def refusal(self, *arguments: str, stdin: str = "") -> str:
        """What a command says that must be refused."""
        done = self.attempt(*arguments, stdin=stdin)
        assert done.returncode != 0, f"was not refused: {done.stdout}"
        return done.stderr

    def get(self, *arguments: str) -> Any:  # noqa: ANN401 - the objects of a cluster have every shape
        """Objects, as the API server shows them."""
        return json.loads(self("get", "--output=json", *arguments))


def as_list(manifests: tuple[dict[str, Any], ...]) -> str:
    """Several manifests as one."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})


def program() -> str | None:
    """The kubectl that `make cluster` put beside its KUBECONFIG, else the one on PATH; None when there is none."""
    beside = Path(os.environ.get("KUBECONFIG", "")).parent / "bin" / "kubectl"
    return str(beside) if beside.exists() else shutil.which("kubectl")


def obstacle() -> str:
    """Why there is no cluster to test on; empty when there is one."""
    if not os.environ.get("KUBECONFIG"):
        return 'KUBECONFIG names no cluster; `eval "$(make -s cluster)"` starts one'
    found = program()
    if found is None:
        return "there is no kubectl on PATH"
    answer = Kubectl(found, "default").attempt("get", "--raw=/readyz", "--request-timeout=10s")
    return f"the cluster of KUBECONFIG does not answer: {answer.stderr.strip()}" if answer.returncode else ""
