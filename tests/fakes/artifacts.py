"""An artifact store that is a dict."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from toolcall_operator import errors


@dataclass
class FakeArtifacts:
    """Implements `ports.Artifacts`; the first `failures` times it takes nothing, after having read `reads` chunks."""

    failures: int = 0
    reads: int = 1
    stored: dict[str, bytes] = field(default_factory=dict)

    async def put(self, key: str, body: AsyncIterator[bytes]) -> str:
        """Keep `body` under `key`."""
        chunks: list[bytes] = []
        async for chunk in body:
            chunks.append(chunk)
            if self.failures > 0 and len(chunks) >= self.reads:
                self.failures -= 1
                raise errors.Unavailable("the fake store is full")
        self.stored[key] = b"".join(chunks)
        return f"fake://{key}"
