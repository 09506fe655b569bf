"""One module asks servers outside: whatever else opens a connection is named here, with whom it speaks to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "operator" / "toolcall_operator"

# Modules that can open a connection, of the standard library, of our dependencies, and those that people reach for.
CLIENTS = frozenset(
    {
        *("socket", "ssl", "http.client", "urllib.request", "xmlrpc", "ftplib", "smtplib", "poplib", "imaplib"),
        *("telnetlib", "nntplib", "socketserver", "logging.handlers", "multiprocessing", "importlib.import_module"),
        *("aiohttp", "kubernetes", "kopf", "obstore", "httpx", "httpcore", "h11", "anyio"),
        *("requests", "urllib3", "websockets", "websocket", "trio", "pycurl", "grpc", "boto3", "aiodns", "dns"),
    }
)
# Functions that do, or that hide which module is imported, under whatever name their module has.
DOORS = frozenset(
    {
        *("open_connection", "open_unix_connection", "create_connection", "create_unix_connection"),
        *("create_datagram_endpoint", "sock_connect", "getaddrinfo", "PyJWKClient", "import_module", "__import__"),
    }
)

# module of the package → what it may use
NAMED: Mapping[str, frozenset[str]] = {
    "adapters/egress/asking.py": frozenset({"httpx", "httpcore"}),  # the seam: servers outside
    "adapters/egress/connections.py": frozenset({"httpcore"}),
    "adapters/egress/dialing.py": frozenset({"httpcore", "socket", "ssl"}),
    "adapters/egress/lookup.py": frozenset({"socket", "getaddrinfo"}),
    "adapters/egress/troubles.py": frozenset({"httpcore", "socket", "ssl"}),
    "adapters/egress/trust.py": frozenset({"ssl"}),
    "adapters/cluster/config.py": frozenset({"kubernetes", "ssl"}),  # the API server
    "adapters/cluster/transport.py": frozenset({"aiohttp"}),
    "adapters/cluster/exec.py": frozenset({"aiohttp"}),
    "handlers.py": frozenset({"kopf"}),
    "adapters/sandbox/child.py": frozenset({"socket", "open_unix_connection"}),  # a child process, over a socket pair
    "adapters/artifacts.py": frozenset({"obstore"}),  # the object store
}


def ways_out(source: str) -> frozenset[str]:
    """What a module uses that can open a connection."""
    return frozenset(found for node in ast.walk(ast.parse(source)) for name in _named(node) for found in _matched(name))


def _named(node: ast.AST) -> Iterator[str]:
    """The modules and functions that a piece of code speaks of."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names):
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
            yield f".{name}"


def _matched(name: str) -> Iterator[str]:
    yield from (client for client in CLIENTS if f"{name}.".startswith(f"{client}."))
    if (last := name.rpartition(".")[2]) in DOORS:
        yield last


def modules() -> list[str]:
    return sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("module", modules())
def test_a_module_opens_no_connection_but_those_it_is_named_for(module: str) -> None:
    assert ways_out((PACKAGE / module).read_text()) == NAMED.get(module, frozenset())


def test_every_module_that_is_named_exists() -> None:
    assert set(NAMED) <= set(modules())


@pytest.mark.parametrize(
    "line",
    (
        "import httpx",
        "import httpx as harmless",
        "from httpx import AsyncClient",
        "from httpx._transports import default",
        "import urllib.request",
        "from urllib import request",
        "from urllib.request import urlopen",
        "import http.client",
        "from http import client",
        "import requests",
        "import socket",
        "from socket import create_connection",
        "import aiohttp.web",
        "import kubernetes",
        "import asyncio\nasyncio.open_connection('host', 1)",
        "from asyncio import open_connection",
        "def f(loop): return loop.create_connection",
        "def f(loop): loop.getaddrinfo('host', 1)",
        "import asyncio\ngetattr(asyncio, 'open_connection')",
        "import importlib\nimportlib.import_module('httpx')",
        "from importlib import import_module",
        "__import__('httpx')",
        "def f():\n    import httpx",
        "import jwt\njwt.PyJWKClient('https://host')",
        "if TYPE_CHECKING:\n    import httpx",
    ),
)
def test_a_planted_way_out_is_found(line: str) -> None:
    assert ways_out(line)


@pytest.mark.parametrize(
    "line",
    (
        "from urllib.parse import urlencode",
        "import urllib.parse",
        "from http import HTTPStatus",
        "import asyncio",
        "import importlib.resources",
        "from toolcall_operator.adapters.cluster import transport",
        "requests = 1",
        "'requests'",
    ),
)
def test_what_opens_nothing_is_not_found(line: str) -> None:
    assert not ways_out(line)
