"""One call on a sandbox's line: started once, followed across breaks, each byte of its output once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import NoReturn

from toolcall_operator import errors
from toolcall_operator.adapters.sandbox import frames, messages, output, starting
from toolcall_operator.adapters.sandbox.connection import Connection
from toolcall_operator.adapters.sandbox.line import Line
from toolcall_operator.core.outcomes import ExecRequest, ExecResult
from toolcall_operator.core.reasons import Reason

_MILLISECOND = timedelta(milliseconds=1)


class SupervisedExecution:
    """Implements `ports.Execution`.

    A line that breaks is followed by the same `start` until it was answered once, and by `attach` after that.
    """

    def __init__(self, line: Line, request: ExecRequest) -> None:
        self._line = line
        self._request = request
        self._streams = output.Streams(self._give)
        self._connection: Connection | None = None
        self._channel = 0
        self._sent = False
        self._known = False
        self._answer: asyncio.Future[messages.Started | messages.Denied] | None = None
        self._result: asyncio.Future[ExecResult] = asyncio.get_running_loop().create_future()
        self._follower: asyncio.Task[None] | None = None
        self._until = asyncio.get_running_loop().time() + line.patience.request
        self._heard = 0.0
        self._watch: asyncio.TimerHandle | None = None

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        """The stored head of standard output; it ends with the process, and where it is when the sandbox is lost."""
        return self._streams.stdout

    @property
    def stderr(self) -> AsyncIterator[bytes]:
        """The same for standard error."""
        return self._streams.stderr

    async def result(self) -> ExecResult:
        """How the process ended; awaited before the streams are read, it waits for the process all the same."""
        if self._result.done():
            return self._result.result()
        self._streams.result_awaited = True
        self._streams.relieve()
        return await asyncio.shield(self._result)

    async def begin(self) -> None:
        """Have the process started, or the channel attached when its sandbox knows it.

        Raises:
            Unavailable: nothing was started.
            SandboxLost: the sandbox cannot answer for the call.
        """
        while True:
            connection = await self._reach()
            asked_before = self._sent
            try:
                answer = await self._ask(connection)
            except ConnectionResetError:
                continue
            if isinstance(answer, messages.Started):
                return
            if not (answer.code == "StaleEpoch" and asked_before):
                self._refuse(answer)
            # The first start may have been carried out before a newer operator came: attaching is harmless, and tells.
            self._known = True

    async def leave(self) -> None:
        """Detach; the process goes on."""
        if self._watch is not None:
            self._watch.cancel()
        if self._follower is not None:
            self._follower.cancel()
            await asyncio.gather(self._follower, return_exceptions=True)
        self._detach()
        self._streams.end()

    def on_data(self, data: frames.Data) -> None:
        """Output that arrived: a `connection.Channel` is told so."""
        self._heard = asyncio.get_running_loop().time()
        match data.stream:
            case frames.STDOUT:
                self._streams.take(self._streams.stdout, data.offset, data.payload)
            case frames.STDERR:
                self._streams.take(self._streams.stderr, data.offset, data.payload)
            case _:
                raise errors.ProtocolBroken("the supervisor sent standard input")

    def on_message(self, message: messages.Started | messages.Exit | messages.Denied) -> None:
        """The answer to `start` or `attach`, or the end of the call."""
        if isinstance(message, messages.Exit):
            self._exited(message)
        elif self._answer is None or self._answer.done():
            raise errors.ProtocolBroken("the supervisor answered what nobody asked")
        else:
            # Noted here, not where the answer is awaited: output, exit or a break may follow before that task runs.
            self._known = self._known or isinstance(message, messages.Started)
            self._answer.set_result(message)

    def on_break(self) -> None:
        """The connection is gone: whoever waits for an answer asks again, and a call that runs is followed."""
        self._connection = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the connection ended before the answer"))
        elif self._known and not self._result.done():
            self._follower = asyncio.create_task(self._follow())

    async def _reach(self) -> Connection:
        """A connection, or what its absence means: as long as nothing was sent, nothing happened; then nobody knows."""
        try:
            return await self._line.connection(self._until)
        except errors.Unavailable as unavailable:
            if not self._sent:
                raise
            raise errors.SandboxLost(self._line.unreached, str(unavailable)) from unavailable

    async def _ask(self, connection: Connection) -> messages.Started | messages.Denied:
        """Send `attach` for a call known to run, else its input and `start`; ConnectionResetError without an answer."""
        self._connection = connection
        self._channel = connection.open_channel(self)
        # Made before anything is sent: a connection that breaks in mid-input must find somebody to tell.
        self._answer = asyncio.get_running_loop().create_future()
        try:
            if self._known:
                connection.send({"type": "attach", **self._view()})
            else:
                await connection.send_input(self._channel, self._request.stdin)
                connection.send(starting.start(self._request, self._view()))
                self._note_sent()
            return await self._answer
        finally:
            self._forget(self._answer)

    def _note_sent(self) -> None:
        """From the first `start` on, the truth can be had until its deadline, grace and retention have passed."""
        if not self._sent:
            self._sent = True
            lasts = (self._request.timeout + self._request.grace).total_seconds() + self._line.patience.retention
            self._until = asyncio.get_running_loop().time() + lasts
            self._watch = asyncio.get_running_loop().call_at(self._until, self._overdue)

    def _overdue(self) -> None:
        """A call cannot last so long. Its end is still due while output flows, or waits for a slow reader of ours.

        A `start` that was never answered may have been carried out: it is as lost as a call. Without a connection,
        `_reach` tells that nobody could be asked.
        """
        loop, retention = asyncio.get_running_loop(), self._line.patience.retention
        if self._result.done():
            return
        if self._connection is None or self._streams.unread or loop.time() - self._heard < retention:
            self._watch = loop.call_later(retention, self._overdue)
        else:
            what = "the sandbox answers, but has not told the end of the call long after its deadline"
            self._lose(errors.SandboxLost(Reason.TRANSPORT_LOST, what))

    def _detach(self) -> None:
        if self._connection is not None:
            self._connection.leave_channel(self._channel)
            self._connection = None

    @staticmethod
    def _forget(answer: asyncio.Future[messages.Started | messages.Denied]) -> None:
        """A broken connection may have been noticed by sending already; then nobody asks the answer for its error."""
        if answer.done() and not answer.cancelled():
            answer.exception()

    def _view(self) -> dict[str, object]:
        return {
            "channel": self._channel,
            "uid": self._request.uid,
            "stdoutOffset": self._streams.stdout.received,
            "stderrOffset": self._streams.stderr.received,
            "window": self._streams.window(),
        }

    @staticmethod
    def _refuse(answer: messages.Denied) -> NoReturn:
        what = errors.foreign(answer.message)
        match answer.code:
            case "Unavailable":
                raise errors.Unavailable(f"the sandbox could not start the call: {what}")
            case "StaleEpoch":
                raise errors.Unavailable("a newer operator leads this sandbox")
            case "AcknowledgedCall" | "UnknownCall":
                raise errors.SandboxLost(
                    Reason.TRANSPORT_LOST, f"the sandbox keeps nothing of the call any more: {what}"
                )
            case code:
                raise errors.ProtocolBroken(f"the supervisor refuses the call, {errors.foreign(code)}: {what}")

    async def _follow(self) -> None:
        """Attach again, from the bytes that have arrived, until it worked or the sandbox is lost."""
        try:
            await self.begin()
        except errors.SandboxLost as lost:
            self._lose(lost)
        except errors.OperatorError as error:
            self._lose(errors.SandboxLost(Reason.TRANSPORT_LOST, str(error)))

    def _lose(self, lost: errors.SandboxLost) -> None:
        if not self._result.done():
            self._result.set_exception(lost)
            self._result.exception()  # Asked for by `result`; a caller who never asks has left.
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(errors.SandboxLost(lost.reason, str(lost)))
        self._detach()  # What comes too late breaks no protocol.
        self._streams.end()

    def _exited(self, message: messages.Exit) -> None:
        arrived = (self._streams.stdout.received, self._streams.stderr.received)
        if not self._known or arrived != (message.stdout.stored, message.stderr.stored):
            raise errors.ProtocolBroken("the supervisor ended a call before its output")
        self._connection = None
        self._result.set_result(_result(message))
        self._streams.end()

    def _give(self, size: int) -> None:
        if self._connection is not None and not self._connection.ended.is_set():
            self._connection.send({"type": "credit", "channel": self._channel, "bytes": size})


def _result(message: messages.Exit) -> ExecResult:
    return ExecResult(
        cause=message.cause,
        code=message.code,
        signal=message.signal,
        step=message.step or "",
        error=errors.foreign(message.error or ""),
        duration=message.duration_ms * _MILLISECOND,
        stdout=message.stdout,
        stderr=message.stderr,
    )
