"""Sandboxes that are pods: to each one standing line, made by whoever needs it first, and closed when long unused."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress

from toolcall_operator import errors, ports
from toolcall_operator.adapters.sandbox import messages
from toolcall_operator.adapters.sandbox.fates import Fate, PodSandbox
from toolcall_operator.adapters.sandbox.line import Line, Patience
from toolcall_operator.adapters.sandbox.link import Connector, Identity, Link
from toolcall_operator.adapters.sandbox.podlink import lost
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcallstatus import Dispatch
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.session.known import Greeting

PATIENCE = Patience(opening=30.0)
"""A supervisor holds its hello back until the NetworkPolicy of its pod holds, for at most 20 s."""
_IDLE_SECONDS = 300.0
_LAST_WORDS_SECONDS = 2.0
_SPREAD_SECONDS = 0.01


def channel_key(operator_key: bytes, session_uid: str) -> bytes:
    """The 32 bytes that a session's supervisor knows its operator by."""
    return hmac.digest(operator_key, session_uid.encode(), "sha256")


def key_hash(operator_key: bytes, session_uid: str) -> str:
    """All that the pod of a session sees of its key."""
    return hashlib.sha256(channel_key(operator_key, session_uid)).hexdigest()


class Standing:
    """A line to one pod, and how many use it now; `idle` closes it when nobody has for a while."""

    def __init__(self, line: Line, epoch: int, pod: PodView) -> None:
        self.line = line
        self.epoch = epoch
        self.pod = pod
        self.fate = Fate(pod)
        self.users = 0
        self.closed = False
        self.idle: asyncio.TimerHandle | None = None


