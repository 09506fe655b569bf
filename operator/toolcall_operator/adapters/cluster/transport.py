"""One HTTP request to the API server at a time: with the credentials of now, bounded in time and size."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
from yarl import URL

from toolcall_operator import errors
from toolcall_operator.adapters.cluster import refusals
from toolcall_operator.adapters.cluster.config import Credentials, Source
from toolcall_operator.adapters.cluster.resources import Address

REQUEST_SECONDS = 30.0
REQUESTS_AT_ONCE = 32
JSON = "application/json"

_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 60.0  # Shorter than the API server's 90 s: a connection that it closes first may swallow a request.
_LARGEST_BODY = 3 << 20
_AT_ONCE = 512 << 10
_OBJECT_BYTES = 16 << 20  # etcd takes 1.5 MiB, unless it is told to take more; base64 and metadata come on top
_ANSWER_BYTES = 256 << 20
_REFUSAL_BYTES = 64 << 10
_MESSAGE_BYTES = 1 << 20
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0
_CLOSING_SECONDS = 2.0
_FAREWELL_SECONDS = 0.05
_OK, _SUCCESSES, _UNAUTHORIZED, _TOO_LARGE, _TOO_MANY = 200, 300, 401, 413, 429
_READS = frozenset({"get", "list"})
_METHODS: Mapping[str, str] = {
    "get": "GET",
    "list": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `verb` is the API server's word for it, and `drained` says that nobody wants its answer.

    Its body, which may be a Secret, stays out of its repr.
    """

    verb: str
    address: Address
    query: str = ""
    body: bytes | None = field(default=None, repr=False)
    content_type: str = JSON
    accept: str = JSON
    drained: bool = False


class Refused(Exception):
    """An answer that is a refusal; `pause` is after how many seconds the API server wants to be asked again."""

    def __init__(self, refusal: refusals.Refusal, pause: float | None = None) -> None:
        super().__init__(refusal.status)
        self.refusal = refusal
        self.pause = pause


