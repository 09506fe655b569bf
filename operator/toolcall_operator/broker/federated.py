"""Access tokens for what another authorization server guards, in exchange for an identity of one's own.

The identity provider states to that server, and to no other, who asks for what
(https://datatracker.ietf.org/doc/draft-ietf-oauth-identity-assertion-authz-grant/); the server gives a token for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from toolcall_operator.broker import discovery, tokenendpoint
from toolcall_operator.broker.discovery import AuthorizationServer
from toolcall_operator.broker.minted import Minted
from toolcall_operator.broker.tokenendpoint import Trouble
from toolcall_operator.core.credentials import layouts
from toolcall_operator.core.credentials.layouts import RefreshMaterial
from toolcall_operator.core.credentials.references import Source
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Clock, Egress

UNTOLD = timedelta(minutes=5)
"""For how long a token counts as good if its server does not say."""

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 (a type)
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105 (a type)
_ASSERTION = "urn:ietf:params:oauth:token-type:id-jag"

_Form = Mapping[str, str | Hidden]


@dataclass(frozen=True, slots=True)
class Federation:
    """Exchanges identities at the authorization servers that are trusted, by their issuers."""

    egress: Egress
    now: Clock
    trusted: tuple[str, ...]

    async def minted(self, source: Source, secret: SecretObject, subject: Hidden | None) -> Minted | Refused:
        """A token of the server that guards the resource; `subject` is the access token of the Secret, and current.

        Nothing that is worth stealing leaves before that server is known to be a trusted one.
        """
        means = layouts.refresh_material(secret)
        if isinstance(means, Refused):
            return means
        if not means.token_endpoint:
            return _unresolved(f"Secret {secret.namespace}/{secret.name} has no key token_endpoint")
        server = await discovery.authorization_server(source.resource_server_url, self.trusted, self.egress)
        if isinstance(server, str):
            return _unresolved(f"discovery: {server}")
        form = _exchange(source, server, _subject(secret, subject), means)
        assertion = await _assertion(form, means.token_endpoint, self.egress)
        if isinstance(assertion, str):
            return _unresolved(f"token-exchange: {assertion}")
        return await self._redeemed(server, _redemption(source, assertion))

    async def _redeemed(self, server: AuthorizationServer, form: _Form) -> Minted | Refused:
        asked_at = self.now()  # the token's life begins no earlier
        found = await tokenendpoint.ask(self.egress, server.token_endpoint, form, "the authorization server")
        if isinstance(found, Trouble):
            return _unresolved(f"jwt-bearer: {found.message}")
        life = timedelta(seconds=found.expires_in) if found.expires_in else UNTOLD
        return Minted(found.access_token, asked_at + life)


async def _assertion(form: _Form, endpoint: str, egress: Egress) -> Hidden | str:
    """What the identity provider states, or why it does not."""
    found = await tokenendpoint.ask(egress, endpoint, form, "the identity provider")
    if isinstance(found, Trouble):
        return found.message
    stated = found.issued_token_type == _ASSERTION and found.token_type.lower() in {"", "n_a"}
    return found.access_token if stated else "the identity provider answered with something else than an assertion"


def _exchange(source: Source, server: AuthorizationServer, subject: _Form, means: RefreshMaterial) -> _Form:
    """The request of https://www.rfc-editor.org/rfc/rfc8693#section-2.1."""
    optional = {"client_id": means.client_id, "client_secret": means.client_secret, "scope": " ".join(source.scopes)}
    return {
        "grant_type": _EXCHANGE,
        "requested_token_type": _ASSERTION,
        "audience": server.issuer,
        "resource": source.resource,
        **subject,
        **{key: value for key, value in optional.items() if value},
    }


def _redemption(source: Source, assertion: Hidden) -> _Form:
    """The request of https://www.rfc-editor.org/rfc/rfc7523#section-2.1."""
    scope = {"scope": " ".join(source.scopes)} if source.scopes else {}
    return {"grant_type": _BEARER, "assertion": assertion, **scope}


def _subject(secret: SecretObject, access_token: Hidden | None) -> _Form:
    """Whose identity it is: by the ID token if there is one, else by the access token, each by its own name."""
    found = layouts.oauth(secret)
    if not isinstance(found, Refused) and found.id_token:
        return {"subject_token": found.id_token, "subject_token_type": _ID_TOKEN}
    return {"subject_token": access_token or "", "subject_token_type": _ACCESS_TOKEN}


def _unresolved(message: str) -> Refused:
    return Refused(Reason.CREDENTIAL_UNRESOLVED, message)
