"""What an API server does with a new object before it keeps it: fills in what is missing, and judges what is there."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from toolcall_operator.api import parsing, times
from toolcall_operator.api.base import GROUP
from toolcall_operator.api.crds import CLUSTER_WIDE
from toolcall_operator.api.parsing import Malformed, Parsed, Problem

_UID = re.compile("[A-Za-z0-9][A-Za-z0-9-]{0,63}", re.ASCII)


def completed(raw: object, now: datetime) -> object:
    """The object with what an API server adds to metadata: name (of generateName), namespace, UID, generation, age."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("metadata"), Mapping):
        return raw
    written = {key: value for key, value in raw["metadata"].items() if value is not None}
    given: dict[str, Any] = {}
    if isinstance(prefix := written.get("generateName"), str):
        given["name"] = f"{prefix}{secrets.token_hex(3)}"
    if str(raw.get("kind")) not in CLUSTER_WIDE:
        given["namespace"] = "default"
    given |= {"uid": str(uuid.uuid4()), "generation": 1, "creationTimestamp": times.render(now)}
    return {**raw, "metadata": {**given, **written}}


def admitted(completed: object) -> Parsed:
    """The object that was completed.

    Raises:
        Malformed: it cannot be read, and every problem is told.
    """
    read = parsing.parse(completed)
    if not _UID.fullmatch(read.metadata.uid):
        # It names folders and artifacts, and tells calls apart.
        words = "must be 1 to 64 letters, digits and '-', the first no '-'"
        raise Malformed([Problem("metadata.uid", words)], read.kind, read.metadata.name)
    return read


def is_foreign(manifest: object) -> bool:
    """Whether it is somebody else's object, which means nothing here and may stand among ours."""
    if not isinstance(manifest, Mapping) or str(manifest.get("kind")) in parsing.KINDS:
        return False
    group, slash, _ = str(manifest.get("apiVersion") or "").partition("/")
    return bool(group) and (not slash or group != GROUP)
