"""Which authorization server guards a resource, as the resource and the server say; only trusted ones are believed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolcall_operator.broker import documents
from toolcall_operator.broker.documents import Document
from toolcall_operator.core.exchange import Request
from toolcall_operator.ports import Egress

DOCUMENT_BYTES = 256 * 1024

_RESOURCE = "/.well-known/oauth-protected-resource"
_SERVER = "/.well-known/oauth-authorization-server"
_HTTPS = "https://"
# What both sides say is compared and put together as text, never parsed: readers of URLs differ, and some raise.
_URL = re.compile(r"(?P<host>https://[^/?#\\\s]+)(?P<path>/[^?#\s]*)?(?P<query>\?[^#\s]*)?")


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """An authorization server that is trusted, and where it gives tokens."""

    issuer: str
    token_endpoint: str


async def authorization_server(resource: str, trusted: Sequence[str], egress: Egress) -> AuthorizationServer | str:
    """The first trusted server that the resource names, or why there is none.

    What the resource says counts only if it speaks of itself (https://www.rfc-editor.org/rfc/rfc9728#section-3.3), and
    what the server says likewise (https://www.rfc-editor.org/rfc/rfc8414#section-3.3): whoever answers for another
    would have its tokens sent to himself.
    """
    if (place := _well_known(resource, _RESOURCE)) is None:
        return "the resource is not asked, as its address is not https://, a host and perhaps a path"
    about = await _document(place, egress)
    if isinstance(about, str):
        return f"the resource {about}"
    if not _same(about.get("resource"), resource):
        return "the resource says that it is another one"
    issuer = next((each for each in _named(about) if each in trusted), None)
    if issuer is None:
        return "the resource names no authorization server that is trusted"
    return await _server(issuer, egress)


async def _server(issuer: str, egress: Egress) -> AuthorizationServer | str:
    if (place := _well_known(issuer.removesuffix("/"), _SERVER)) is None:
        return "the authorization server is not asked, as its issuer is not https://, a host and perhaps a path"
    about = await _document(place, egress)
    if isinstance(about, str):
        return f"the authorization server {about}"
    if about.get("issuer") != issuer:
        return "the authorization server says that it is another one"
    endpoint = about.get("token_endpoint")
    if not isinstance(endpoint, str) or not endpoint.startswith(_HTTPS):
        return "the authorization server has no token endpoint that begins with https://"
    return AuthorizationServer(issuer, endpoint)


async def _document(url: str, egress: Egress) -> Document | str:
    headers = {"accept": "application/json"}
    return await documents.document(egress, Request("GET", url, headers, answer_bytes=DOCUMENT_BYTES))


def _well_known(url: str, suffix: str) -> str | None:
    """Where the metadata of a URL is: the suffix comes between its host and its path, if it has one."""
    if (parts := _URL.fullmatch(url)) is None:
        return None
    path = parts["path"] or ""
    return f"{parts['host']}{suffix}{'' if path == '/' else path}{parts['query'] or ''}"


def _named(about: Document) -> Sequence[str]:
    servers = about.get("authorization_servers")
    return [each for each in servers if isinstance(each, str)] if isinstance(servers, list) else []


def _same(said: object, asked: str) -> bool:
    """Whether it is the same URL: that of a host alone may end with a slash or not."""
    parts = _URL.fullmatch(asked)
    if parts and not parts["query"] and parts["path"] in {None, "/"}:
        return said in {parts["host"], f"{parts['host']}/"} if isinstance(said, str) else False
    return said == asked
