"""The values between deciding, doing and reporting: what to run, what came of it, how a call ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from toolcall_operator.api.toolcallstatus import ToolspecFailure
from toolcall_operator.core.credentials.carried import Carried
from toolcall_operator.core.reasons import Reason, Waiting


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that must not run, and why: `reason` for machines, `message` for people, naming the field.

    `path` is that field if it is one of the call's own; the message begins with it. `failures` are the toolspecs that
    did not allow it, if that is why.
    """

    reason: Reason
    message: str
    path: str = ""
    failures: tuple[ToolspecFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """A call that cannot be decided on yet: what for, how long at most, and what it ends as after that.

    `words` say what it waits for, where the refusal does not.
    """

    waiting: Waiting
    patience: timedelta
    refusal: Refused
    words: str = ""

    @property
    def message(self) -> str:
        """What people are told meanwhile."""
        return self.words or self.refusal.message


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a process may do less than its sandbox lets every process do.

    Without `network` it makes Unix sockets only. `writable` are absolute paths: it may write only what lies below one
    of them and below a writable folder of its sandbox; an empty tuple leaves nothing, None everything. If `trusted`,
    its program must lie where no process of its sandbox can write.
    """

    network: bool = True
    writable: tuple[str, ...] | None = None
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """One process to start in a sandbox, at most once per `uid`; values of `env` and `stdin` stay out of every repr.

    `credentials` are what it is given besides `env`; None for a process without any.
    """

    uid: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    stdin: bytes = field(repr=False)
    timeout: timedelta
    grace: timedelta
    output_bytes: int
    pids: int
    confinement: Confinement = Confinement()
    credentials: Carried | None = None


class Cause(StrEnum):
    """Why a process ended, as the supervisor recorded it (`exit` in the supervisor's PROTOCOL.md)."""

    EXITED = "Exited"
    SIGNALED = "Signaled"
    NOT_STARTED = "NotStarted"
    DEADLINE = "Deadline"
    KILLED = "Killed"
    TERMINATING = "Terminating"
    OUT_OF_MEMORY = "OutOfMemory"
    TOO_MANY_PROCESSES = "TooManyProcesses"
    LOST = "Lost"


@dataclass(frozen=True, slots=True)
class StreamSize:
    """Bytes of one output stream: `size` the tool wrote, `stored` the supervisor kept (its head)."""

    size: int = 0
    stored: int = 0

    @property
    def truncated(self) -> bool:
        """Whether the kept head is incomplete."""
        return self.stored < self.size


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a process ended: the truth the supervisor recorded. A failing tool is a result, not an error."""

    cause: Cause
    code: int | None = None
    signal: int | None = None
    step: str = ""
    error: str = ""
    duration: timedelta = timedelta()
    stdout: StreamSize = StreamSize()
    stderr: StreamSize = StreamSize()


@dataclass(frozen=True, slots=True)
class Stored:
    """One output stream in the artifact store: `ref` is empty when there was nothing to store or storing failed."""

    ref: str = ""
    sha256: str = ""
    size: int = 0
    head: bytes = field(default=b"", repr=False)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """A call whose process ended, or never came to be, as its supervisor said.

    `stop` is why we asked it to end; `command` is the program, named when it could not be executed; `output_bytes` is
    how much of each stream its sandbox was to keep.
    """

    result: ExecResult
    stdout: Stored = Stored()
    stderr: Stored = Stored()
    stop: Reason | None = None
    command: str = ""
    output_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Lost:
    """A started call about which the truth could not be had; what output arrived is kept, and marked truncated."""

    reason: Reason
    message: str
    stdout: Stored = Stored()
    stderr: Stored = Stored()


Outcome = Refused | Ended | Lost
