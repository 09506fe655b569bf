"""The ToolCalls that have not ended: each read once, again only when something came that decides about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from toolcall_operator.adapters.cluster.memory.shelf import Identity, Manifest
from toolcall_operator.api import parsing
from toolcall_operator.api.parsing import Malformed
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import status
from toolcall_operator.core.unread import Unread


class Known(NamedTuple):
    """What of a call may change and matters while it is on its way; none of it ever goes back."""

    generation: int = 0
    deleting: bool = False
    boot_id: str = ""

    @classmethod
    def of(cls, manifest: Manifest) -> Known:
        """What a manifest, or the metadata alone of one, tells."""
        metadata = _object(manifest.get("metadata"))
        dispatch = _object(_object(manifest.get("status")).get("dispatch"))
        generation = metadata.get("generation")
        return cls(
            generation=generation if isinstance(generation, int) else 0,
            deleting=bool(metadata.get("deletionTimestamp")),
            boot_id=str(dispatch.get("bootID") or ""),
        )

    def and_now(self, other: Known) -> Known:
        """What is known after both, in whichever order they were seen: an older version takes nothing back."""
        return Known(
            max(self.generation, other.generation), self.deleting or other.deleting, self.boot_id or other.boot_id
        )


@dataclass(frozen=True, slots=True)
class Held:
    """One call: a value of None is one that had ended before anybody marked it as finished."""

    identity: Identity
    known: Known
    value: ToolCall | Unread | None


class Calls:
    """The calls by their UID; those that can be read in `values`, the others in `unread`."""

    def __init__(self) -> None:
        self.values: dict[str, ToolCall] = {}
        self.unread: dict[str, Unread] = {}
        self._held: dict[str, Held] = {}
        self._settling: set[str] = set()

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))

    def holds(self, identity: Identity) -> bool:
        """Whether this very call is kept."""
        return identity.uid in self._held

    def is_settling(self, uid: str) -> bool:
        """Whether somebody here is writing the end of a call, or has, and the call has not left the watch yet."""
        return uid in self._settling

    def is_news(self, manifest: Manifest) -> bool:
        """Whether `put` would change anything; asked for every event, so it reads next to nothing."""
        uid = Identity.of(manifest).uid
        held = self._held.get(uid)
        if is_finished(manifest) or uid in self._settling:
            return held is not None and uid not in self._settling
        return held is None or held.known.and_now(Known.of(manifest)) != held.known

    def put(self, manifest: Manifest) -> ToolCall | Unread | None:
        """Keep a call; returns it if that is news to anybody. What is finished is forgotten instead."""
        if not self.is_news(manifest):
            return None
        identity = Identity.of(manifest)
        if is_finished(manifest):
            self.drop(identity.uid)
            return None
        held, known, value = self._held.get(identity.uid), Known.of(manifest), _read(manifest)
        self._keep(Held(identity, held.known.and_now(known) if held else known, value))
        return value

    def drop(self, uid: str) -> Held | None:
        """Forget a call, whatever is known of it; returns what was forgotten."""
        self._settling.discard(uid)
        self.values.pop(uid, None)
        self.unread.pop(uid, None)
        return self._held.pop(uid, None)

    def settle(self, uid: str) -> None:
        """The end of a call is being written here: when it leaves the watch, nobody need ask why."""
        if uid in self._held:
            self._settling.add(uid)

    def unsettle(self, uid: str) -> None:
        """It was not, after all."""
        self._settling.discard(uid)

    def reported(self, call: ToolCall) -> None:
        """Keep the status that was written here, so that its echo is no news; a call that left meanwhile stays away."""
        held = self._held.get(call.metadata.uid)
        if held is None:
            return
        dispatch = call.status.dispatch if call.status else None
        claim = Known(boot_id=dispatch.boot_id if dispatch else "")
        self._keep(Held(held.identity, held.known.and_now(claim), call))

    def _keep(self, held: Held) -> None:
        uid = held.identity.uid
        self._held[uid] = held
        self.values.pop(uid, None)
        self.unread.pop(uid, None)
        if isinstance(held.value, ToolCall):
            self.values[uid] = held.value
        elif isinstance(held.value, Unread):
            self.unread[uid] = held.value


def is_finished(manifest: Manifest) -> bool:
    """Whether a manifest says that its call has ended."""
    return _object(manifest.get("status")).get("finished") is True


def _read(manifest: Manifest) -> ToolCall | Unread | None:
    """The call a manifest describes, or what is wrong with it; None if it has ended without being marked."""
    try:
        call = parsing.parse(manifest)
    except Malformed as malformed:
        unread = Unread.of(manifest, malformed.problems)
        return None if status.is_finished(status.Subject.of_manifest(unread.manifest)) else unread
    return call if isinstance(call, ToolCall) and not status.is_finished(call) else None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
