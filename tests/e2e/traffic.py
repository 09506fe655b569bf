"""What passes a proxy of the tests: writes, refusals, events of watches, and the frames inside an exec."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from yarl import URL

from tests.e2e.moments import Point
from toolcall_operator.adapters.sandbox.frames import STDOUT, Control, Data, Decoder, Frame

STDIN_CHANNEL, STDOUT_CHANNEL = 0, 1
"""Of an exec: the first byte of a message."""

HALF_BYTES = 300_000
"""So much of a tool's standard output has been told at `Point.HALF_TOLD`."""

_STATUS_OF = re.compile(r"/toolcalls/([^/]+)/status$")
_OF_THE_HOP = frozenset({"connection", "host", "content-length", "transfer-encoding", "accept-encoding", "keep-alive"})


@dataclass(slots=True)
class Write:
    """A request that changes something, and its answer (0: none yet); `status` is what it writes to a `call`, if so."""

    path: str
    answer: int = 0
    call: str = ""
    status: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, request: web.Request, body: bytes) -> Write:
        """What a request writes."""
        found = _STATUS_OF.search(request.path)
        if found is None:
            return cls(request.path)
        (status,) = (step["value"] for step in json.loads(body) if step["op"] == "add")
        return cls(request.path, call=found[1], status=status)

    @property
    def is_kept(self) -> bool:
        """Whether the API server took it."""
        return self.answer in range(200, 300)

    @property
    def is_refused(self) -> bool:
        """Whether it certainly changed nothing."""
        return bool(self.answer) and not self.is_kept

    @property
    def points(self) -> tuple[Point, Point] | None:
        """Where in the life of a call it stands: before it reaches the API server, and after it was kept."""
        if self.status.get("finished"):
            return Point.END_ASKED, Point.END_KEPT
        return (Point.CLAIM_ASKED, Point.CLAIM_KEPT) if "dispatch" in self.status else None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that requests get whose method and path a pattern is found in."""

    status: int
    pattern: str

    def covers(self, request: web.Request) -> bool:
        """Whether a request gets it."""
        return bool(re.search(self.pattern, f"{request.method} {request.path}"))

    def answer(self) -> web.Response:
        """It, as an API server would say it."""
        body = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": self.status,
            "message": f"refused by the test with {self.status}",
        }
        return web.json_response(body, status=self.status, headers={"Retry-After": "1"})


def url(request: web.Request) -> URL:
    return URL(request.raw_path, encoded=True)


def kept(headers: Any) -> dict[str, str]:  # noqa: ANN401 - the library has several kinds of them
    return {name: value for name, value in headers.items() if name.lower() not in _OF_THE_HOP}


def frames(decoder: Decoder, channel: int, message: bytes) -> list[Frame]:
    """The frames of the supervisor's protocol that a message of the exec completes, if it is of that channel."""
    return decoder.feed(message[1:]) if message[:1] == bytes((channel,)) else []


def about(frames: list[Frame], name: str) -> list[tuple[object, object]]:
    """The types of control frames, each with one field: no key and no environment stands in the output of a test."""
    messages = [frame.message for frame in frames if isinstance(frame, Control)]
    return [(message.get("type"), message.get(name)) for message in messages]


def is_message(frame: Frame, kind: str) -> bool:
    return isinstance(frame, Control) and frame.message.get("type") == kind


def is_half(frame: Frame) -> bool:
    return isinstance(frame, Data) and frame.stream == STDOUT and frame.offset >= HALF_BYTES


async def lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """The whole lines of a stream, as many at a time as have come."""
    rest = b""
    async for chunk in content.iter_any():
        whole, newline, rest = (rest + chunk).rpartition(b"\n")
        if newline:
            yield whole + newline