class Transport:
    """The connections to one API server; `aclose` ends them.

    `may_write` is asked before anything is sent that changes something, after it has waited for its turn: a process
    that slept through the end of its lead, or was busy until then, must not go on with what it was about to do.
    """

    def __init__(self, source: Source, credentials: Credentials) -> None:
        self.may_write: Callable[[], bool] = lambda: True
        self._credentials = credentials
        self._source = source
        self._renewing: asyncio.Task[None] | None = None
        self._turns = asyncio.Semaphore(REQUESTS_AT_ONCE)  # as many as connections: nobody waits for one of those
        self._requests = _session(REQUESTS_AT_ONCE)
        self._streams = _session(0)  # A stream keeps its connection: it must not count among those of requests.

    async def aclose(self) -> None:
        """Close every connection, streams too."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        await self._streams.close()
        await self._requests.close()
        # The end of a TLS connection is an exchange that nobody can await:
        # https://docs.aiohttp.org/en/stable/client_advanced.html#graceful-shutdown
        await asyncio.sleep(_FAREWELL_SECONDS)

    async def _exchange(self, request: Request) -> bytes:
        """The answer; asked once more with new credentials, and again while the API server asks for patience.

        Raises:
            Unavailable: there was none in time.
            Refused: it was a refusal.
        """
        if request.body is not None and len(request.body) > _LARGEST_BODY:
            # The API server hangs up on a larger one in the middle, which looks like a connection that broke.
            raise Refused(refusals.Refusal(_TOO_LARGE, f"it has more than {_LARGEST_BODY >> 20} MiB"))
        until = asyncio.get_running_loop().time() + REQUEST_SECONDS
        renewed = False
        while True:
            used = self._current()
            try:
                return await self._once(request, used)
            except Refused as refused:
                if refused.refusal.status == _UNAUTHORIZED and not renewed:
                    renewed = True
                    await self._renew(used)
                elif refused.pause is None or asyncio.get_running_loop().time() + refused.pause > until:
                    raise
                else:
                    await asyncio.sleep(refused.pause)

    @asynccontextmanager
    async def _stream(self, request: Request, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """The chunks of an answer that goes on, until nothing comes for `silence` seconds.

        Raises:
            Unavailable: there was none in time, or it broke off while the context was open.
            Refused: it was a refusal.
        """
        used = self._current()
        patience = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=silence)
        with _told(request.verb, request.address):
            async with self._streams.request(
                _METHODS[request.verb],
                _url(used, request.address, request.query),
                headers={**_headers(used), "Accept": request.accept},
                timeout=patience,
                allow_redirects=False,
                **_carrier(used),
            ) as answer:
                if not _OK <= answer.status < _SUCCESSES:
                    raise Refused(refusals.Refusal.parse(answer.status, await _read(answer, _REFUSAL_BYTES)))
                yield answer.content.iter_any()

    async def _websocket(self, address: Address, query: str, subprotocol: str) -> aiohttp.ClientWebSocketResponse:
        """A websocket; asked for once more with new credentials.

        Raises:
            Unavailable: there was none in time.
            Refused: the API server refuses; the text of the refusal is not known.
        """
        used = self._current()
        try:
            return await self._upgraded(address, query, subprotocol, used)
        except Refused as refused:
            if refused.refusal.status != _UNAUTHORIZED:
                raise
        await self._renew(used)
        return await self._upgraded(address, query, subprotocol, self._current())

    async def _renew(self, used: Credentials) -> None:
        """Have others than `used`, where there are any.

        Raises:
            Unavailable: there are none.
        """
        if self._credentials is used:
            await asyncio.shield(self._renewal())

    async def _once(self, request: Request, credentials: Credentials) -> bytes:
        headers = _headers(credentials)
        headers["Accept"] = request.accept
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        async with (
            self._turn(request),
            self._requests.request(
                _METHODS[request.verb],
                _url(credentials, request.address, request.query),
                data=_payload(request.body),
                headers=headers,
                allow_redirects=False,
                **_carrier(credentials),
            ) as answer,
        ):
            if not _OK <= answer.status < _SUCCESSES:
                said = await _read(answer, _REFUSAL_BYTES)
                raise Refused(refusals.Refusal.parse(answer.status, said), _pause(answer))
            if request.drained:
                return await _drained(answer)
            most = _ANSWER_BYTES if request.verb == "list" else _OBJECT_BYTES
            body = await _read(answer, most)
        if len(body) > most:
            raise errors.Unavailable(f"the answer to {request.verb} {request.address} is too long")
        return body

    @asynccontextmanager
    async def _turn(self, request: Request) -> AsyncIterator[None]:
        """One of the few requests that are under way at once, if it may still be sent when its turn comes.

        Raises:
            Unavailable: it may not, or its turn and its answer did not come in time, or the connection broke.
        """
        with _told(request.verb, request.address):
            async with asyncio.timeout(REQUEST_SECONDS), self._turns:
                if request.verb not in _READS and not self.may_write():
                    raise errors.Unavailable(f"cannot {request.verb} {request.address}: somebody else may lead by now")
                yield

    async def _upgraded(
        self, address: Address, query: str, subprotocol: str, credentials: Credentials
    ) -> aiohttp.ClientWebSocketResponse:
        with _told("exec in", address):
            try:
                async with asyncio.timeout(REQUEST_SECONDS):
                    socket: aiohttp.ClientWebSocketResponse = await self._streams.ws_connect(
                        _url(credentials, address, query),
                        protocols=[subprotocol],
                        headers=_headers(credentials),
                        timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSING_SECONDS),
                        max_msg_size=_MESSAGE_BYTES,
                        **_carrier(credentials),
                    )
                    return socket
            except aiohttp.WSServerHandshakeError as refused:
                raise Refused(refusals.Refusal(refused.status)) from refused

    def _current(self) -> Credentials:
        """The credentials; while new ones are made, the old ones do."""
        used = self._credentials
        if used.renew_at is not None and datetime.now(UTC) >= used.renew_at:
            self._renewal()
        return used

    def _renewal(self) -> asyncio.Task[None]:
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._load())
            self._renewing.add_done_callback(_noticed)
        return self._renewing

    async def _load(self) -> None:
        self._credentials = await self._source.load(self._credentials)


def _session(limit: int) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=limit, keepalive_timeout=_IDLE_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS, sock_connect=_CONNECT_SECONDS),
        headers={"User-Agent": "toolcall-operator", "Accept-Encoding": "identity"},
    )


def _url(credentials: Credentials, address: Address, query: str) -> URL:
    path = f"{credentials.server}{address.path}"
    return URL(f"{path}?{query}" if query else path, encoded=True)


def _headers(credentials: Credentials) -> dict[str, str]:
    return {"Authorization": credentials.authorization} if credentials.authorization else {}


def _carrier(credentials: Credentials) -> dict[str, Any]:
    """What a connection is made with; one that was made with other certificates is not used again."""
    return {"ssl": credentials.context, "server_hostname": credentials.server_name, "proxy": credentials.proxy}


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """The same bytes; many are sent in pieces, with others' work in between."""
    return io.BytesIO(body) if body is not None and len(body) > _AT_ONCE else body


def _pause(answer: aiohttp.ClientResponse) -> float | None:
    """What a busy API server asks for; nothing was done then."""
    if answer.status != _TOO_MANY:
        return None
    try:
        return min(max(float(answer.headers.get("Retry-After", "1")), _SHORTEST_PAUSE), _LONGEST_PAUSE)
    except ValueError:
        return _LONGEST_PAUSE


async def _read(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """The body, or a little more than `most` bytes of it."""
    chunks, size = [], 0
    async for chunk in answer.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            break
    return b"".join(chunks)


async def _drained(answer: aiohttp.ClientResponse) -> bytes:
    """Nothing, once all has been read: the connection is free for the next request then."""
    async for _ in answer.content.iter_any():
        pass
    return b""


def _noticed(renewal: asyncio.Task[None]) -> None:
    """A renewal that nobody waits for may fail: the refusal that follows tells."""
    if not renewal.cancelled():
        renewal.exception()


@contextmanager
def _told(verb: str, address: Address) -> Iterator[None]:
    """Whatever the library raises in the context is that the API server cannot be reached."""
    try:
        yield
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise errors.Unavailable(f"cannot {verb} {address} now: {_why(error)}") from error


def _why(error: Exception) -> str:
    """Names and numbers alone: a library's text may hold the request."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"its certificate is not trusted ({errors.foreign(str(error.certificate_error))})"
        case aiohttp.ClientConnectorError(os_error=OSError(strerror=str(words))):
            return errors.foreign(words)
        case TimeoutError():
            return "no answer in time"
        case _:
            return type(error).__name__
