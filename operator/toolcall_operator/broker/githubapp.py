"""Tokens of a GitHub App's installation: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import jwt

from toolcall_operator.broker import documents, rsakeys
from toolcall_operator.broker.minted import Minted
from toolcall_operator.core.credentials import layouts, text
from toolcall_operator.core.credentials.layouts import GitHubApp
from toolcall_operator.core.credentials.references import Source
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Request
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Clock, Egress

EARLIER, LATER = timedelta(seconds=30), timedelta(minutes=9)
"""A statement of the app is good from before now, as clocks differ, and for less than the 10 minutes GitHub takes."""

ANSWER_BYTES = 1024 * 1024

_HEADERS = {
    "accept": "application/vnd.github+json",
    "content-type": "application/json",
    "user-agent": "toolcall-operator",
    "x-github-api-version": "2022-11-28",
}


async def minted(
    source: Source, secret: SecretObject, _subject: Hidden | None, *, egress: Egress, now: Clock
) -> Minted | Refused:
    """A token of the installation, narrowed to what the source asks for."""
    app = layouts.github_app(secret)
    if isinstance(app, Refused):
        return app
    statement = _statement(app, now())
    if statement is None:
        return _invalid(secret, "key private-key is no RSA private key in PEM, or has more than 4,096 bits")
    answer = await documents.document(egress, _request(source, app, statement))
    if isinstance(answer, str):
        return _unresolved(app, f"GitHub {answer}")
    value, ends = answer.get("token"), answer.get("expires_at")
    token = text.text(value.encode()) if isinstance(value, str) and value.isascii() else ""
    expires_at = layouts.moment(ends) if isinstance(ends, str) else None
    if not isinstance(token, Hidden) or expires_at is None:
        return _unresolved(app, "GitHub answered with nothing usable")
    return Minted(token, expires_at)


def _statement(app: GitHubApp, now: datetime) -> Hidden | None:
    """What proves to be the app; None if its key is none, or too short to sign anything."""
    key = rsakeys.private_key(app.private_key)
    if key is None:
        return None
    claims = {"iss": app.app_id, "iat": int((now - EARLIER).timestamp()), "exp": int((now + LATER).timestamp())}
    try:
        return Hidden(jwt.encode(claims, key, algorithm="RS256"))
    except Exception:  # noqa: BLE001 (as of the key itself, nothing a library says of it is kept)
        return None


def _request(source: Source, app: GitHubApp, statement: Hidden) -> Request:
    narrowed: dict[str, Any] = {}
    if source.repositories:
        narrowed["repositories"] = list(source.repositories)
    if source.permissions:
        narrowed["permissions"] = dict(source.permissions)
    return Request(
        "POST",
        f"{app.base_url}/app/installations/{app.installation_id}/access_tokens",
        {**_HEADERS, "authorization": Hidden(f"Bearer {statement.reveal()}")},
        json.dumps(narrowed).encode() if narrowed else b"",
        answer_bytes=ANSWER_BYTES,
    )


def _invalid(secret: SecretObject, words: str) -> Refused:
    return Refused(Reason.CREDENTIAL_INVALID, f"Secret {secret.namespace}/{secret.name} {words}")


def _unresolved(app: GitHubApp, words: str) -> Refused:
    return Refused(Reason.CREDENTIAL_UNRESOLVED, f"no token for installation {app.installation_id}: {words}")
