"""A request to a server outside, and its answer, as values."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Self

from toolcall_operator.core.credentials.values import Hidden

_PORTS = {"http": 80, "https": 443}
_LARGEST_PORT = 65_535
_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_][a-z0-9._-]*))(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)

_LONGEST_URL = 8192
_URL = re.compile(
    r"https?://[^\s\x00-\x1f\x7f/?#@\\]+(?P<path>/[^\s\x00-\x1f\x7f?#\\]*)?(?:\?[^\s\x00-\x1f\x7f#]*)?", re.IGNORECASE
)
_METHOD = re.compile(r"[A-Z]{1,32}", re.ASCII)
_NO_METHODS = frozenset({"CONNECT", "TRACE"})  # they make a tunnel of the connection, or send our headers back
# A token, and visible ASCII with spaces and tabs inside: https://www.rfc-editor.org/rfc/rfc9110#section-5
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}", re.ASCII)
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
# Where a request begins and ends, where it goes, and in which form its answer comes, is the sender's to say.
_NOT_TO_SET = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


@dataclass(frozen=True, slots=True)
class Request:
    """One request; what it says stays out of every repr. A header's value may be a secret.

    `timeout` is for everything: looking up the name, connecting, asking, reading the whole answer, of which at most
    `answer_bytes` are read. `url` is absolute, http or https.
    """

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str | Hidden] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    timeout: timedelta = timedelta(seconds=20)
    answer_bytes: int = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: its status, its headers by lower-case names (repeated ones joined by commas), its body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """Whom a request is sent to; `host` is in lower case, an IPv6 address without its brackets."""

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """An origin as people write it: `https://idp.example`, `http://10.1.2.3:8080`; names in their ASCII form.

        Raises:
            ValueError: it is not one: a path, a user, a wildcard, another scheme.
        """
        parts = _ORIGIN.fullmatch(text.lower())
        host = _host(parts) if parts else ""
        port = int(parts["port"] or _PORTS[parts["scheme"]]) if parts else 0
        if parts is None or not host or not 0 < port <= _LARGEST_PORT:
            raise ValueError("an origin is http or https, a host and perhaps a port: https://idp.example:8443")
        return cls(parts["scheme"], host, port)


def _host(parts: re.Match[str]) -> str:
    """The host of an origin, an IPv6 address in its shortest form; empty if it is none."""
    if parts["v6"] is None:
        return parts["name"]
    try:
        return str(ipaddress.IPv6Address(parts["v6"]))
    except ValueError:
        return ""


def objection(request: Request) -> str | None:
    """Why a request is not sent, wherever it may go: it is malformed. Values show in no objection."""
    return next(_objections(request), None)


def _objections(request: Request) -> Iterator[str]:
    if _METHOD.fullmatch(request.method) is None or request.method in _NO_METHODS:
        yield "its method is none that is sent"
    if len(request.url) > _LONGEST_URL:
        yield f"its URL is longer than {_LONGEST_URL} characters"
    url = _URL.fullmatch(request.url)
    if url is None:
        yield "its URL is not absolute, http or https, without user, password and fragment"
    elif _climbs(url["path"] or ""):
        yield "its path has a segment that is . or .."
    yield from _of_headers(request.headers)


def _climbs(path: str) -> bool:
    """Whether whoever reads the path ends elsewhere: https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4."""
    return any(segment.lower().replace("%2e", ".") in {".", ".."} for segment in path.split("/"))


def _of_headers(headers: Mapping[str, str | Hidden]) -> Iterator[str]:
    seen = set()
    for name, value in headers.items():
        if _HEADER_NAME.fullmatch(name) is None:
            yield "a header's name is not made of letters, digits and hyphens"
        elif name.lower() in _NOT_TO_SET:
            yield f"header {name} is not the caller's to set"
        elif name.lower() in seen:
            yield f"header {name} is there twice"
        elif _HEADER_VALUE.fullmatch(value.reveal() if isinstance(value, Hidden) else value) is None:
            yield f"the value of header {name} holds what no header may: a line break, another control or no ASCII"
        seen.add(name.lower())
