"""What the reconcile needs of the outside, as small protocols; adapters and fakes implement them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch, ToolCallStatus
from toolcall_operator.core.credentials.references import Reference, Requester
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Request
from toolcall_operator.core.outcomes import ExecRequest, ExecResult, Refused
from toolcall_operator.core.policy.probing import Probe, Version
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.session.activity import Activity
from toolcall_operator.core.world import World


class CallState(StrEnum):
    """What a sandbox's supervisor knows of a call."""

    RUNNING = "Running"
    EXITED = "Exited"
    ACKNOWLEDGED = "Acknowledged"


class Execution(Protocol):
    """One started process and its output; iterating gives back the credit that lets more output come."""

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        """The stored head of standard output, in order and without gaps, ended by the process's end."""
        ...

    @property
    def stderr(self) -> AsyncIterator[bytes]:
        """The same for standard error."""
        ...

    async def result(self) -> ExecResult:
        """How the process ended, once both streams were read to their end.

        Raises:
            SandboxLost: the sandbox cannot answer for the call any more.
        """
        ...


class Sandbox(Protocol):
    """The place where the calls of one session run; `boot_id` changes when its processes are gone."""

    @property
    def boot_id(self) -> str:
        """Names this life of the sandbox."""
        ...

    def start(self, request: ExecRequest) -> AbstractAsyncContextManager[Execution]:
        """Start the process of a call, or attach to it from its first byte when this boot knows its UID already.

        Leaving the context detaches; it never ends the process.

        Raises:
            Unavailable: nothing was started, and nothing is remembered of it.
            SandboxLost: the sandbox is gone, restarted, or has acknowledged this UID before.
        """
        ...

    async def kill(self, uid: str) -> None:
        """Have every process of a call ended: TERM, grace, KILL. Returns at once; unknown and ended calls are fine."""
        ...

    async def acknowledge(self, uid: str) -> None:
        """Tell the supervisor that the outcome is kept elsewhere: it drops the output and keeps a tombstone."""
        ...

    async def calls(self) -> Mapping[str, CallState]:
        """Every call this boot knows, by UID."""
        ...


class Sandboxes(Protocol):
    """Gives access to the sandboxes of sessions."""

    def open(
        self, session: SpiceboxSession, session_class: SpiceboxClass, *, claim: Dispatch | None = None
    ) -> AbstractAsyncContextManager[Sandbox]:
        """The session's sandbox, started if need be; with a call's `claim` the one that the call was given to.

        Raises:
            Unavailable: it could not be reached or started.
            SandboxLost: it has ended; the one of a claim has no successor.
        """
        ...


class Artifacts(Protocol):
    """Keeps bytes under keys; `put` overwrites."""

    async def put(self, key: str, body: AsyncIterator[bytes]) -> str:
        """Store `body` under `key`, and return the reference under which it can be had again.

        Raises:
            Unavailable: the store did not take it.
        """
        ...


class Broker(Protocol):
    """Makes credentials of references."""

    async def resolve(self, references: Sequence[Reference], requester: Requester) -> tuple[Hidden, ...] | Refused:
        """The credentials, one for each reference and in their order, as they are now; or why one cannot be had.

        A Secret that was changed before this was asked is used as it is since.

        Raises:
            Unavailable: Secrets cannot be read now.
        """
        ...


class Secrets(Protocol):
    """Where Secrets are kept."""

    async def read(self, namespace: str, name: str) -> SecretObject | None:
        """The Secret as it is now, if it is there.

        Raises:
            Unavailable: nobody knows.
            Rejected: we may not read it.
        """
        ...

    async def write(self, secret: SecretObject, data: Mapping[str, bytes | None]) -> SecretObject:
        """Set these keys of a Secret, remove those that are None, and leave the others; it is then as returned.

        Raises:
            Superseded: it is not as `secret` any more; nothing was written.
            Gone: it is no more; one of the same name is another one.
            Unavailable: it may or may not have been written.
            Rejected: we may not write it.
        """
        ...


