"""The suite of ways out on the real one, which asks a server on loopback that is opened for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract.egress import Arrived, EgressSuite
from tests.unit.adapters.egress import serving
from tests.unit.adapters.egress.serving import Server
from toolcall_operator.adapters.egress.egress import HttpEgress
from toolcall_operator.adapters.egress.policy import Policy
from toolcall_operator.core.exchange import Answer


class Loopback:
    """The real way out, and a server at its other end."""

    def __init__(self, server: Server, egress: HttpEgress) -> None:
        self.egress = egress
        self._server = server

    @property
    def origin(self) -> str:
        return self._server.origin

    def answer(self, *answers: Answer | None) -> None:
        self._server.plays = [serving.never if answer is None else _said(answer) for answer in answers]

    def arrived(self) -> list[Arrived]:
        return [Arrived(asked.method, asked.target, asked.headers, asked.body) for asked in self._server.asked]

    async def silence(self) -> None:
        await self._server.stop()


def _said(answer: Answer) -> bytes:
    return serving.head(answer.status, Content_Length=str(len(answer.body)), **answer.headers) + answer.body


class TestHttpEgress(EgressSuite):
    @pytest.fixture
    async def outside(self) -> AsyncIterator[Loopback]:
        async with serving.serving() as server:
            egress = HttpEgress(Policy.parse([server.origin]))
            yield Loopback(server, egress)
            await egress.aclose()
