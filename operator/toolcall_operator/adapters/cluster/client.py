"""Requests to the API server: one at a time, bounded in time, their refusals turned into errors of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pydantic_core
from yarl import URL

from toolcall_operator import errors
from toolcall_operator.adapters.cluster import refusals
from toolcall_operator.adapters.cluster.config import Credentials, Source
from toolcall_operator.adapters.cluster.exec import SUBPROTOCOL, ExecStream
from toolcall_operator.adapters.cluster.resources import Address

REQUEST_SECONDS = 30.0
_CONNECT_SECONDS = 10.0
_REQUESTS_AT_ONCE = 32
_IDLE_SECONDS = 60.0  # Shorter than the API server's 90 s: a connection it closes first may swallow a request.
_PAGE = 500
_ANSWER_BYTES = 256 << 20
_REFUSAL_BYTES = 64 << 10
_MESSAGE_BYTES = 1 << 20
_LONGEST_PAUSE = 10.0
_FAREWELL_SECONDS = 0.05
_OK, _CREATED, _SUCCESSES, _UNAUTHORIZED, _EXPIRED, _TOO_MANY = 200, 201, 300, 401, 410, 429

_JSON = "application/json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_METHODS: Mapping[str, str] = {
    "get": "GET",
    "list": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
}


Objects = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a collection, by label and field selectors, and how much of each."""

    labels: str = ""
    fields: str = ""
    metadata_only: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `drained` says that nobody wants its answer."""

    verb: str
    address: Address
    query: Mapping[str, str]
    body: bytes | None = None
    content_type: str = _JSON
    accept: str = _JSON
    drained: bool = False


class Client:
    """The API server, as one identity; `aclose` ends its connections.

    Every method may raise Unavailable, and what `refusals` makes of an answer: Gone when what it is about is not there,
    Rejected for what is in the request, Superseded when somebody else's write came first.
    """

    def __init__(self, source: Source, credentials: Credentials) -> None:
        self._source = source
        self._credentials = credentials
        self._renewing: asyncio.Task[None] | None = None
        self._requests = _session(_REQUESTS_AT_ONCE)
        self._streams = _session(0)

    @classmethod
    async def open(cls, source: Source) -> Client:
        """A client with the credentials of now; nothing is asked of the API server yet."""
        return cls(source, await source.load())

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

    @property
    def namespace(self) -> str:
        """The namespace that the credentials name."""
        return self._credentials.namespace

    async def connection_info(self) -> Mapping[str, Any]:
        """Fresh credentials in the words of `kopf.ConnectionInfo`."""
        await self._renew(self._credentials)
        return self._credentials.connection_info()

    async def get(self, address: Address) -> dict[str, Any]:
        """The object."""
        return _object(await self._send(Request("get", address, {})))

    async def list(self, address: Address, selection: Selection | None = None) -> Objects:
        """All objects of a collection, read in pages; a page that came too late makes one long answer of them all."""
        try:
            return await self._pages(address, selection or Selection(), _PAGE)
        except _PageExpired:
            return await self._pages(address, selection or Selection(), 0)

    async def create(self, address: Address, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Make the object in the collection `address`; Superseded when there is one of its name."""
        return _object(await self._send(Request("create", address, {}, pydantic_core.to_json(manifest))))

    async def replace(self, address: Address, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Put another in the object's place; Superseded when it is not of the resourceVersion that `manifest` names."""
        return _object(await self._send(Request("update", address, {}, pydantic_core.to_json(manifest))))

    async def patch(self, address: Address, operations: bytes) -> None:
        """Apply a JSON Patch, as bytes; the answer is passed over."""
        await self._patch(address, operations, "application/json-patch+json")

    async def merge(self, address: Address, part: Mapping[str, Any]) -> None:
        """Apply a merge patch; the answer is passed over."""
        await self._patch(address, pydantic_core.to_json(part), "application/merge-patch+json")

    async def delete(self, address: Address, uid: str, grace: int | None = None) -> None:
        """Delete the object if it still is the one with this UID (Superseded when it is another); `grace` in seconds."""
        options: dict[str, Any] = {"preconditions": {"uid": uid}}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        await self._send(Request("delete", address, {}, pydantic_core.to_json(options), drained=True))

    async def exec(self, pod: Address, container: str, argv: Sequence[str]) -> ExecStream:
        """Start a program in a container of a pod; whether it starts shows on the stream.

        Raises:
            Unavailable: not now; a right that lacks is named.
            Gone: there is no such pod.
            Rejected: the pod has no such container, or a rule forbids it.
        """
        words = [("command", word) for word in argv]
        flags = [("container", container), ("stdin", "true"), ("stdout", "true"), ("stderr", "true"), *words]
        address = pod.part("exec")
        used = self._current()
        try:
            return await self._attach(address, urlencode(flags), used)
        except aiohttp.WSServerHandshakeError as refused:
            if refused.status != _UNAUTHORIZED:
                raise await self._why_not(address, urlencode(flags), refused.status) from refused
        await self._renew(used)
        try:
            return await self._attach(address, urlencode(flags), self._current())
        except aiohttp.WSServerHandshakeError as refused:
            raise await self._why_not(address, urlencode(flags), refused.status) from refused

    async def _attach(self, address: Address, query: str, credentials: Credentials) -> ExecStream:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                socket = await self._streams.ws_connect(
                    _url(credentials, address, query),
                    protocols=[SUBPROTOCOL],
                    headers=_headers(credentials),
                    max_msg_size=_MESSAGE_BYTES,
                    **_carrier(credentials),
                )
        except aiohttp.WSServerHandshakeError:
            raise
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise errors.Unavailable(f"cannot exec in {address} now: {_why(error)}") from error
        if socket.protocol != SUBPROTOCOL:
            await socket.close()
            raise errors.Unavailable(f"the API server does not speak {SUBPROTOCOL}; Kubernetes 1.30 and later do")
        return ExecStream(socket)

    async def _why_not(self, address: Address, query: str, status: int) -> errors.OperatorError:
        """A refused handshake comes without its text: the same request, in plain HTTP, is refused with it."""
        try:
            await self._once(Request("get", address, {}, drained=True), query, self._current())
        except _Refused as refused:
            same = refused.refusal if refused.refusal.status == status else refusals.Refusal(status)
            return refusals.error("create", address, same)
        except errors.OperatorError:
            pass
        return refusals.error("create", address, refusals.Refusal(status))

    async def _pages(self, address: Address, selection: Selection, page: int) -> Objects:
        items: Objects = []
        named = {
            "limit": str(page) if page else "",
            "labelSelector": selection.labels,
            "fieldSelector": selection.fields,
            "continue": "",
        }
        while True:
            query = {name: text for name, text in named.items() if text}
            accept = _METADATA_LIST if selection.metadata_only else _JSON
            answer = _object(await self._send(Request("list", address, query, accept=accept)))
            items += answer.get("items") or []
            named["continue"] = (answer.get("metadata") or {}).get("continue") or ""
            if not named["continue"]:
                return items

    async def _patch(self, address: Address, body: bytes, content_type: str) -> None:
        # The metadata alone is asked for: the whole object would cost both sides more than the patch itself.
        await self._send(Request("patch", address, {}, body, content_type, _METADATA, drained=True))

    async def _send(self, request: Request) -> bytes:
        """The answer; tried again once with new credentials, and as often as the API server asks for patience."""
        query = urlencode(request.query)
        until = asyncio.get_running_loop().time() + REQUEST_SECONDS
        renewed = False
        while True:
            used = self._current()
            try:
                return await self._once(request, query, used)
            except _Refused as refused:
                if refused.refusal.status == _UNAUTHORIZED and not renewed:
                    renewed = True
                    await self._renew(used)
                elif refused.pause is None or asyncio.get_running_loop().time() + refused.pause > until:
                    raise _meaning(request, refused.refusal) from None
                else:
                    await asyncio.sleep(refused.pause)

    async def _once(self, request: Request, query: str, credentials: Credentials) -> bytes:
        headers = _headers(credentials)
        headers["Accept"] = request.accept
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        try:
            async with self._requests.request(
                _METHODS[request.verb],
                _url(credentials, request.address, query),
                data=request.body,
                headers=headers,
                allow_redirects=False,
                **_carrier(credentials),
            ) as answer:
                if not _OK <= answer.status < _SUCCESSES:
                    said = await _read(answer, _REFUSAL_BYTES)
                    raise _Refused(refusals.Refusal.parse(answer.status, said), _pause(answer))
                if request.drained:
                    return await _drained(answer)
                body = await _read(answer, _ANSWER_BYTES)
                if len(body) > _ANSWER_BYTES:
                    raise errors.Unavailable(f"the answer to {request.verb} {request.address} is too long")
                return body
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise errors.Unavailable(f"cannot {request.verb} {request.address} now: {_why(error)}") from error

    def _current(self) -> Credentials:
        """The credentials; while new ones are made, the old ones do."""
        used = self._credentials
        if used.renew_at is not None and datetime.now(UTC) >= used.renew_at:
            self._renewal()
        return used

    async def _renew(self, used: Credentials) -> None:
        """Have other credentials than `used`, when there are any."""
        if self._credentials is used:
            await asyncio.shield(self._renewal())

    def _renewal(self) -> asyncio.Task[None]:
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._load())
            self._renewing.add_done_callback(_noticed)
        return self._renewing

    async def _load(self) -> None:
        self._credentials = await self._source.load(self._credentials)