class PodSandboxes:
    """Implements `ports.Sandboxes` and `sessions.ports.Greeter`; `aclose` lets go of every pod.

    `newest` finds the pod in which a session's calls run now; `claimed` asks for the one that a call was given to, and
    raises SandboxLost when it has ended. `epoch` is that of our leadership: a line that was made under another is not
    used again.
    """

    def __init__(  # noqa: PLR0913 - what it finds pods with, what it shows them, and how long it waits for them
        self,
        connector: Callable[[PodView], Connector],
        newest: Callable[[SpiceboxSession], PodView | None],
        operator_key: bytes,
        epoch: Callable[[], int],
        *,
        claimed: Callable[[SpiceboxSession, Dispatch], Awaitable[PodView]],
        patience: Patience = PATIENCE,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._connector = connector
        self._newest = newest
        self._claimed = claimed
        self._operator_key = operator_key
        self._epoch = epoch
        self._patience = patience
        self._idle_seconds = idle_seconds
        self._crowd = Crowd()
        self._standing: dict[str, Standing] = {}
        self._endings: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(
        self,
        session: SpiceboxSession,
        session_class: SpiceboxClass,  # noqa: ARG002 - the port's
        *,
        claim: Dispatch | None = None,
    ) -> AsyncIterator[ports.Sandbox]:
        """The session's sandbox, while a supervisor answers in its pod; a first hello under way is waited for.

        A call that was given to a pod is answered for by that one alone, be it about to end.

        Raises:
            Unavailable: there is no such pod yet, or it does not answer now.
            SandboxLost: the pod has ended, and is not replaced yet; that of a claim never is.
            ProtocolBroken: its supervisor refuses us, or is none.
        """
        pod = await self._pod_of(session, claim)
        standing = self._to(pod)
        standing.users += 1
        try:
            await self._reached(standing)
            yield PodSandbox(standing.line, standing.fate)
        finally:
            standing.users -= 1
            self._rest(pod.uid, standing)

    async def greet(self, pod: PodView, session: SpiceboxSession) -> Greeting:  # noqa: ARG002 - the port's
        """What the supervisor of a pod says of itself; the line to it stands from then on.

        Raises:
            Unavailable: it does not answer now.
            SandboxLost: it never will.
            ProtocolBroken: it refuses us, or is none.
        """
        standing = self._to(pod)
        hello = await self._reached(standing)
        return Greeting(
            boot_id=hello.boot_id,
            supervisor_version=hello.supervisor,
            landlock_abi=hello.landlock_abi,
            isolation=hello.isolation,
            network=hello.network,
        )

    def opened(self, pod: PodView) -> SupervisedSandbox:
        """The sandbox in a pod; its requests connect if need be."""
        return SupervisedSandbox(self._to(pod).line)

    async def leave(self, pod_uid: str) -> None:
        """Close the line to a pod unless a call uses it; calls in the pod go on."""
        standing = self._standing.get(pod_uid)
        if standing is not None and not standing.users:
            del self._standing[pod_uid]
            await self._close(standing)

    def pod_changed(self, pod: PodView, *, gone: bool) -> None:
        """A pod was seen: if it has ended, or is gone, its calls end now and for that reason."""
        if standing := self._standing.get(pod.uid):
            standing.fate.see(pod)
        known = lost(pod)
        if known is None and gone:
            known = errors.SandboxLost(Reason.SANDBOX_GONE, "the pod of the sandbox is gone")
        if known is not None and (standing := self._standing.pop(pod.uid, None)):
            self._later(self._end(standing, known))

    async def aclose(self) -> None:
        """Let go of every pod; nothing in them ends."""
        for ending in self._endings:
            ending.cancel()
        standing, self._standing = list(self._standing.values()), {}
        await asyncio.gather(*self._endings, *map(self._close, standing), return_exceptions=True)

    async def _pod_of(self, session: SpiceboxSession, claim: Dispatch | None) -> PodView:
        """The pod that a claim names, else the newest."""
        if claim is not None and claim.pod_uid and claim.pod_name:
            standing = self._standing.get(claim.pod_uid)
            if standing is not None and not standing.line.lost:
                return standing.pod
            return await self._claimed(session, claim)
        if pod := self._newest(session):
            return pod
        raise errors.Unavailable(f"SpiceboxSession {session.metadata.name} has no sandbox that runs")

    def _to(self, pod: PodView) -> Standing:
        """What stands to a pod, or the beginning of it."""
        standing, epoch = self._standing.get(pod.uid), self._epoch()
        if standing is not None and standing.epoch == epoch and not standing.line.lost:
            self._rest(pod.uid, standing)
            return standing
        if standing is not None and not standing.users:  # one that is used is closed when it is no more
            self._later(self._close(standing))
        identity = Identity(channel_key(self._operator_key, pod.session_uid), epoch)
        connector = Paced(self._connector(pod), self._crowd)
        standing = self._standing[pod.uid] = Standing(Line(connector, identity, self._patience), epoch, pod)
        self._rest(pod.uid, standing)
        return standing

    async def _reached(self, standing: Standing) -> messages.Hello:
        """What the supervisor said; one that was met before answers soon, or there is a trouble to be shown."""
        patience = self._patience
        seconds = patience.mending if standing.line.met else patience.opening + patience.request
        return (await standing.line.connection(asyncio.get_running_loop().time() + seconds)).hello

    def _rest(self, pod_uid: str, standing: Standing) -> None:
        """The line was used; if nobody does any more, its time runs."""
        if standing.closed:
            return
        if standing.idle is not None:
            standing.idle.cancel()
        loop = asyncio.get_running_loop()
        standing.idle = loop.call_later(self._idle_seconds, self._retire, pod_uid, standing)

    def _retire(self, pod_uid: str, standing: Standing) -> None:
        if standing.users:
            self._rest(pod_uid, standing)
        else:
            if self._standing.get(pod_uid) is standing:
                del self._standing[pod_uid]
            self._later(self._close(standing))

    async def _end(self, standing: Standing, known: errors.SandboxLost) -> None:
        """What the supervisor said last may still be on its way; where the node is dead, nothing is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_SECONDS):
                await standing.line.quiet()
        await standing.line.lose(known)
        await self._close(standing)

    async def _close(self, standing: Standing) -> None:
        standing.closed = True
        if standing.idle is not None:
            standing.idle.cancel()
        await standing.line.close()

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)


class Crowd:
    """How many connect at this moment."""

    def __init__(self) -> None:
        self.size = 0


class Paced:
    """A `link.Connector` that waits a little by chance when many connect at once: a node starts few execs a second."""

    def __init__(self, connector: Connector, crowd: Crowd) -> None:
        self._connector = connector
        self._crowd = crowd

    async def connect(self) -> Link:
        """A link, soon; alone, at once."""
        others = self._crowd.size
        self._crowd.size += 1
        try:
            await asyncio.sleep(random.uniform(0, others * _SPREAD_SECONDS))  # noqa: S311 - guards nothing
            return await self._connector.connect()
        finally:
            self._crowd.size -= 1
