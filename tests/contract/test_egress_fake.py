"""The suite of ways out on the fake."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest

from tests.contract.egress import Arrived, EgressSuite
from tests.fakes.egress import FakeEgress, Part
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Request


async def _silent(_: Request) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError("nothing comes")


class Scripted:
    """The fake, with one script for every URL of its server."""

    origin = "https://outside.example"

    def __init__(self) -> None:
        self.egress = FakeEgress()
        self._parts: list[Part] = []

    def answer(self, *answers: Answer | None) -> None:
        parts = [_silent if answer is None else answer for answer in answers]
        for path in ("/", "/a/b?c=d", "/s3cr3t-0123456789?q=s3cr3t-0123456789"):
            self.egress.script(f"{self.origin}{path}", *parts)

    def arrived(self) -> list[Arrived]:
        return [_arrived(request) for request in self.egress.sent]

    async def silence(self) -> None:
        self.egress.scripts.clear()


def _arrived(request: Request) -> Arrived:
    url = urlsplit(request.url)
    headers = {
        name.lower(): value.reveal() if isinstance(value, Hidden) else value for name, value in request.headers.items()
    }
    return Arrived(request.method, f"{url.path}?{url.query}" if url.query else url.path, headers, request.body)


class TestFakeEgress(EgressSuite):
    @pytest.fixture
    def outside(self) -> Scripted:
        return Scripted()
