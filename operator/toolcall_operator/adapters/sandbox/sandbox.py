"""A sandbox as the port wants it, on the standing line to its supervisor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from toolcall_operator import errors, ports
from toolcall_operator.adapters.sandbox import messages, starting
from toolcall_operator.adapters.sandbox.connection import Answer
from toolcall_operator.adapters.sandbox.execution import SupervisedExecution
from toolcall_operator.adapters.sandbox.line import Line, Patience
from toolcall_operator.adapters.sandbox.link import Connector, Identity
from toolcall_operator.core.outcomes import ExecRequest

_NOTHING_TO_DO = frozenset({"UnknownCall", "AcknowledgedCall"})


class SupervisedSandbox:
    """Implements `ports.Sandbox` for one life of a supervisor; requests outlive a connection that breaks under them.

    `root` is the folder below which the folders of the sandbox stand: empty for a pod.
    """

    def __init__(self, line: Line, root: str = "") -> None:
        self._line = line
        self._root = root

    @classmethod
    async def open(
        cls, connector: Connector, identity: Identity, patience: Patience, root: str = ""
    ) -> SupervisedSandbox:
        """The sandbox that `connector` reaches.

        Raises:
            Unavailable: one attempt to reach it failed.
            SandboxLost: it cannot be reached ever.
            ProtocolBroken: the supervisor refuses us, or is none.
        """
        line = Line(connector, identity, patience)
        await line.connect()
        return cls(line, root)

    @property
    def boot_id(self) -> str:
        """Names this life of the sandbox."""
        return self._line.boot_id

    @property
    def hello(self) -> messages.Hello:
        """What the supervisor last said of itself."""
        return self._line.hello

    @property
    def lost(self) -> bool:
        """Whether this life of the sandbox is known to be over."""
        return self._line.lost

    @asynccontextmanager
    async def start(self, request: ExecRequest) -> AsyncIterator[ports.Execution]:
        """Start a call, or attach to it; see `ports.Sandbox.start`."""
        execution = SupervisedExecution(self._line, starting.below(self._root, request))
        try:
            await execution.begin()
            yield execution
        finally:
            await execution.leave()

    async def kill(self, uid: str) -> None:
        """Have the processes of a call ended; see `ports.Sandbox.kill`."""
        answer = await self._request("kill", uid=uid)
        if isinstance(answer, messages.Denied) and answer.code not in _NOTHING_TO_DO:
            raise _refusal("kill", answer)

    async def acknowledge(self, uid: str) -> None:
        """Let the supervisor drop a call's output; see `ports.Sandbox.acknowledge`.

        Raises:
            Unavailable: the call still runs.
        """
        answer = await self._request("acknowledge", uid=uid)
        if isinstance(answer, messages.Denied) and answer.code not in _NOTHING_TO_DO:
            raise _refusal("acknowledge", answer)

    async def calls(self) -> Mapping[str, ports.CallState]:
        """Every call this boot knows, by UID."""
        answer = await self._request("list")
        if not isinstance(answer, messages.Calls):
            raise _refusal("list", answer)
        try:
            return {uid: ports.CallState(state) for uid, state in answer.states.items()}
        except ValueError as error:
            raise errors.ProtocolBroken("the supervisor lists a call in an unknown state") from error

    async def close(self) -> None:
        """Let go of the sandbox; its processes go on as long as their supervisor does."""
        await self._line.close()

    async def _request(self, kind: str, **fields: str) -> Answer:
        """Ask until answered: each of these requests may be carried out twice without harm.

        Raises:
            Unavailable: no answer came within the patience for requests.
        """
        until = asyncio.get_running_loop().time() + self._line.patience.request
        while True:
            connection = await self._line.connection(until)
            try:
                async with asyncio.timeout_at(until):
                    return await connection.request(kind, **fields)
            except ConnectionResetError:
                continue
            except TimeoutError:
                raise errors.Unavailable(f"the supervisor did not answer {kind} in time") from None


def _refusal(kind: str, answer: Answer) -> errors.OperatorError:
    """What a refusal means for who asked: a running call or a newer leader may pass, the rest is our own breach."""
    if not isinstance(answer, messages.Denied):
        return errors.ProtocolBroken(f"the supervisor answered {kind} with something else")
    what = f"{kind} refused, {errors.foreign(answer.code)}: {errors.foreign(answer.message)}"
    return errors.Unavailable(what) if answer.code in {"StillRunning", "StaleEpoch"} else errors.ProtocolBroken(what)
