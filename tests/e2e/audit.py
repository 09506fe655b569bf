"""What the API server was asked, as its audit log tells: the local cluster keeps one beside its kubeconfig."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

AGENT = "toolcall-operator"
"""What the operator calls itself in its requests; its watches are kopf's."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that was answered."""

    verb: str
    resource: str
    namespace: str
    name: str
    url: str
    status: int
    user: str
    agent: str

    @property
    def query(self) -> dict[str, list[str]]:
        """The words of its query."""
        return parse_qs(urlsplit(self.url).query)


@dataclass(frozen=True, slots=True)
class Audit:
    """The log from a moment on."""

    log: Path
    start: int

    @classmethod
    def from_now(cls) -> Audit:
        """From now on."""
        log = Path(os.environ["KUBECONFIG"]).parent / "log" / "audit.log"
        return cls(log, log.stat().st_size if log.exists() else 0)

    def about(self, text: str) -> list[Asked]:
        """Every request since then whose entry holds `text`, such as the name of a namespace.

        Without such a log, the test is skipped for that reason.
        """
        if not self.log.exists():
            pytest.skip(f"this cluster keeps no audit log at {self.log}")
        return list(self._read(text.encode()))

    def _read(self, text: bytes) -> Iterator[Asked]:
        with self.log.open("rb") as lines:
            lines.seek(self.start)
            for line in lines:
                if text in line and line.endswith(b"\n"):
                    entry = json.loads(line)
                    if entry["stage"] == "ResponseComplete" or entry["objectRef"].get("subresource") == "exec":
                        yield _asked(entry)


def _asked(entry: dict[str, Any]) -> Asked:
    about = entry.get("objectRef") or {}
    parts = (about.get("resource"), about.get("subresource"))
    return Asked(
        verb=entry["verb"],
        resource="/".join(filter(None, parts)),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        url=entry["requestURI"],
        status=(entry.get("responseStatus") or {}).get("code", 0),
        user=entry["user"]["username"],
        agent=entry.get("userAgent", ""),
    )
