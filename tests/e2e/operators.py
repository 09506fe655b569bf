"""Operators as the tests run them: processes of their own, for one namespace, that can be killed and started anew."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.contract.pod import Images
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster.resources import TOOLCALLS

READY_SECONDS = 30
ENDS_SECONDS = 15
CLEAR_SECONDS = 30


@dataclass
class Operator:
    """An operator that leads in one namespace; `folder` keeps its log and what its calls wrote."""

    kubectl: Kubectl
    images: Images
    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    told: int = 0
    """How much of its log is of earlier lives."""

    @property
    def log(self) -> Path:
        """What all its lives said."""
        return self.folder / "operator.log"

    @property
    def artifacts(self) -> Path:
        """Where it keeps what its calls wrote."""
        return self.folder / "artifacts"

    def start(self) -> Operator:
        """Start it, and wait until it leads."""
        return self.launch().leads()

    def launch(self) -> Operator:
        """Start it."""
        self.told = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "toolcall_operator", "operator"],
                env={**os.environ, **self.environment()},
                stdout=log,
                stderr=log,
            )
        return self

    def leads(self) -> Operator:
        """Wait until it leads."""
        assert self.process
        deadline = time.monotonic() + READY_SECONDS
        while "leading" not in self.said:
            assert self.process.poll() is None, f"the operator ended: {self.said}"
            assert time.monotonic() < deadline, f"the operator does not lead: {self.said}"
            time.sleep(0.05)
        return self

    @property
    def said(self) -> str:
        """What it has said since it was started last."""
        return self.log.read_text()[self.told :]

    def environment(self) -> dict[str, str]:
        """Its settings."""
        namespace = self.kubectl.namespace
        return {
            "TOOLCALL_NAMESPACES": namespace,
            "TOOLCALL_OPERATOR_NAMESPACE": namespace,
            "TOOLCALL_SUPERVISOR_IMAGE": self.images.supervisor,
            "TOOLCALL_ARTIFACTS": str(self.artifacts),
            **self.settings,
        }

    def kill(self) -> None:
        """End it as a crash does."""
        self._signal(signal.SIGKILL)

    def terminate(self) -> float:
        """Tell it to end, as Kubernetes does; return how many seconds that took."""
        began = time.monotonic()
        self._signal(signal.SIGTERM)
        return time.monotonic() - began

    def clear(self) -> None:
        """Delete its calls and sessions while it can still let go of them: a namespace could not end otherwise."""
        self.kubectl("delete", f"--raw={TOOLCALLS.within(self.kubectl.namespace).path}")  # all at once
        self.kubectl("delete", "spiceboxsessions", "--all", "--timeout=50s")
        deadline = time.monotonic() + CLEAR_SECONDS
        while left := self.kubectl("get", "toolcalls", "--output=name"):
            assert time.monotonic() < deadline, f"calls are not let go of: {left}"
            time.sleep(0.05)

    def stop(self) -> None:
        """End it if it runs."""
        if self.process and self.process.poll() is None:
            self.terminate()

    def _signal(self, number: signal.Signals) -> None:
        assert self.process
        self.process.send_signal(number)
        self.process.wait(ENDS_SECONDS)
