"""Frames to bytes and bytes to frames, as the supervisor's PROTOCOL.md has them; no input or output here."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from toolcall_operator import errors

CONTROL_LIMIT = 8 << 20
PAYLOAD_LIMIT = 65_536
STDIN, STDOUT, STDERR = 0, 1, 2

_CONTROL, _DATA = 1, 2
_PREFIX = struct.Struct(">IB")
_LENGTH = struct.Struct(">I")
_DATA_HEADER = struct.Struct(">IBQ")
_DATA_PREFIX = struct.Struct(">IBIBQ")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_TO_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_FROM_JSON = json.JSONDecoder(parse_constant=_no_constant).decode  # NaN and Infinity are Python's, not JSON's


class Control(NamedTuple):
    """A control frame: one JSON object, not judged any further."""

    message: dict[str, object]


class Data(NamedTuple):
    """A data frame: `payload` stands at `offset` of one stream of a channel."""

    channel: int
    stream: int
    offset: int
    payload: bytes


Frame = Control | Data


def encode_control(message: Mapping[str, object]) -> bytes:
    """The frame that carries `message`.

    Raises:
        ProtocolBroken: it is longer than the protocol allows, or its text is no Unicode.
    """
    try:
        body = _TO_JSON(message).encode()
    except UnicodeEncodeError:
        # The error carries the text, which may hold anything: it stays out of ours.
        raise errors.ProtocolBroken("a message with half a surrogate pair in it cannot be sent") from None
    if len(body) > CONTROL_LIMIT:
        raise errors.ProtocolBroken(f"a message of {len(body)} bytes is longer than the protocol's {CONTROL_LIMIT}")
    return _PREFIX.pack(1 + len(body), _CONTROL) + body


def encode_data(channel: int, stream: int, offset: int, payload: bytes | memoryview) -> bytes:
    """The frame that carries 1 to 65,536 bytes of a stream."""
    length = 1 + _DATA_HEADER.size + len(payload)
    return b"".join((_DATA_PREFIX.pack(length, _DATA, channel, stream, offset), payload))


class Decoder:
    """Turns a byte stream, cut anywhere, into frames; after an error it is of no use any more."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[Frame]:
        """Every frame that `chunk` completes, in order.

        Raises:
            ProtocolBroken: these bytes are no frames.
        """
        if not self._rest:
            frames, used = _frames(chunk)
            self._rest += memoryview(chunk)[used:]
            return frames
        self._rest += chunk
        frames, used = _frames(self._rest)
        # CPython moves the start of a bytearray instead of its content: this costs the same however much is left.
        del self._rest[:used]
        return frames


def _frames(buffer: bytes | bytearray) -> tuple[list[Frame], int]:
    """The whole frames at the start of `buffer`, and how many bytes they took."""
    frames: list[Frame] = []
    start = 0
    while (end := _end(buffer, start)) <= len(buffer):
        if buffer[start + _LENGTH.size] == _CONTROL:
            frames.append(_control(bytes(buffer[start + _PREFIX.size : end])))
        else:
            header = start + _PREFIX.size
            frames.append(_data(buffer, header, bytes(buffer[header + _DATA_HEADER.size : end])))
        start = end
    return frames, start


def _end(buffer: bytes | bytearray, start: int) -> int:
    """Where the frame at `start` ends, judged by its length and kind; past the buffer while these are not there."""
    if len(buffer) < start + _LENGTH.size:
        return len(buffer) + 1
    (length,) = _LENGTH.unpack_from(buffer, start)
    if not 1 <= length <= 1 + CONTROL_LIMIT:
        _broken(f"a frame of {length} bytes")
    if len(buffer) < start + _PREFIX.size:
        return len(buffer) + 1
    kind = buffer[start + _LENGTH.size]
    if kind == _DATA:
        if not 1 <= length - 1 - _DATA_HEADER.size <= PAYLOAD_LIMIT:
            _broken(f"a data frame of {length} bytes")
    elif kind != _CONTROL:
        _broken(f"a frame of kind {kind}")
    return start + _LENGTH.size + int(length)


def _data(buffer: bytes | bytearray, header: int, payload: bytes) -> Data:
    channel, stream, offset = _DATA_HEADER.unpack_from(buffer, header)
    if channel < 1 or stream > STDERR:
        _broken(f"data for stream {stream} of channel {channel}")
    return Data(channel, stream, offset, payload)


def _control(body: bytes) -> Control:
    try:
        message = _FROM_JSON(body.decode())
    except (ValueError, RecursionError) as error:
        # The text of these errors quotes the message, which may hold anything: it stays out of ours.
        raise errors.ProtocolBroken(f"a control frame that is not JSON ({type(error).__name__})") from None
    if not isinstance(message, dict):
        _broken("a control frame that is not an object")
    return Control(message)


def _broken(what: str) -> NoReturn:
    raise errors.ProtocolBroken(f"the other end sent {what}")
