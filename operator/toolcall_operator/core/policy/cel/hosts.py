"""The host a URL leads to, and patterns of hosts: nothing that two programs could read differently."""

from __future__ import annotations

import ipaddress
import re

LONGEST = 8_192
"""A longer text is no URL."""

_NAME = 253
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<authority>[^/?#]+)(?:[/?#].*)?", re.ASCII)
_SCP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*@(?P<host>\[[0-9A-Fa-f:.]+\]|[^/@:\[\]]+):(?!//).+", re.ASCII)
_AUTHORITY = re.compile(r"(?:[^@]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^@:\[\]]+)(?::(?P<port>[0-9]{0,5}))?", re.ASCII)
_STRANGE = re.compile(r"[^\x21-\x7e]|\\", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_PORTS = range(1, 65_536)


def of(url: str) -> str:
    """The host of a URL in lower case, with the port if it names one; "" for what is no plain URL.

    A URL has a scheme; besides, git's `user@host:path` is understood. User names are left away, a dot at the end too.
    White space, control characters, backslashes, letters beyond ASCII, percent signs in the host and addresses in
    strange spellings make it "": programs differ in where they would lead.
    """
    if len(url) > LONGEST or _STRANGE.search(url):
        return ""
    if found := _URL.fullmatch(url):
        authority = _AUTHORITY.fullmatch(found["authority"])
        return _with_port(authority["host"], authority["port"]) if authority else ""
    scp = _SCP.fullmatch(url)
    return _host(scp["host"]) if scp else ""


def matches(host: str, pattern: str) -> bool:
    """Whether a host is the one named, or is below the domain of `*.domain`; the domain itself is not below."""
    host, pattern = host.lower(), pattern.lower()
    if not pattern.startswith("*."):
        return bool(host) and host == pattern
    below = pattern[1:]
    return len(below) > 1 and len(host) > len(below) and host.endswith(below)


def _with_port(host: str, port: str | None) -> str:
    name = _host(host)
    if not name or not port:
        return name
    return f"{name}:{int(port)}" if int(port) in _PORTS else ""


def _host(written: str) -> str:
    """The host as there is but one way to write it; "" for none."""
    if written.startswith("["):
        return _sixth(written[1:-1])
    name = written.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _NAME or not all(map(_LABEL.fullmatch, labels)):
        return ""
    return _fourth(name) if _NUMBER.fullmatch(labels[-1]) else name


def _sixth(address: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(address).compressed}]"
    except ValueError:
        return ""


def _fourth(address: str) -> str:
    """Four numbers without leading zeros: anything else is read as another address by some programs."""
    try:
        return str(ipaddress.IPv4Address(address))
    except ValueError:
        return ""
