"""A Secret, and who asks for it, to be changed by tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcall_operator.core.credentials.references import Requester
from toolcall_operator.core.credentials.secrets import CONSENT, SecretObject

MARK = "hunter2"
"""Is in every value that must not show."""
VALUE = f"{MARK}-{MARK}"

REQUESTER = Requester("default", "work", "uid-of-work")


def secret(data: Mapping[str, bytes] | None = None, **fields: Any) -> SecretObject:  # noqa: ANN401 (fields of a Secret)
    """The Secret `default/github`, whose keeper lets calls use it."""
    held = {"token": VALUE.encode()} if data is None else data
    about = {"namespace": "default", "name": "github", "uid": "uid-1", "resource_version": "1", "type": "Opaque"}
    return SecretObject(**{**about, "labels": {CONSENT: "true"}, "data": held, **fields})
