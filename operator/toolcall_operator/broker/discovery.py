"""Which authorization server guards a resource, as the resource and the server say; only trusted ones are believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from toolcall_operator.broker import documents
from toolcall_operator.broker.documents import Document
from toolcall_operator.core.exchange import Request
from toolcall_operator.ports import Egress

DOCUMENT_BYTES = 256 * 1024

_RESOURCE = "/.well-known/oauth-protected-resource"
_SERVER = "/.well-known/oauth-authorization-server"
_HTTPS = "https://"


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
    if not resource.startswith(_HTTPS):
        return "the resource is not asked, as its address does not begin with https://"
    about = await _document(_well_known(resource, _RESOURCE), egress)
    if isinstance(about, str):
        return f"the resource {about}"
    if not _same(about.get("resource"), resource):
        return "the resource says that it is another one"
    issuer = next((each for each in _named(about) if each in trusted), None)
    if issuer is None:
        return "the resource names no authorization server that is trusted"
    return await _server(issuer, egress)


async def _server(issuer: str, egress: Egress) -> AuthorizationServer | str:
    if not issuer.startswith(_HTTPS):
        return "the authorization server is not asked, as its issuer does not begin with https://"
    about = await _document(_well_known(issuer, _SERVER), egress)
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


def _well_known(url: str, suffix: str) -> str:
    """Where the metadata of a URL is: the suffix comes between its host and its path, if it has one."""
    parts = urlsplit(url)
    path = parts.path if parts.path != "/" else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}{suffix}{path}{query}"


def _named(about: Document) -> Sequence[str]:
    servers = about.get("authorization_servers")
    return [each for each in servers if isinstance(each, str)] if isinstance(servers, list) else []


def _same(said: object, asked: str) -> bool:
    """Whether it is the same URL: that of a host alone may end with a slash or not."""
    return isinstance(said, str) and _whole(said) == _whole(asked)


def _whole(url: str) -> str:
    parts = urlsplit(url)
    return f"{url}/" if not parts.path and not parts.query and not url.endswith("/") else url
