"""Where curl and git connect to is the host that the toolkits' effects tell, or the effects tell none."""

from __future__ import annotations

import shlex
import socketserver
import threading
from collections.abc import Iterator

import pytest

from tests.toolkits.programs import Run
from tests.unit.examples.test_attacks import ATTACKS
from toolcall_operator.core.policy.cel import hosts

URLS = (
    "http://api.example.com/x",
    "http://API.Example.com/x",
    "http://api.example.com:8080/x",
    "http://me:word@api.example.com/x",
    "http://api.example.com./x",
    "http://api.example.com?x=http://evil.example/",
    "http://api.example.com#@evil.example/",
    "http://a.b@c.d@evil.example/",
    "http://[::1]:8080/x",
    "http://127.0.0.1/x",
)


class Proxy(socketserver.ThreadingTCPServer):
    """Takes connections on this machine, notes which hosts were asked for, and answers nothing of use."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _Asked)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def told(self) -> set[str]:
        """The hosts that were asked for since the last time."""
        asked, self.asked = self.asked, []
        return {*asked}


class _Asked(socketserver.StreamRequestHandler):
    server: Proxy

    def handle(self) -> None:
        """Note the host of the request's first line, which is a whole URL; refuse it."""
        words = self.rfile.readline(8_192).decode("latin-1").split(" ")
        authority = words[1].partition("://")[2].partition("/")[0].partition("?")[0]
        self.server.asked.append(authority.rpartition("@")[2].lower().removesuffix("."))
        self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with Proxy() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _of_attacks() -> list[str]:
    """URLs that are meant to be taken for others, asked for without encryption."""
    words = {word for line in ATTACKS["curl"] for word in shlex.split(line) if word.startswith(("http", "https"))}
    return sorted(word.replace("https://", "http://") for word in words)


@pytest.mark.parametrize("url", (*URLS, *_of_attacks()))
def test_curl_goes_where_the_effects_say(url: str, run: Run, proxy: Proxy) -> None:
    told = hosts.of(url)
    run("curl")("-q", "-sS", "-g", "-m", "5", "-x", proxy.url, "--", url)

    asked = {host.removesuffix(":80") for host in proxy.told()}
    assert not told or asked <= {told}


@pytest.mark.parametrize("url", URLS)
def test_git_goes_where_the_effects_say(url: str, run: Run, proxy: Proxy) -> None:
    told = hosts.of(url)
    run("git")("ls-remote", url, http_proxy=proxy.url, GIT_TERMINAL_PROMPT="0")

    asked = {host.removesuffix(":80") for host in proxy.told()}
    assert not told or asked <= {told}


def test_the_proxy_sees_what_curl_asks_for(run: Run, proxy: Proxy) -> None:
    """If it saw nothing, the tests above would say nothing."""
    run("curl")("-q", "-sS", "-m", "5", "-x", proxy.url, "http://api.example.com@evil.example/")

    assert proxy.told() == {"evil.example"}
