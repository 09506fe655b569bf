"""One request to a token endpoint, and what its answer is worth."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from toolcall_operator import errors
from toolcall_operator.broker import documents, patience
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Request
from toolcall_operator.ports import Egress

ANSWER_BYTES = 1024 * 1024
LONGEST_LIFE = 10 * 365 * 24 * 3600
"""In seconds: a token that is said to be good for longer is used for as long as that."""

_HEADERS = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
_OK = 200
_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500
# What tokens are made of, and as long as a credential may be: https://www.rfc-editor.org/rfc/rfc6749#appendix-A.12
_TOKEN = re.compile(r"[\x20-\x7e]{1,65536}")


@dataclass(frozen=True, slots=True)
class Grant:
    """What an endpoint grants: `expires_in` is in seconds, None if the token has no end that is known.

    `issued_token_type` says what the access token really is, where that is something else; empty if nobody says.
    `id_token` is what was stated anew of whose tokens they are.
    """

    access_token: Hidden
    refresh_token: Hidden | None = None
    expires_in: int | None = None
    issued_token_type: str = ""
    token_type: str = ""
    id_token: Hidden | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """Nothing was granted: the status of the answer, if there was one, and a message that repeats nothing of it."""

    status: int | None
    message: str

    @property
    def final(self) -> bool:
        """Whether the endpoint refused what it was sent, and will again."""
        client_error = self.status is not None and 400 <= self.status < _SERVER_ERROR  # noqa: PLR2004 (RFC 9110)
        return client_error and self.status != _TOO_MANY_REQUESTS


async def ask(egress: Egress, endpoint: str, form: Mapping[str, str | Hidden], what: str) -> Grant | Trouble:
    """What the token endpoint grants for `form`; `what` is how a message calls it.

    An endpoint that cannot be reached, or is in trouble, is asked again for a while. That repeats a request whose
    answer was lost, on purpose: if it took a refresh token's place there is nothing else left to ask with, and
    endpoints that rotate them put up with a repetition at once rather than later.
    """
    body = urlencode({key: value.reveal() if isinstance(value, Hidden) else value for key, value in form.items()})
    request = Request("POST", endpoint, _HEADERS, body.encode(), answer_bytes=ANSWER_BYTES)
    try:
        answer = await patience.answer(egress, request)
    except (errors.Denied, errors.Unavailable) as trouble:
        return Trouble(None, f"{what} {documents.unheard(trouble)}")
    if not _OK <= answer.status < 300:  # noqa: PLR2004 (RFC 9110: what is successful)
        return Trouble(answer.status, f"{what} answered with status {answer.status}")
    return _grant(answer.body) or Trouble(answer.status, f"{what} answered with nothing usable")


def _grant(body: bytes) -> Grant | None:
    said = documents.parsed(body) or {}
    if (access := _token(said.get("access_token"))) is None:
        return None
    return Grant(
        access,
        refresh_token=_token(said.get("refresh_token")),
        expires_in=_seconds(said.get("expires_in")),
        issued_token_type=_text(said.get("issued_token_type")),
        token_type=_text(said.get("token_type")),
        id_token=_token(said.get("id_token")),
    )


def _text(said: object) -> str:
    return said if isinstance(said, str) else ""


def _token(said: object) -> Hidden | None:
    return Hidden(said) if isinstance(said, str) and _TOKEN.fullmatch(said) else None


def _seconds(said: object) -> int | None:
    """How long a token is good for; some servers write the number as text, and some a 0 for no end."""
    try:
        seconds = float(said) if isinstance(said, int | float | str) and not isinstance(said, bool) else 0.0
    except (ValueError, OverflowError):
        return None
    return int(min(seconds, LONGEST_LIFE)) if math.isfinite(seconds) and seconds >= 1 else None
