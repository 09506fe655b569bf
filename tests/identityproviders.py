"""Servers that give tokens, for tests: an identity provider, authorization servers, what they guard, and a GitHub.

They are one program, `hack/oauthserver`, and each verifies what a real one does. Everybody stands at one origin:
the identity provider at `/idp`, an authorization server at `/as`, another that nobody should trust at `/evil`, and
GitHub's API at `/github`. `/api/honest` is guarded by `/as` and says so. The others lie: `/api/another` says that it is
`/api/honest`, `/api/untrusted` names `/evil`, and `/api/impostor` names `/impostor`, which says that it is `/as`.
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from toolcall_operator.api import times

ROOT = Path(__file__).parent.parent
HONEST = "/api/honest"
_SECONDS = 30

Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class IdentityProviders:
    """The servers that run, and what their clients need: `ca` is a file, `app_key` GitHub's App's private key."""

    origin: str
    admin: str
    client_id: str
    client_secret: str = field(repr=False)
    app_id: str
    installation_id: str
    app_key: str = field(repr=False)
    ca: Path

    def at(self, path: str) -> str:
        """Who stands at a path."""
        return self.origin + path

    def login(self, seconds: float = 600) -> dict[str, Any]:
        """First tokens of a user, in the words of a token endpoint; each access token is good for so long."""
        return dict(self._told("/login", seconds=seconds))

    def oauth(self, ends: datetime, *kinds: str) -> dict[str, str]:
        """What an oauth Secret holds: first tokens of a user, of other `kinds` too; when they end by what it says."""
        tokens = self.login()
        return {
            **{kind: tokens[kind] for kind in ("access_token", "refresh_token", *kinds)},
            "expires_at": times.render(ends),
            "token_endpoint": self.at("/idp/token"),
            "client_id": self.client_id,
            "client_secret": self.client_secret,
        }

    def github_app(self) -> dict[str, str]:
        """What a githubApp Secret holds."""
        return {
            "app-id": self.app_id,
            "installation-id": self.installation_id,
            "private-key": self.app_key,
            "base-url": self.at("/github"),
        }

    def trouble(self, kind: str, *, times: int = 1, **what: object) -> None:
        """What becomes of the next requests of a kind: `seconds` of waiting, a `status`, or the answer is `lost`."""
        self._told("/trouble", kind=kind, times=times, **what)

    def counts(self) -> Counts:
        """How many requests there were since this was asked before, by kind and status.

        A kind is method and path, and where tokens are asked for also how: `POST /as/token jwt-bearer`.
        """
        return dict(self._told("/counts"))

    def waiting(self) -> Mapping[str, int]:
        """How many requests of each kind wait now, because they are made to."""
        return dict(self._told("/waiting"))

    def tokens(self) -> tuple[str, ...]:
        """Every token that went over the wire so far, to whomever: access, refresh and ID tokens, and assertions."""
        return tuple(self._told("/tokens"))

    def opened(self, path: str, token: str) -> tuple[int, Any]:
        """What is answered at a path to whoever has this token: the status, and what it says in JSON."""
        whom = urlsplit(self.origin)
        trust = ssl.create_default_context(cafile=self.ca)
        with closing(http.client.HTTPSConnection(whom.netloc, timeout=_SECONDS, context=trust)) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            return _answered(connection)

    def _told(self, path: str, **what: object) -> Any:  # noqa: ANN401 - it is JSON
        with closing(http.client.HTTPConnection(urlsplit(self.admin).netloc, timeout=_SECONDS)) as connection:
            connection.request("POST", path, json.dumps(what))
            status, said = _answered(connection)
        assert status == http.client.OK, said
        return said


def _answered(connection: http.client.HTTPConnection) -> tuple[int, Any]:
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


@contextmanager
def started(folder: Path) -> Iterator[IdentityProviders]:
    """The servers, until whoever started them is done, or dies; `folder` is for their keys."""
    subprocess.run([ROOT / "hack" / "build", "oauthserver"], check=True)
    app_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    argv = [str(ROOT / "build" / "oauthserver"), *_certified(folder), f"-app-key={_public(folder, app_key)}"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        said = json.loads(server.stdout.readline())
        try:
            yield IdentityProviders(**said, app_key=_private(app_key), ca=folder / "ca.pem")
        finally:
            server.stdin.close()
            server.wait(_SECONDS)


def _certified(folder: Path) -> Iterator[str]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    leaf = authority.issue_cert("127.0.0.1")
    leaf.private_key_pem.write_to_path(folder / "key.pem")
    for number, certificate in enumerate(leaf.cert_chain_pems):
        certificate.write_to_path(folder / "certificate.pem", append=number > 0)
    yield f"-certificate={folder / 'certificate.pem'}"
    yield f"-key={folder / 'key.pem'}"


def _public(folder: Path, key: rsa.RSAPrivateKey) -> Path:
    file = folder / "app.pem"
    form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    file.write_bytes(key.public_key().public_bytes(*form))
    return file


def _private(key: rsa.RSAPrivateKey) -> str:
    """As GitHub hands it out."""
    form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(*form, serialization.NoEncryption()).decode()
