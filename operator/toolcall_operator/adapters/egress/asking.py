"""One question and one answer over a connection: what is sent, and how much of what comes back is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpcore
import httpx

from toolcall_operator import errors
from toolcall_operator.adapters.egress import troubles
from toolcall_operator.adapters.egress.connections import Connection
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Origin, Request

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_SWITCHING = 101
_PLAIN = frozenset({"", "identity"})

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: to whom, by the authority that is asked for, and with which path and query."""

    origin: Origin
    authority: bytes
    path: bytes


def target(request: Request) -> Target:
    """Where a well-formed request goes; names outside ASCII in their IDNA form.

    Raises:
        Denied: its host is no name and no address.
    """
    found = _found(request.url)
    if found is None:
        raise errors.Denied("a request is not sent: its host is no name and no address")
    return found


def _found(url: str) -> Target | None:
    try:
        read = httpx.URL(url)
        return Target(Origin.parse(f"{read.scheme}://{read.netloc.decode('ascii')}"), read.netloc, read.raw_path)
    except (httpx.InvalidURL, ValueError):  # both quote the URL
        return None


async def answer(connection: Connection, to: Target, request: Request) -> Answer | errors.Unavailable:
    """The answer, or why it is not read: it is compressed, which could be a bomb, or too large.

    The head of an answer may have about 100 KiB (`MAX_INCOMPLETE_EVENT_SIZE` of the connection).

    Raises:
        httpcore.NetworkError, httpcore.ProtocolError, OSError: there was none, or not a whole one.
    """
    response = await connection.handle_async_request(_question(to, request))
    try:
        return await _whole(response, to, request)
    finally:
        await response.aclose()  # which is what makes the connection free, or ends it when not all was read


async def _whole(response: httpcore.Response, to: Target, request: Request) -> Answer | errors.Unavailable:
    headers = _joined(response.headers)
    if trouble := _trouble(response.status, headers, request):
        return troubles.unavailable(to.origin, trouble)
    body = await _read(response, request.answer_bytes)
    if body is None:
        return troubles.unavailable(to.origin, _too_large(request))
    return Answer(response.status, headers, body)


def _question(to: Target, request: Request) -> httpcore.Request:
    origin = to.origin
    url = httpcore.URL(scheme=origin.scheme.encode(), host=origin.host.encode(), port=origin.port, target=to.path)
    return httpcore.Request(request.method, url, headers=_headers(to, request), content=request.body)


def _headers(to: Target, request: Request) -> Headers:
    given = {name: value.reveal() if isinstance(value, Hidden) else value for name, value in request.headers.items()}
    framing = {"Host": to.authority.decode("ascii"), "Accept-Encoding": "identity"}
    if request.body or request.method in _WITH_BODY:
        framing["Content-Length"] = str(len(request.body))
    if not any(name.lower() == "user-agent" for name in given):
        framing["User-Agent"] = "toolcall-operator"
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in (framing | given).items()]


def _joined(headers: Sequence[tuple[bytes, bytes]]) -> Mapping[str, str]:
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def _trouble(status: int, headers: Mapping[str, str], request: Request) -> str:
    """Why the body of an answer is not even begun."""
    length = headers.get("content-length", "")
    if status == _SWITCHING:
        return "it wants to speak another protocol"
    if headers.get("content-encoding", "").strip().lower() not in _PLAIN:
        return "its answer is compressed, which was not asked for"
    if request.method != "HEAD" and length.isdecimal() and int(length) > request.answer_bytes:
        return _too_large(request)
    return ""


def _too_large(request: Request) -> str:
    return f"its answer has more than {request.answer_bytes} bytes"


async def _read(response: httpcore.Response, most: int) -> bytes | None:
    """The body, or nothing if it has more than `most` bytes; no more are read then."""
    body = bytearray()
    async for chunk in response.aiter_stream():
        body += chunk
        if len(body) > most:
            return None
    return bytes(body)
