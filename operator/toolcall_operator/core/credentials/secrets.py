"""A Secret as it was read, and whether a call may use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolcall_operator.api.base import GROUP, OwnerReference

CONSENT = f"{GROUP}/credential"
"""The label by which whoever keeps a Secret consents to its use by calls: its value is `true`. Nobody here sets it."""

REFRESH_MATERIAL = f"{GROUP}/oauth-refresh-material"
"""The label of a Secret that holds what renews the access token of another one, whose name it bears with `-refresh`."""

PASSTHROUGH = "-passthrough-creds"
"""How the names of Secrets end that are for one session: the one whose name comes before."""


@dataclass(frozen=True, slots=True)
class SecretObject:
    """A Secret, as much of it as matters here; its data stays out of every repr.

    `immutable`: nobody can write to it, so that a token that was renewed would be lost.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    type: str = "Opaque"
    labels: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[OwnerReference, ...] = ()
    data: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    immutable: bool = False
