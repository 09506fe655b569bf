"""Whom the operator may speak to outside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from toolcall_operator.core import addresses
from toolcall_operator.core.exchange import Origin


@dataclass(frozen=True, slots=True)
class Policy:
    """Public servers over https, and the openings: servers of one's own, by their exact origin.

    The address of an opened one may be private or loopback, and it is asked in plain text if the opening says http.
    `ca` is a file of CAs that are believed beside the system's.
    """

    openings: frozenset[Origin] = frozenset()
    ca: Path | None = None

    @classmethod
    def parse(cls, openings: Iterable[str], ca: Path | None = None) -> Self:
        """The policy of a configuration, which names each opening by its exact origin.

        Raises:
            ValueError: one is not an origin.
        """
        return cls(frozenset(map(Origin.parse, openings)), ca)

    def objection(self, origin: Origin) -> str | None:
        """Why nothing is sent to an origin, whatever its address."""
        if origin.scheme == "http" and origin not in self.openings:
            return "it is asked for in plain text, and no opening allows that"
        return None

    def objection_to(self, found: Iterable[str], origin: Origin) -> str | None:
        """Why nothing is sent to an origin that was found at these addresses; one bad address spoils the others."""
        opened = origin in self.openings
        kinds = sorted({kind for address in found if (kind := addresses.forbidden(ip_address(address), opened=opened))})
        return f"its address is no public one ({', '.join(kinds)})" if kinds else None
