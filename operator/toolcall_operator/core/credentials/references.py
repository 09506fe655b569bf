"""References to credentials: what a call asks for, with everything that decides what it is given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

EARLY = timedelta(minutes=1)
"""How long before its end a token counts as expired, unless its AgentIdentity says otherwise: a call takes time."""


class Kind(StrEnum):
    """How a Secret is read, and when what it yields expires: the types of the API."""

    STATIC = "static"
    OAUTH = "oauth"
    FEDERATED = "federated"
    GITHUB_APP = "githubApp"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a credential comes from; two sources that are equal yield the same credential.

    `permissions` are pairs of a name and a level, sorted by name. `early` is how long before its end a token counts as
    expired.
    """

    kind: Kind
    namespace: str
    secret: str
    key: str = ""
    resource: str = ""
    resource_server_url: str = ""
    scopes: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    permissions: tuple[tuple[str, str], ...] = ()
    early: timedelta = EARLY


@dataclass(frozen=True, slots=True)
class Reference:
    """One credential a call asks for. Either `env_var` or `header` is set, and says where its value goes.

    `path` is where the call names it (`spec.credentials[0]`), for messages.
    """

    path: str
    source: Source
    env_var: str = ""
    header: str = ""
    value_prefix: str = ""


@dataclass(frozen=True, slots=True)
class Requester:
    """On behalf of which session credentials are asked for: some Secrets are for one session only.

    `asked_at` is when the call was made, None if nobody knows.
    """

    namespace: str
    session: str
    session_uid: str
    asked_at: datetime | None = None
