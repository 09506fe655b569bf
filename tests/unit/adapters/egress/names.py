"""Names and their addresses, as a test says they are."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Names:
    """A `lookup.Resolver`: addresses come back as they are, `asked` is what was looked up."""

    addresses: dict[str, list[str]]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> Sequence[str]:  # noqa: ARG002 - names have no ports
        self.asked.append(host)
        if host in self.addresses:
            return tuple(self.addresses[host])
        if host.replace(".", "").isdecimal() or ":" in host:
            return (host,)
        raise socket.gaierror(socket.EAI_NONAME, host)
