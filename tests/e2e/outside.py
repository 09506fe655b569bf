"""A server outside that gives tokens: GitHub, an identity provider and a resource in one, by TLS on this machine."""

from __future__ import annotations

import json
import secrets
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme


class Outside(ThreadingHTTPServer):
    """It believes everybody; `given` are the tokens it gave, and `ca` is the file of its certificate authority."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.given: list[str] = []
        self.ca = folder / "outside.pem"
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.ca))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(tls)
        self.socket = tls.wrap_socket(self.socket, server_side=True)

    @property
    def origin(self) -> str:
        """Its origin, which is its name as an issuer, too."""
        return f"https://127.0.0.1:{self.server_port}"

    @property
    def resource(self) -> str:
        """The address of what it guards."""
        return f"{self.origin}/mcp"

    @property
    def renewal(self) -> str:
        """The token endpoint of the resource's authorization server, which renews its tokens as well."""
        return f"{self.origin}/token"

    @property
    def exchange(self) -> str:
        """The token endpoint of its identity provider."""
        return f"{self.origin}/idp/token"

    def answer(self, method: str, path: str) -> tuple[int, dict[str, Any]]:
        """What it says to one request."""
        match method, path:
            case "POST", "/app/installations/7/access_tokens":
                ends = datetime.now(UTC) + timedelta(hours=1)
                return 201, {"token": self._token("ghs"), "expires_at": ends.strftime("%Y-%m-%dT%H:%M:%SZ")}
            case "POST", "/idp/token":
                kind = "urn:ietf:params:oauth:token-type:id-jag"
                given = {"access_token": self._token("jag"), "issued_token_type": kind, "token_type": "N_A"}
                return 200, {**given, "expires_in": 300}
            case "POST", "/token":
                return 200, {"access_token": self._token("at"), "token_type": "Bearer", "expires_in": 3600}
            case "GET", "/.well-known/oauth-protected-resource/mcp":
                return 200, {"resource": self.resource, "authorization_servers": [self.origin]}
            case "GET", "/.well-known/oauth-authorization-server":
                return 200, {"issuer": self.origin, "token_endpoint": self.renewal}
        return 404, {}

    def _token(self, kind: str) -> str:
        self.given.append(f"{kind}_{secrets.token_hex(16)}")
        return self.given[-1]


class _Answering(BaseHTTPRequestHandler):
    """Reads a request, and gives the server's answer."""

    server: Outside

    def do_GET(self) -> None:
        """Answer."""
        self._answer()

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self._answer()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        status, answer = self.server.answer(self.command, self.path)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(folder: Path) -> Iterator[Outside]:
    """The server, while the context is open."""
    server = Outside(folder)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
