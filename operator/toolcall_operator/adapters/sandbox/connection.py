"""One connection to a supervisor: its opening, its requests, its channels and its end."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from toolcall_operator import errors
from toolcall_operator.adapters.sandbox import frames, messages
from toolcall_operator.adapters.sandbox.link import Identity, Link

WINDOW = 256 << 10
_READ = 256 << 10
_SILENT_PINGS = 3


Answer = messages.Done | messages.Calls | messages.Denied


class Opening(NamedTuple):
    """What an exchange of hellos leaves: the supervisor's, and the decoder with what followed it."""

    hello: messages.Hello
    decoder: frames.Decoder


class Channel(Protocol):
    """Who listens on a channel; nothing here may block or raise but ProtocolBroken."""

    def on_data(self, data: frames.Data) -> None:
        """Output of the call."""
        ...

    def on_message(self, message: messages.Started | messages.Exit | messages.Denied) -> None:
        """The answer to `start` or `attach`, or the end."""
        ...

    def on_break(self) -> None:
        """The connection is gone, and this channel with it; what was sent last may or may not have arrived."""
        ...


class Connection:
    """An opened connection, which a task of its own reads; it ends once, with everyone on it told so.

    Requests on a connection that has ended raise ConnectionResetError.
    """

    def __init__(self, link: Link, opening: Opening, ping_seconds: float) -> None:
        self.hello = opening.hello
        self.ended = asyncio.Event()
        self.used = False
        self._link = link
        self._decoder = opening.decoder
        self._channels: dict[int, Channel | None] = {}
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._numbers = itertools.count(1)
        self._data_turn = asyncio.Lock()
        self._heard = False
        self._reading = asyncio.create_task(self._read())
        self._pinging = asyncio.create_task(self._ping(ping_seconds))

    @classmethod
    async def open(cls, link: Link, identity: Identity, ping_seconds: float, opening_seconds: float) -> Connection:
        """Exchange hellos over `link`, which the connection owns from here on.

        Raises:
            Unavailable: the link broke or stayed silent.
            ProtocolBroken: the supervisor refuses us, or is none.
        """
        try:
            async with asyncio.timeout(opening_seconds):
                return cls(link, await _opened(link, identity), ping_seconds)
        except TimeoutError:
            await link.close()
            raise errors.Unavailable(f"the supervisor did not answer within {opening_seconds:g} s") from None
        except BaseException:
            await link.close()
            raise

    async def close(self) -> None:
        """End the connection; channels and requests still open are told that it broke."""
        self._reading.cancel()
        self._pinging.cancel()
        await asyncio.gather(self._reading, self._pinging, return_exceptions=True)
        # A task that is cancelled before its first step never runs, and ends nothing.
        await self._end()

    def open_channel(self, channel: Channel) -> int:
        """A number that stands for `channel` on this connection."""
        number = next(self._numbers)
        self._channels[number] = channel
        return number

    def leave_channel(self, number: int) -> None:
        """Detach; whatever is still under way on the channel is dropped."""
        if not self.ended.is_set() and number in self._channels:
            self._channels[number] = None
            self.send({"type": "detach", "channel": number})

    def send(self, message: Mapping[str, object]) -> None:
        """Send a control frame, ahead of all data that waits."""
        if self.ended.is_set():
            raise ConnectionResetError("the connection to the supervisor has ended")
        self._link.writer.write(frames.encode_control(message))

    async def send_input(self, channel: int, payload: bytes) -> None:
        """Send all of standard input on a channel, in turns with other channels, at most a frame ahead of control."""
        view = memoryview(payload)
        for offset in range(0, len(payload), frames.PAYLOAD_LIMIT):
            async with self._data_turn:
                if self.ended.is_set():
                    raise ConnectionResetError("the connection to the supervisor has ended")
                chunk = view[offset : offset + frames.PAYLOAD_LIMIT]
                self._link.writer.write(frames.encode_data(channel, frames.STDIN, offset, chunk))
                await self._drained()

    async def _drained(self) -> None:
        try:
            await self._link.writer.drain()
        except OSError as error:
            raise ConnectionResetError("the connection to the supervisor broke") from error

    async def request(self, kind: str, **fields: str) -> Answer:
        """Ask, and wait for the answer."""
        number = next(self._numbers)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.send({"type": kind, "id": number, **fields})
        self._answers[number] = answer
        try:
            return await answer
        finally:
            # An answer that comes after its asker left is still expected: only a broken connection forgets it.
            if not answer.cancelled():
                self._answers.pop(number, None)

    async def _read(self) -> None:
        try:
            while chunk := await self._link.reader.read(_READ):
                self._heard = True
                for frame in self._decoder.feed(chunk):
                    self._take(frame)
        except errors.ProtocolBroken as broken:
            self._complain(broken)
        except OSError:
            pass  # A carrier that broke and one that ended are the same to everyone on it.
        finally:
            await self._end()

    def _take(self, frame: frames.Frame) -> None:
        if isinstance(frame, frames.Data):
            listener = self._listener(frame.channel)
            if listener is not None:
                listener.on_data(frame)
            return
        message = messages.parse(frame.message)
        match message:
            case messages.Done() | messages.Calls():
                self._answer(message.id, message)
            case messages.Denied(channel=None, id=int(number)):
                self._answer(number, message)
            case messages.Started() | messages.Exit() | messages.Detached() | messages.Denied(channel=int()):
                self._tell(message)
            case _:
                raise errors.ProtocolBroken("the supervisor sent a message out of its place")

    def _tell(self, message: messages.Started | messages.Exit | messages.Detached | messages.Denied) -> None:
        number = message.channel or 0
        listener = self._listener(number)
        if listener is None:
            # We left: only the answer to our detach frees the number, an exit may have crossed it.
            if isinstance(message, messages.Detached | messages.Denied):
                del self._channels[number]
            return
        if isinstance(message, messages.Detached):
            raise errors.ProtocolBroken("the supervisor detached a channel by itself")
        listener.on_message(message)
        # Only now: a listener that finds the message wrong is still to be told that the connection broke.
        if not isinstance(message, messages.Started):
            del self._channels[number]
        self.used = True

    def _listener(self, number: int) -> Channel | None:
        try:
            return self._channels[number]
        except KeyError:
            raise errors.ProtocolBroken("the supervisor spoke on a channel that is not open") from None

    def _answer(self, number: int, message: Answer) -> None:
        answer = self._answers.pop(number, None)
        if answer is None:
            raise errors.ProtocolBroken("the supervisor answered what nobody asked")
        if not answer.done():
            answer.set_result(message)

    def _complain(self, broken: errors.ProtocolBroken) -> None:
        self.send({"type": "refused", "code": "ProtocolError", "message": str(broken)})

    async def _ping(self, seconds: float) -> None:
        """Ping until nothing at all is heard for a few pings."""
        silent = 0
        while silent < _SILENT_PINGS:
            await asyncio.sleep(seconds)
            silent = 0 if self._heard else silent + 1
            self._heard = False
            number = next(self._numbers)
            self._answers[number] = asyncio.get_running_loop().create_future()
            self.send({"type": "ping", "id": number})
        self._reading.cancel()

    async def _end(self) -> None:
        if self.ended.is_set():
            return
        self.ended.set()
        self._pinging.cancel()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ConnectionResetError("the connection to the supervisor ended before its answer"))
                answer.exception()  # A ping's answer has nobody who waits for it.
        channels, self._channels = self._channels, {}
        for listener in channels.values():
            if listener is not None:
                listener.on_break()
        await self._link.close()