class Egress(Protocol):
    """Sends requests to servers outside; every other way out is closed."""

    async def send(self, request: Request) -> Answer:
        """The answer, whatever its status; redirects are not followed.

        Raises:
            Denied: it must not be sent, for where it goes or what it holds; nothing was sent.
            Unavailable: there was no whole answer in time, or it is too large. The text names the host, and no more.
        """
        ...


class Cluster(Protocol):
    """Where calls come from and where their status is kept."""

    async def observe(self, call: ToolCall, *, live: bool = False) -> World:
        """Everything that decides about this call, in one frozen value; `live`: asked for anew, not remembered.

        Raises:
            Unavailable: it could not be read.
        """
        ...

    async def changed(self, call: ToolCall) -> None:
        """Return when what decides about this call may have changed since it was last observed."""
        ...

    async def report(self, call: ToolCall, status: ToolCallStatus) -> ToolCall:
        """Keep `status`, and return the call that carries it.

        Raises:
            Unavailable: it could not be kept, as far as anyone knows; the same report may be made again.
            Rejected: it will not be kept as it is.
            Gone: the call is no more.
            Superseded: somebody else has claimed or finished the call.
        """
        ...

    async def reread(self, call: ToolCall) -> ToolCall:
        """The call as it stands.

        Raises:
            Unavailable: it could not be read.
            Gone: the call is no more.
        """
        ...

    async def hold(self, call: ToolCall) -> None:
        """Keep the call's object until it is released, also when somebody deletes it.

        Raises:
            Unavailable: it may be deleted at any time.
            Gone: the call is no more, or is being deleted already.
            Superseded: somebody has ended it.
        """
        ...

    async def release(self, call: ToolCall) -> None:
        """Let the object of a call go; one that is not held, or is gone, is fine.

        Raises:
            Unavailable: it may still be held.
        """
        ...

    def remark(self, call: ToolCall, reason: Reason, message: str) -> None:
        """Tell people who watch the cluster of a refusal or a fault; if that does not work, nothing happens."""
        ...


class Slots(Protocol):
    """Decides whose turn it is to run."""

    def of(
        self, session: SpiceboxSession, session_class: SpiceboxClass, *, claimed: bool, alone: bool = False
    ) -> AbstractAsyncContextManager[None]:
        """A turn of `session`; entering waits for it, leaving gives it back. A `claimed` call has had its turn.

        While a call runs `alone`, no other turn of its session is given, and it gets none while another has one.
        """
        ...

    def started(self, session_uid: str) -> None:
        """A call of a session was claimed in its turn: it counts from now on."""
        ...

    def activity(self, session_uid: str) -> Activity:
        """What a session's calls did since this process began, but for those that wait."""
        ...

    def forget(self, session_uid: str) -> None:
        """Drop what is remembered of a session that is no more."""
        ...


class Clock(Protocol):
    """Tells the time of day, in UTC."""

    def __call__(self) -> datetime:
        """Now."""
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """What a program said of its version, and when."""

    version: Version
    at: datetime


Asked = dict[tuple[str, Probe], asyncio.Future[Told]]
"""What was asked, and is being asked, by the life of a sandbox (its boot ID) and the question."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside, chosen once at start.

    `fault_budget` is how long a fault of ours is put up with before a call is claimed; `retention` how long a
    supervisor keeps an ended call for somebody to ask. `asked` is what programs said of their versions: the one memory
    that calls have in common.
    """

    cluster: Cluster
    sandboxes: Sandboxes
    broker: Broker
    artifacts: Artifacts
    slots: Slots
    now: Clock
    operator: str
    epoch: int = 0
    fault_budget: timedelta = timedelta(minutes=2)
    retention: timedelta = timedelta(minutes=10)
    asked: Asked = field(default_factory=dict, compare=False, repr=False)
