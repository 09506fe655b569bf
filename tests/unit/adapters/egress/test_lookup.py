"""The system's own lookup."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from toolcall_operator.adapters.egress.lookup import SystemResolver

FAR = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 443))]


@pytest.fixture
def resolver() -> SystemResolver:
    return SystemResolver()


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The servers of names below slow.test are silent until this is set."""
    release = threading.Event()

    def look_up(host: bytes, *_: object, flags: int, **__: object) -> list[Any]:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "no literal")
        if host.endswith(b"slow.test"):
            release.wait()
        return FAR

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield release
    release.set()


@pytest.mark.parametrize(
    ("host", "address"),
    (
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("169.254.43518", "169.254.169.254"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
        ("::1", "::1"),
    ),
)
async def test_a_literal_is_the_address_that_would_be_dialled(
    resolver: SystemResolver, host: str, address: str
) -> None:
    assert await resolver(host, 443) == (address,)


async def test_a_name_has_each_of_its_addresses_once(resolver: SystemResolver) -> None:
    found = await resolver("localhost", 443)

    assert len(found) == len(set(found))
    assert set(found) <= {"127.0.0.1", "::1"}


@pytest.mark.parametrize("host", (f"{'a' * 64}.invalid", "a..invalid", "_.invalid"))
async def test_a_name_that_cannot_be_has_no_address(resolver: SystemResolver, host: str) -> None:
    with pytest.raises(socket.gaierror):
        await resolver(host, 443)


async def test_names_whose_servers_are_silent_hold_up_no_other_name_and_no_other_thread(
    resolver: SystemResolver, hanging: threading.Event
) -> None:
    slow = [asyncio.create_task(resolver(f"{number}.slow.test", 443)) for number in range(100)]
    await asyncio.sleep(0)

    assert await resolver("quick.test", 443) == ("93.184.216.34",)
    assert await asyncio.to_thread(lambda: "done") == "done"

    hanging.set()
    assert set(await asyncio.gather(*slow)) == {("93.184.216.34",)}


async def test_who_gives_up_frees_a_thread_only_when_it_has_ended(
    resolver: SystemResolver, hanging: threading.Event
) -> None:
    slow = [asyncio.create_task(resolver("slow.test", 443)) for _ in range(128)]
    await asyncio.sleep(0)
    for asking in slow:
        asking.cancel()
    results = await asyncio.gather(*slow, return_exceptions=True)
    waiting = asyncio.create_task(resolver("quick.test", 443))
    await asyncio.sleep(0.01)

    assert {type(result) for result in results} == {asyncio.CancelledError}
    assert not waiting.done()

    hanging.set()
    assert await waiting == ("93.184.216.34",)


async def test_without_a_thread_there_is_no_address(resolver: SystemResolver, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)

    for _ in range(200):
        with pytest.raises(OSError, match="no thread"):
            await resolver("host.test", 443)


def test_a_lookup_that_hangs_does_not_outlive_the_loop(hanging: threading.Event) -> None:
    async def give_up() -> None:
        asking = asyncio.create_task(SystemResolver()("slow.test", 443))
        await asyncio.sleep(0)
        asking.cancel()

    asyncio.run(give_up())
    hanging.set()

    for thread in threading.enumerate():
        if thread.name == "lookup":
            assert thread.daemon
            thread.join()