async def _opened(link: Link, identity: Identity) -> Opening:
    hello = {
        "type": "hello",
        "versions": [messages.VERSION],
        "key": identity.key.hex(),
        "epoch": identity.epoch,
        "client": identity.client,
    }
    decoder = frames.Decoder()
    try:
        link.writer.write(frames.encode_control(hello))
        answers: list[frames.Frame] = []
        while not answers:
            chunk = await link.reader.read(_READ)
            if not chunk:
                raise errors.Unavailable("the supervisor hung up before its hello")
            answers = decoder.feed(chunk)
    except OSError as error:
        raise errors.Unavailable("the connection to the supervisor broke before its hello") from error
    return Opening(_welcome(answers), decoder)


def _welcome(answers: list[frames.Frame]) -> messages.Hello:
    """The supervisor's hello, which is all it may have said so far."""
    first, *more = answers
    message = messages.parse(first.message) if isinstance(first, frames.Control) else None
    if isinstance(message, messages.Denied):
        what = f"{errors.foreign(message.code)}: {errors.foreign(message.message)}"
        raise errors.ProtocolBroken(f"the supervisor refuses the connection, {what}")
    if more or not isinstance(message, messages.Hello) or message.version != messages.VERSION:
        raise errors.ProtocolBroken("the supervisor did not begin with its hello")
    return message
