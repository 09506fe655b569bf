"""A sandbox whose processes are scripts: what a command writes, how long it lasts, how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

from toolcall_operator import errors, ports
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcallstatus import Dispatch
from toolcall_operator.core.outcomes import Cause, ExecRequest, ExecResult, StreamSize
from toolcall_operator.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Script:
    """What a process does: it writes at once, lasts so many seconds (None: until it is ended), and returns `code`.

    `on_term` is the code it returns when it is told to end; None means that it is killed.
    """

    stdout: bytes = b""
    stderr: bytes = b""
    code: int | None = 0
    lasts: float | None = 0.0
    on_term: int | None = None
    cause: Cause = Cause.EXITED
    signal: int | None = None
    step: str = ""
    error: str = ""


Behaviour = Callable[[ExecRequest], Script]
NOT_FOUND = Script(code=None, cause=Cause.NOT_STARTED, step="Exec", error="ENOENT")


class FakeProcess:
    """One scripted call, from its start until it is forgotten."""

    def __init__(self, request: ExecRequest, script: Script) -> None:
        self.request = request
        self.script = script
        self.acknowledged = False
        self.stopped: asyncio.Future[Cause] = asyncio.get_running_loop().create_future()
        self.ended = asyncio.create_task(self._live())

    @property
    def state(self) -> ports.CallState:
        if self.acknowledged:
            return ports.CallState.ACKNOWLEDGED
        return ports.CallState.EXITED if self.ended.done() else ports.CallState.RUNNING

    def stop(self, cause: Cause) -> None:
        """Have it end for a reason of the sandbox's; the first one stands."""
        if not self.stopped.done() and not self.ended.done():
            self.stopped.set_result(cause)

    def kept(self, text: bytes) -> bytes:
        return text[: self.request.output_bytes]

    async def _live(self) -> ExecResult:
        script, timeout = self.script, self.request.timeout.total_seconds()
        lasts = timeout if script.lasts is None else min(script.lasts, timeout)
        await asyncio.wait({self.stopped}, timeout=lasts)
        if self.stopped.done():
            return self._result(self.stopped.result(), script.on_term)
        if script.lasts is None or script.lasts > timeout:
            return self._result(Cause.DEADLINE, script.on_term)
        return self._result(script.cause, script.code)

    def _result(self, cause: Cause, code: int | None) -> ExecResult:
        script = self.script
        told = ExecResult(cause, code, duration=timedelta(milliseconds=1), stdout=self._size(script.stdout))
        told = replace(told, stderr=self._size(script.stderr))
        if cause is script.cause:
            return replace(told, signal=script.signal, step=script.step, error=script.error)
        return told

    def _size(self, text: bytes) -> StreamSize:
        return StreamSize(len(text), len(self.kept(text)))


class FakeExecution:
    """Implements `ports.Execution` on a scripted call; streams end where the sandbox is lost."""

    def __init__(self, process: FakeProcess, lost: asyncio.Future[errors.SandboxLost]) -> None:
        self._process = process
        self._lost = lost
        self._stdout = self._stream(process.script.stdout)
        self._stderr = self._stream(process.script.stderr)

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        return self._stdout

    @property
    def stderr(self) -> AsyncIterator[bytes]:
        return self._stderr

    async def result(self) -> ExecResult:
        await self._end()
        if self._lost.done():
            raise self._lost.result()
        return self._process.ended.result()

    async def _stream(self, text: bytes) -> AsyncIterator[bytes]:
        if kept := self._process.kept(text):
            yield kept
        await self._end()

    async def _end(self) -> None:
        either: set[asyncio.Future[ExecResult] | asyncio.Future[errors.SandboxLost]] = {self._process.ended, self._lost}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)


