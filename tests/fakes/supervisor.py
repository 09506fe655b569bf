"""A supervisor without processes: it speaks the protocol in memory, at once, and breaks off where it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from toolcall_operator import errors
from toolcall_operator.adapters.sandbox import frames
from toolcall_operator.adapters.sandbox.link import Identity, Link
from toolcall_operator.core.reasons import Reason

KEY = b"k" * 32
IDENTITY = Identity(KEY, epoch=1, client="test")


@dataclass
class FakeCall:
    """One call: all it will ever write, and its exit; a call that is not `over` goes on until it is killed."""

    stdout: bytes = b""
    stderr: bytes = b""
    code: int | None = 0
    cause: str = "Exited"
    over: bool = True
    acknowledged: bool = False

    @property
    def state(self) -> str:
        return "Acknowledged" if self.acknowledged else "Exited" if self.over else "Running"

    def exit(self, channel: int) -> dict[str, object]:
        sizes = {
            "stdout": {"size": len(self.stdout), "stored": len(self.stdout)},
            "stderr": {"size": len(self.stderr), "stored": len(self.stderr)},
        }
        ended = {"cause": self.cause, "code": self.code, "signal": None, "error": None, "step": None, "durationMs": 7}
        return {"type": "exit", "channel": channel, **ended, **sizes}


@dataclass
class Break:
    """Where a connection breaks: after so many bytes that the supervisor sent, or received; None is never."""

    after_sent: int | None = None
    after_received: int | None = None


@dataclass
class FakeSupervisor:
    """A `link.Connector`: `plan` says what an argv does, the n-th connection breaks at the n-th of `breaks`."""

    plan: Callable[[list[str]], FakeCall] = lambda _: FakeCall()
    breaks: list[Break] = field(default_factory=list)
    refuse: dict[str, str] = field(default_factory=dict)
    piece: int = 32 << 10
    boot_id: str = "boot-1"
    key: bytes = KEY
    network: str | None = None
    hello_after: float = 0.0
    epoch: int = 0
    gone: bool = False
    unreachable: int = 0
    newer_epoch_after_start: bool = False
    calls: dict[str, FakeCall] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    inputs: dict[str, bytes] = field(default_factory=dict)
    received: list[Mapping[str, object]] = field(default_factory=list)
    connections: list[FakeConnection] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def connect(self) -> Link:
        """A connection in memory."""
        if self.gone:
            raise errors.SandboxLost(Reason.SANDBOX_GONE, "gone")
        if self.unreachable > 0:
            self.unreachable -= 1
            raise errors.Unavailable("unreachable")
        where = self.breaks.pop(0) if self.breaks else Break()
        connection = FakeConnection(self, where)
        self.connections.append(connection)
        self.changed.set()
        return Link(connection.reader, connection, connection.close)

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait until something that was sent, or a new connection, makes `seen` true."""
        while not seen():
            self.changed.clear()
            await self.changed.wait()

    def finish(self, uid: str) -> None:
        """Let a call that goes on end, and tell everyone."""
        self.calls[uid].over = True
        for connection in self.connections:
            connection.pump()

    def start(self, message: Mapping[str, object], stdin: bytes) -> bool:
        uid, argv = message["uid"], message["argv"]
        assert isinstance(uid, str)
        assert isinstance(argv, list)
        if uid in self.calls:
            return True
        self.starts.append(uid)
        self.inputs[uid] = stdin
        self.calls[uid] = self.plan(argv)
        if self.newer_epoch_after_start:
            self.epoch += 1
        return False


@dataclass
class _Channel:
    call: FakeCall
    offsets: dict[int, int]
    credit: int


