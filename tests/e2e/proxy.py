"""A way to the API server that tests can stop, break and spoil: a proxy on this machine, for one operator."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.e2e import traffic
from tests.e2e.moments import Dropped, Moment, Place, Point, Then
from tests.e2e.traffic import Refusal, Write
from toolcall_operator.adapters.cluster import config
from toolcall_operator.adapters.sandbox.frames import Decoder

_START_SECONDS = 10.0
_FAREWELL_SECONDS = 0.25


class Proxy:
    """What stands between an operator and the API server, as the user of KUBECONFIG; it runs in a thread of its own.

    It remembers the paths that were read, what was written, the paths that were refused, and what the control frames
    of operator and supervisors were about: their types, with UIDs (`told`) or codes (`heard`).
    """

    def __init__(self) -> None:
        self.written: list[Write] = []
        self.read: list[str] = []
        self.refused: list[str] = []
        self.told: list[tuple[object, object]] = []
        self.heard: list[tuple[object, object]] = []
        self._server = ""
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._moments: list[Moment] = []
        self._refusals: list[Refusal] = []
        self._stalled: set[str] = set()
        self._watches: dict[str, set[web.StreamResponse]] = {}
        self._streams: set[asyncio.Transport] = set()

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Proxy]:
        """A proxy, while the context is open."""
        proxy, started = cls(), threading.Event()
        thread = threading.Thread(target=proxy._run, args=(started,), name="proxy")
        thread.start()
        try:
            assert started.wait(_START_SECONDS), "the proxy did not start"
            yield proxy
        finally:
            proxy._loop.call_soon_threadsafe(proxy._ending.set)
            thread.join()

    # What tests ask of it ---------------------------------------------------------------------------------------------
    def kubeconfig(self, folder: Path) -> str:
        """A kubeconfig that leads here."""
        path = folder / "kubeconfig"
        named = {"clusters": "cluster", "contexts": "context", "users": "user"}
        entry = {
            "cluster": {"server": self._server},
            "context": {"cluster": "proxy", "user": "proxy"},
            "user": {},
        }
        lists = {plural: [{"name": "proxy", singular: entry[singular]}] for plural, singular in named.items()}
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "proxy", **lists}))
        return str(path)

    def at(self, point: Point, then: Then, call: str = "") -> Moment:
        """The next time that a call comes to a point; let go of by whoever asked for it."""
        moment = Moment(Place(point, call), then, self._loop)
        self._loop.call_soon_threadsafe(self._moments.append, moment)
        return moment

    @contextmanager
    def refusing(self, status: int, pattern: str = "") -> Iterator[None]:
        """Answer requests so whose method and path (`GET /apis/…`) the pattern is in, while the context is open."""
        refusal = Refusal(status, pattern)
        self._loop.call_soon_threadsafe(self._refusals.append, refusal)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._refusals.remove, refusal)

    @contextmanager
    def stalling(self, plural: str) -> Iterator[None]:
        """Pass nothing on of what the watches of a kind say, while the context is open; it comes after that."""
        self._loop.call_soon_threadsafe(self._stalled.add, plural)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._stalled.discard, plural)

    def cut(self) -> None:
        """Break every exec stream, without a word to the operator."""
        self._loop.call_soon_threadsafe(self._cut)

    def say(self, plural: str, event: dict[str, Any]) -> None:
        """Say something on every watch of a kind, in the API server's place."""
        asyncio.run_coroutine_threadsafe(self._say(plural, event), self._loop).result()

    def dispatches(self, call: str) -> set[str]:
        """The different claims of a call that the API server took."""
        claims = (write.status.get("dispatch") for write in self.written if write.call == call and write.is_kept)
        return {json.dumps(claim, sort_keys=True) for claim in claims if claim}

    # What it does -----------------------------------------------------------------------------------------------------
    def _run(self, started: threading.Event) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: threading.Event) -> None:
        credentials = await config.source("", "", os.environ).load()
        headers = {"Authorization": credentials.authorization} if credentials.authorization else {}
        connector = aiohttp.TCPConnector(limit=0, ssl=credentials.context)
        async with aiohttp.ClientSession(
            credentials.server, connector=connector, headers=headers, timeout=aiohttp.ClientTimeout(sock_connect=10)
        ) as self._upstream:
            app = web.Application(client_max_size=16 << 20)
            app.router.add_route("*", "/{path:.*}", self._handle)
            runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            self._server = f"http://{host}:{port}"
            started.set()
            await self._ending.wait()
            for moment in self._moments:
                moment.drop()
            await runner.cleanup()
        # The end of a TLS connection is an exchange that nobody can await:
        # https://docs.aiohttp.org/en/stable/client_advanced.html#graceful-shutdown
        await asyncio.sleep(_FAREWELL_SECONDS)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            for refusal in self._refusals:
                if refusal.covers(request):
                    self.refused.append(request.path)
                    return refusal.answer()
            if request.headers.get("Upgrade"):
                return await self._stream(request)
            if "watch" in request.query:
                return await self._watch(request)
            return await self._exchange(request)
        except (Dropped, ConnectionError, aiohttp.ClientError):
            if request.transport:
                request.transport.abort()
            return web.Response()

    async def _exchange(self, request: web.Request) -> web.Response:
        """One request, one answer."""
        body = await request.read()
        write = None if request.method == "GET" else Write.read(request, body)
        if write:
            self.written.append(write)
        else:
            self.read.append(request.path)
        points = write.points if write else None
        if write and points:
            await self._pass(Place(points[0], write.call))
        async with self._asked(request, body) as answer:
            said = await answer.read()
        if write:
            write.answer = answer.status
        if write and points and answer.ok:
            await self._pass(Place(points[1], write.call))
        return web.Response(body=said, status=answer.status, headers=traffic.kept(answer.headers))

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        """Events, a whole line at a time."""
        plural = request.path.rpartition("/")[2]
        async with self._asked(request, b"") as answer:
            response = web.StreamResponse(status=answer.status, headers=traffic.kept(answer.headers))
            await response.prepare(request)
            watches = self._watches.setdefault(plural, set())
            watches.add(response)
            try:
                async for line in traffic.lines(answer.content):
                    while plural in self._stalled:  # noqa: ASYNC110 (an event for each kind would be more to read)
                        await asyncio.sleep(0.02)
                    await response.write(line)
            finally:
                watches.discard(response)
        return response

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """An exec, in both directions."""
        protocols = request.headers.getall("Sec-WebSocket-Protocol", [])
        try:
            there = await self._upstream.ws_connect(traffic.url(request), protocols=protocols, max_msg_size=0)
        except aiohttp.WSServerHandshakeError as refused:
            return web.Response(status=refused.status)
        here = web.WebSocketResponse(protocols=protocols, max_msg_size=0)
        await here.prepare(request)
        assert request.transport
        self._streams.add(request.transport)
        ways = asyncio.create_task(self._up(here, there)), asyncio.create_task(self._down(there, here))
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams.discard(request.transport)
            for way in ways:
                way.cancel()
            ends = await asyncio.gather(*ways, return_exceptions=True)
            await there.close()
        if any(isinstance(end, Dropped) for end in ends):
            raise Dropped
        return here

    async def _up(self, here: web.WebSocketResponse, there: aiohttp.ClientWebSocketResponse) -> None:
        decoder = Decoder()
        async for message in here:
            frames = traffic.frames(decoder, traffic.STDIN_CHANNEL, message.data)
            self.told += traffic.about(frames, "uid")
            starts = any(traffic.is_message(frame, "start") for frame in frames)
            if starts:
                await self._pass(Place(Point.START_ASKED))
            await there.send_bytes(message.data)
            if starts:
                await self._pass(Place(Point.START_SENT))

    async def _down(self, there: aiohttp.ClientWebSocketResponse, here: web.WebSocketResponse) -> None:
        decoder = Decoder()
        async for message in there:
            frames = traffic.frames(decoder, traffic.STDOUT_CHANNEL, message.data)
            self.heard += traffic.about(frames, "code")
            await here.send_bytes(message.data)
            if any(traffic.is_half(frame) for frame in frames):
                await self._pass(Place(Point.HALF_TOLD))

    async def _pass(self, place: Place) -> None:
        """Go by a place, where a test may want to stop what does."""
        for moment in list(self._moments):
            if moment.place.covers(place) and not moment.has_come:
                moment.begin()
                await moment.over()

    def _cut(self) -> None:
        for stream in self._streams:
            stream.abort()

    async def _say(self, plural: str, event: dict[str, Any]) -> None:
        for response in list(self._watches.get(plural, ())):
            with suppress(ConnectionError):
                await response.write(json.dumps(event).encode() + b"\n")

    @asynccontextmanager
    async def _asked(self, request: web.Request, body: bytes) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {**traffic.kept(request.headers), "Accept-Encoding": "identity"}
        async with self._upstream.request(
            request.method, traffic.url(request), data=body or None, headers=headers, allow_redirects=False
        ) as answer:
            yield answer