class FakeSandbox:
    """Implements `ports.Sandbox`. `behaviours` maps argv[0] to what that command does; others are not found."""

    def __init__(self, behaviours: Mapping[str, Behaviour], boot_id: str = "boot-1") -> None:
        self.behaviours = dict(behaviours)
        self.started: list[ExecRequest] = []
        self.killed: list[str] = []
        self.acknowledged: list[str] = []
        self.faults: list[errors.OperatorError] = []
        self._boot_id = boot_id
        self._processes: dict[str, FakeProcess] = {}
        self._lost: asyncio.Future[errors.SandboxLost] = asyncio.get_running_loop().create_future()

    @property
    def boot_id(self) -> str:
        return self._boot_id

    def lose(self, reason: Reason) -> None:
        """From now on, and for every call in flight, this sandbox is lost."""
        self._lost.set_result(errors.SandboxLost(reason, "the fake sandbox is lost"))

    @asynccontextmanager
    async def start(self, request: ExecRequest) -> AsyncIterator[ports.Execution]:
        with self._reachable():
            process = self._processes.get(request.uid)
            if process is None:
                process = self._processes[request.uid] = self._run(request)
            elif process.acknowledged:
                raise errors.SandboxLost(Reason.TRANSPORT_LOST, "the call was acknowledged")
        yield FakeExecution(process, self._lost)

    async def kill(self, uid: str) -> None:
        with self._reachable():
            self.killed.append(uid)
            if uid in self._processes:
                self._processes[uid].stop(Cause.KILLED)

    async def acknowledge(self, uid: str) -> None:
        with self._reachable():
            process = self._processes.get(uid)
            if process is None:
                return
            if process.state is ports.CallState.RUNNING:
                raise errors.Unavailable("the call still runs")
            process.acknowledged = True
            self.acknowledged.append(uid)

    async def calls(self) -> Mapping[str, ports.CallState]:
        with self._reachable():
            return {uid: process.state for uid, process in self._processes.items()}

    def _run(self, request: ExecRequest) -> FakeProcess:
        running = [process for process in self._processes.values() if process.state is ports.CallState.RUNNING]
        if any(_is_alone(process.request) for process in running):
            raise errors.Unavailable("a call that carries credentials runs, and no other may run beside it")
        if running and _is_alone(request):
            raise errors.Unavailable("the call carries credentials and must run alone, and another call runs")
        self.started.append(request)
        behave = self.behaviours.get(request.argv[0])
        return FakeProcess(request, behave(request) if behave else NOT_FOUND)

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        """Raise the next of `faults`, once each, or what became of the sandbox."""
        if self.faults:
            raise self.faults.pop(0)
        if self._lost.done():
            raise self._lost.result()
        yield


def _is_alone(request: ExecRequest) -> bool:
    return request.credentials is not None and request.credentials.exclusive


@dataclass
class FakeSandboxes:
    """Implements `ports.Sandboxes`: one fake for every session, made when it is first opened."""

    behaviours: Mapping[str, Behaviour] = field(default_factory=dict)
    unavailable: int = 0
    broken: int = 0
    opened: list[str] = field(default_factory=list)
    claims: list[Dispatch | None] = field(default_factory=list)
    sandboxes: dict[str, FakeSandbox] = field(default_factory=dict)

    @asynccontextmanager
    async def open(
        self, session: SpiceboxSession, session_class: SpiceboxClass, *, claim: Dispatch | None = None
    ) -> AsyncIterator[ports.Sandbox]:
        """The session's fake; the first `unavailable` times there is none, the first `broken` times it refuses us."""
        name = f"{session.metadata.namespace}/{session.metadata.name}"
        self.opened.append(f"{name} of {session_class.metadata.name}")
        self.claims.append(claim)
        if self.unavailable > 0:
            self.unavailable -= 1
            raise errors.Unavailable("the fake sandbox cannot be reached")
        if self.broken > 0:
            self.broken -= 1
            raise errors.ProtocolBroken("BadKey")
        yield self.of(name)

    def of(self, name: str) -> FakeSandbox:
        """The fake of a session, by `namespace/name`."""
        if name not in self.sandboxes:
            self.sandboxes[name] = FakeSandbox(self.behaviours)
        return self.sandboxes[name]