class FakeConnection:
    """The supervisor's end of one connection, and the `link.Writer` of the other."""

    def __init__(self, supervisor: FakeSupervisor, where: Break) -> None:
        self.reader = asyncio.StreamReader()
        self.silent = False
        self._supervisor = supervisor
        self._break = where
        self._decoder = frames.Decoder()
        self._channels: dict[int, _Channel] = {}
        self._stdin: dict[int, bytes] = {}
        self.sent = 0
        self.payload = 0
        self.received = 0
        self._epoch = -1
        self.broken = False

    def write(self, data: bytes) -> None:
        """Take what the operator sends, and answer at once."""
        if self.broken or self.silent:
            return
        if self._break.after_received is not None:
            data = data[: max(0, self._break.after_received - self.received)]
        self.received += len(data)
        for frame in self._decoder.feed(data):
            self._take(frame)
        if self._break.after_received is not None and self.received >= self._break.after_received:
            self.cut()

    async def drain(self) -> None:
        """Nothing waits here; others have a turn."""
        await asyncio.sleep(0)
        if self.broken:
            raise ConnectionResetError("broken")

    async def close(self) -> None:
        self.cut()

    def cut(self) -> None:
        """Break off."""
        if not self.broken:
            self.broken = True
            self.reader.feed_eof()

    def pump(self) -> None:
        """Send what credit allows, in turns, and exits behind it."""
        sent = True
        while sent and not self.broken:
            sent = max([self._piece(number) for number in list(self._channels)], default=False)

    def raw(self, data: bytes) -> None:
        """Send bytes, as far as the connection lasts."""
        if self.broken or self.silent:
            return
        if self._break.after_sent is not None:
            data = data[: max(0, self._break.after_sent - self.sent)]
        self.sent += len(data)
        self.reader.feed_data(data)
        if self._break.after_sent is not None and self.sent >= self._break.after_sent:
            self.cut()

    def send(self, message: Mapping[str, object]) -> None:
        self.raw(frames.encode_control(message))

    def _take(self, frame: frames.Frame) -> None:
        if isinstance(frame, frames.Data):
            assert frame.offset == len(self._stdin.get(frame.channel, b""))
            self._stdin[frame.channel] = self._stdin.get(frame.channel, b"") + frame.payload
            return
        message = frame.message
        self._supervisor.received.append(message)
        self._supervisor.changed.set()
        kind = str(message["type"])
        if kind == "refused":
            self.cut()
            return
        if (self._epoch < 0) != (kind == "hello"):
            raise AssertionError("hello comes first, and once")
        address: dict[str, object] = {name: message[name] for name in ("channel", "id") if name in message}
        if code := self._refusal(kind, message):
            self.send({"type": "refused", **address, "code": code, "message": f"{kind} is refused"})
        else:
            getattr(self, f"_{kind}")(message, address)
        self.pump()

    def _refusal(self, kind: str, message: Mapping[str, object]) -> str:
        known = self._supervisor.calls
        if kind in self._supervisor.refuse:
            return self._supervisor.refuse[kind]
        if kind in {"start", "kill", "acknowledge"} and self._epoch < self._supervisor.epoch:
            return "StaleEpoch"
        uid = message.get("uid")
        if isinstance(uid, str) and uid in known and known[uid].acknowledged:
            return "AcknowledgedCall"
        if isinstance(uid, str) and uid not in known and kind != "start":
            return "UnknownCall"
        return "StillRunning" if kind == "acknowledge" and not known[str(uid)].over else ""

    def _hello(self, message: Mapping[str, object], _address: object) -> None:
        if message["key"] != self._supervisor.key.hex():
            self.send({"type": "refused", "code": "BadKey", "message": "not the key"})
            self.cut()
            return
        epoch = message["epoch"]
        assert isinstance(epoch, int)
        self._epoch = epoch
        self._supervisor.epoch = max(self._supervisor.epoch, epoch)
        about = {"version": 1, "bootID": self._supervisor.boot_id, "supervisor": "0", "landlockABI": 7}
        network = {"network": self._supervisor.network} if self._supervisor.network else {}
        hello = {"type": "hello", **about, "isolation": "Landlock", **network}
        if self._supervisor.hello_after:
            asyncio.get_running_loop().call_later(self._supervisor.hello_after, self.send, hello)
        else:
            self.send(hello)

    def _start(self, message: Mapping[str, object], address: Mapping[str, object]) -> None:
        number = message["channel"]
        assert isinstance(number, int)
        stdin = self._stdin.pop(number, b"")
        assert message["stdinSize"] == len(stdin)
        self._show(message, address, attached=self._supervisor.start(message, stdin))

    def _attach(self, message: Mapping[str, object], address: Mapping[str, object]) -> None:
        self._show(message, address, attached=True)

    def _show(self, message: Mapping[str, object], address: Mapping[str, object], *, attached: bool) -> None:
        number, out, err, window = (message[name] for name in ("channel", "stdoutOffset", "stderrOffset", "window"))
        assert isinstance(number, int)
        assert isinstance(out, int)
        assert isinstance(err, int)
        assert isinstance(window, int)
        call = self._supervisor.calls[str(message["uid"])]
        self._channels[number] = _Channel(call, {frames.STDOUT: out, frames.STDERR: err}, window)
        self.send({"type": "started", **address, "attached": attached})

    def _detach(self, message: Mapping[str, object], address: Mapping[str, object]) -> None:
        self._channels.pop(int(str(message["channel"])), None)
        self.send({"type": "detached", **address})

    def _credit(self, message: Mapping[str, object], _address: object) -> None:
        channel = self._channels.get(int(str(message["channel"])))
        if channel is not None:
            channel.credit += int(str(message["bytes"]))

    def _kill(self, message: Mapping[str, object], address: Mapping[str, object]) -> None:
        call = self._supervisor.calls[str(message["uid"])]
        if not call.over:
            call.over, call.cause, call.code = True, "Killed", None
        self.send({"type": "killing", **address})

    def _acknowledge(self, message: Mapping[str, object], address: Mapping[str, object]) -> None:
        self._supervisor.calls[str(message["uid"])].acknowledged = True
        self.send({"type": "acknowledged", **address})

    def _list(self, _message: object, address: Mapping[str, object]) -> None:
        calls = [{"uid": uid, "state": call.state} for uid, call in self._supervisor.calls.items()]
        self.send({"type": "calls", **address, "calls": calls})

    def _ping(self, _message: object, address: Mapping[str, object]) -> None:
        self.send({"type": "pong", **address})

    def _piece(self, number: int) -> bool:
        """Send one piece of each stream of a channel, or its exit; False when it has nothing to send now."""
        channel = self._channels[number]
        sent = False
        whole = {frames.STDOUT: channel.call.stdout, frames.STDERR: channel.call.stderr}
        for stream, text in whole.items():
            offset = channel.offsets[stream]
            piece = text[offset : offset + min(self._supervisor.piece, channel.credit, frames.PAYLOAD_LIMIT)]
            if piece:
                channel.offsets[stream] += len(piece)
                channel.credit -= len(piece)
                self.payload += len(piece)
                self.raw(frames.encode_data(number, stream, offset, piece))
                sent = True
        if not sent and channel.call.over and all(channel.offsets[s] >= len(text) for s, text in whole.items()):
            del self._channels[number]
            self.send(channel.call.exit(number))
            return True
        return sent
