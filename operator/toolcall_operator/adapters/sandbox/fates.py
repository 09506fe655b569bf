"""Why a sandbox was told to stop: its supervisor knows only that it was, the API server knows by whom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from toolcall_operator import errors, ports
from toolcall_operator.adapters.sandbox.line import Line
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.core.outcomes import Cause, ExecRequest, ExecResult
from toolcall_operator.core.pod import pods
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.reasons import Reason

_PATIENCE_SECONDS = 3.0
"""A kubelet that evicts a pod tells its containers first, and then the API server."""


class Fate:
    """What becomes of one pod, as it was last seen."""

    def __init__(self, pod: PodView) -> None:
        self._pod = pod
        self._seen = asyncio.Event()

    def see(self, pod: PodView) -> None:
        """The pod has changed."""
        self._pod = pod
        self._seen.set()

    async def eviction(self) -> str:
        """Why a pod that was told to stop is evicted; empty if it is not, as far as anybody says in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while (found := pods.stopping(self._pod)) is None:
                    self._seen.clear()
                    await self._seen.wait()
                reason, why = found
                return why if reason is Reason.EVICTED else ""
        return ""


class PodSandbox(SupervisedSandbox):
    """The sandbox in a pod: what ends because the pod is evicted ends for that reason."""

    def __init__(self, line: Line, fate: Fate) -> None:
        super().__init__(line)
        self._fate = fate

    @asynccontextmanager
    async def start(self, request: ExecRequest) -> AsyncIterator[ports.Execution]:
        """Start a call, or attach to it; see `ports.Sandbox.start`."""
        async with super().start(request) as execution:
            yield _Followed(execution, self._fate)


@dataclass(frozen=True, slots=True)
class _Followed:
    """Implements `ports.Execution` on another one."""

    execution: ports.Execution
    fate: Fate

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        return self.execution.stdout

    @property
    def stderr(self) -> AsyncIterator[bytes]:
        return self.execution.stderr

    async def result(self) -> ExecResult:
        found = await self.execution.result()
        if found.cause is Cause.TERMINATING and (why := await self.fate.eviction()):
            raise errors.SandboxLost(Reason.EVICTED, why)
        return found
