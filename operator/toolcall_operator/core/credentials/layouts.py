"""What the Secrets of each type of credential hold, by their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from toolcall_operator.core.credentials import text
from toolcall_operator.core.credentials.secrets import REFRESH_MATERIAL, SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason

GITHUB = "https://api.github.com"

_MAKERS = {"access_token": ("refresh_token", "client_secret"), "app-id": ("private-key",)}
"""By the key that tells what a Secret is for, those of its keys that no call is given."""

_APP = re.compile(r"[A-Za-z0-9.]{1,64}", re.ASCII)
_INSTALLATION = re.compile(r"[0-9]{1,20}", re.ASCII)

_RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:[0-5]\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class OAuthToken:
    """An access token, and when it ends, if it does; `id_token` is the statement about its owner that came with it."""

    access_token: Hidden
    expires_at: datetime | None = None
    id_token: Hidden | None = None


@dataclass(frozen=True, slots=True)
class RefreshMaterial:
    """What an access token is renewed with, as far as one Secret holds it; texts that it does not hold are empty."""

    refresh_token: Hidden | None = None
    token_endpoint: str = ""
    client_id: str = ""
    client_secret: Hidden | None = None
    scope: str = ""

    @property
    def whole(self) -> bool:
        """Whether it needs nothing of another Secret."""
        return self.refresh_token is not None and bool(self.token_endpoint)


@dataclass(frozen=True, slots=True)
class GitHubApp:
    """A GitHub App, its key, and the installation that a token is made for."""

    app_id: str
    private_key: Hidden
    installation_id: str
    base_url: str = GITHUB


def static(secret: SecretObject, key: str) -> Hidden | Refused:
    """The value of one key; not of one that is kept for making others, which are good for less and not for as long."""
    if REFRESH_MATERIAL in secret.labels or any(mark in secret.data and key in keys for mark, keys in _MAKERS.items()):
        words = f"Secret {secret.namespace}/{secret.name} key {key} is for making tokens, and not given to calls"
        return Refused(Reason.CREDENTIAL_SOURCE_FORBIDDEN, words)
    found = _read(secret, needed=(key,))
    return found if isinstance(found, Refused) else found[key]


def oauth(secret: SecretObject) -> OAuthToken | Refused:
    """An access token; without a time of its end it never ends."""
    found = _read(secret, needed=("access_token",), optional=("expires_at", "id_token"))
    if isinstance(found, Refused):
        return found
    expires_at = None
    if ends := found.get("expires_at"):
        expires_at = moment(ends.reveal())
        if expires_at is None:
            return _invalid(secret, "expires_at", "is no time of RFC 3339, such as 2026-03-01T12:00:00Z")
    return OAuthToken(found["access_token"], expires_at, found.get("id_token"))


def refresh_material(secret: SecretObject) -> RefreshMaterial | Refused:
    """What an access token is renewed with, as far as it is there."""
    keys = ("refresh_token", "token_endpoint", "client_id", "client_secret", "scope")
    found = _read(secret, optional=keys)
    if isinstance(found, Refused):
        return found
    texts = {key: found[key].reveal() for key in ("token_endpoint", "client_id", "scope") if key in found}
    return RefreshMaterial(refresh_token=found.get("refresh_token"), client_secret=found.get("client_secret"), **texts)


def github_app(secret: SecretObject) -> GitHubApp | Refused:
    """A GitHub App; its key is the one value of several lines."""
    found = _read(secret, needed=("app-id", "installation-id"), optional=("base-url",))
    if isinstance(found, Refused):
        return found
    key = _pem(secret, "private-key")
    if isinstance(key, Refused):
        return key
    base = found["base-url"].reveal().rstrip("/") if "base-url" in found else GITHUB
    app = GitHubApp(found["app-id"].reveal(), key, found["installation-id"].reveal(), base)
    return next((_invalid(secret, *each) for each in _misplaced(app)), app)


def _misplaced(app: GitHubApp) -> Iterator[tuple[str, str]]:
    """What of an app has no place in a URL or a statement, by its key."""
    if not _APP.fullmatch(app.app_id):
        yield "app-id", "is not the number of an app, or its client ID"
    if not _INSTALLATION.fullmatch(app.installation_id):
        yield "installation-id", "is not the number of an installation"
    if not app.base_url.startswith("https://"):
        yield "base-url", "does not begin with https://"


def _read(
    secret: SecretObject, needed: tuple[str, ...] = (), optional: tuple[str, ...] = ()
) -> dict[str, Hidden] | Refused:
    """The values of these keys; one that may be left out may be empty as well."""
    found: dict[str, Hidden] = {}
    for key in (*needed, *optional):
        raw = secret.data.get(key)
        if raw is None or (key in optional and not raw.strip()):
            if key in needed:
                return _missing(secret, key)
            continue
        value = text.text(raw)
        if isinstance(value, str):
            return _invalid(secret, key, value)
        found[key] = value
    return found


def _pem(secret: SecretObject, key: str) -> Hidden | Refused:
    raw = secret.data.get(key)
    if raw is None:
        return _missing(secret, key)
    if not raw.strip():
        return _invalid(secret, key, "is empty")
    if len(raw) > text.LONGEST or not raw.isascii() or b"\0" in raw:
        return _invalid(secret, key, "is no private key in PEM")
    return Hidden(raw.decode("ascii"))


def moment(value: str) -> datetime | None:
    """A moment, which names its offset from UTC: https://www.rfc-editor.org/rfc/rfc3339#section-5.6."""
    if _RFC_3339.fullmatch(value) is None:
        return None
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _missing(secret: SecretObject, key: str) -> Refused:
    return Refused(Reason.CREDENTIAL_UNRESOLVED, f"Secret {secret.namespace}/{secret.name} has no key {key}")


def _invalid(secret: SecretObject, key: str, words: str) -> Refused:
    return Refused(Reason.CREDENTIAL_INVALID, f"Secret {secret.namespace}/{secret.name} key {key} {words}")