class _Refused(Exception):  # noqa: N818 - house style
    """An answer that is a refusal; `pause` is after how many seconds the API server wants to be asked again."""

    def __init__(self, refusal: refusals.Refusal, pause: float | None) -> None:
        super().__init__(refusal.status)
        self.refusal = refusal
        self.pause = pause


class _PageExpired(errors.Unavailable):
    """The list that a page belongs to is too old."""


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


def _meaning(request: Request, refusal: refusals.Refusal) -> errors.OperatorError:
    if refusal.status == _EXPIRED and "continue" in request.query:
        return _PageExpired("the list changed too much while it was read")
    return refusals.error(request.verb, request.address, refusal)


def _pause(answer: aiohttp.ClientResponse) -> float | None:
    """What a busy API server asks for; nothing was done then."""
    if answer.status != _TOO_MANY:
        return None
    try:
        return min(max(float(answer.headers.get("Retry-After", "1")), 0.1), _LONGEST_PAUSE)
    except ValueError:
        return 1.0


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


def _object(body: bytes) -> dict[str, Any]:
    try:
        read = pydantic_core.from_json(body)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise errors.Unavailable("the API server answered something that is no object")
    return read


def _noticed(task: asyncio.Task[None]) -> None:
    """Credentials that could not be renewed are told to who needed them; in the background the next refusal tells."""
    if not task.cancelled():
        task.exception()


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
