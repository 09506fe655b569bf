"""An API server as HTTP sees it: on loopback, with answers that were written down before."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.config import Certificates, Credentials

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived; `peer` is the port it came from."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    peer: int

    @property
    def json(self) -> Any:  # noqa: ANN401 - bodies have every shape
        """The body, read."""
        return json.loads(self.body)


@dataclass
class Answering:
    """Gives one answer after the other, the last one again and again; `asked` is what came."""

    answers: list[web.Response | Handler] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The next answer."""
        peer = request.transport.get_extra_info("peername")[1] if request.transport else 0
        asked = Asked(request.method, str(request.rel_url), dict(request.headers), await request.read(), peer)
        self.asked.append(asked)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, web.Response):
            # A response can be sent once.
            return web.Response(status=answer.status, body=answer.body, headers=answer.headers)
        return await answer(request)


def said(status: int, body: Mapping[str, Any], **headers: str) -> web.Response:
    """An answer in JSON."""
    return web.Response(
        status=status, body=json.dumps(body).encode(), headers={"Content-Type": "application/json", **headers}
    )


def refused(status: int, message: str = "", name: str = "", **headers: str) -> web.Response:
    """A Status object, as the API server writes it."""
    body = {"kind": "Status", "status": "Failure", "message": message, "details": {"name": name}, "code": status}
    return said(status, body, **headers)


@dataclass
class Tokens:
    """A `config.Source` that gives a new token each time, until it has none."""

    server: str
    tokens: list[str]
    loads: int = 0

    async def load(self, before: Credentials | None = None) -> Credentials:
        """The next token, or the same credentials."""
        self.loads += 1
        if not self.tokens:
            assert before is not None
            return before
        certificates = Certificates()
        context = before.context if before else certificates.context()
        return Credentials(self.server, certificates, context, authorization=f"Bearer {self.tokens.pop(0)}")


@asynccontextmanager
async def served(server: Answering, *tokens: str) -> AsyncIterator[Client]:
    """A client of that server."""
    application = web.Application(client_max_size=16 << 20)
    application.router.add_route("*", "/{path:.*}", server.handle)
    async with TestServer(application) as running:
        client = await Client.open(Tokens(str(running.make_url("")).rstrip("/"), list(tokens or ("first",))))
        yield client
        await client.aclose()
