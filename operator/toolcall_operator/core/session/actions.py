"""Everything that can be done for a session, one step at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from toolcall_operator.api.spiceboxsession import SpiceboxSessionStatus


@dataclass(frozen=True, slots=True)
class Hold:
    """Add our finalizer: whatever is made for the session can then be cleared away before the session goes."""


@dataclass(frozen=True, slots=True)
class LookUpClass:
    """Ask the API server itself for the session's class, before its absence is believed."""


@dataclass(frozen=True, slots=True)
class LookUpAgent:
    """Ask the API server itself for the session's AgentIdentity, before its absence is believed."""


@dataclass(frozen=True, slots=True)
class ReadNamespace:
    """Read the labels of the session's namespace."""


@dataclass(frozen=True, slots=True)
class Show:
    """Write the status."""

    status: SpiceboxSessionStatus = field(repr=False)


@dataclass(frozen=True, slots=True)
class Record:
    """Write a status that differs only in what the session's calls did."""

    status: SpiceboxSessionStatus = field(repr=False)


@dataclass(frozen=True, slots=True)
class Replace:
    """Write that the sandbox was lost, which gives the next pod another name; `streak` short-lived ones came before."""

    status: SpiceboxSessionStatus = field(repr=False)
    streak: int


@dataclass(frozen=True, slots=True)
class MakePolicy:
    """Make the NetworkPolicy of the pod of this name; one that is there already is fine."""

    pod: str


@dataclass(frozen=True, slots=True)
class MakePod:
    """Make the pod of this name; one of ours that is there already is fine."""

    pod: str


@dataclass(frozen=True, slots=True)
class Greet:
    """Open the standing channel to a pod, by its UID, and hear its hello."""

    pod: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Close the standing channel to a pod; what its hello said does not count any more."""

    pod: str


@dataclass(frozen=True, slots=True)
class Reclaim:
    """End and acknowledge the calls in a pod that nobody will ever ask for again."""

    pod: str


@dataclass(frozen=True, slots=True)
class Protect:
    """Tell whoever empties nodes whether a pod is busy."""

    pod: str
    busy: bool


@dataclass(frozen=True, slots=True)
class Discard:
    """Delete a pod, by its UID."""

    pod: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the session, whose time is over."""


@dataclass(frozen=True, slots=True)
class StopCalls:
    """Have every call of the session end, and wait until the last one has."""


@dataclass(frozen=True, slots=True)
class Release:
    """Take our finalizer away: the session may go."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing, until then or until something changes."""

    until: datetime | None = None


Action = (
    Hold
    | LookUpClass
    | LookUpAgent
    | ReadNamespace
    | Show
    | Record
    | Replace
    | MakePolicy
    | MakePod
    | Greet
    | Leave
    | Reclaim
    | Protect
    | Discard
    | Delete
    | StopCalls
    | Release
    | Rest
)

Errand = Greet | Reclaim | StopCalls
"""What takes its time: it is done beside the rest, and given up when it is not wanted any more."""

Deed = Hold | MakePolicy | MakePod | Discard | Delete | StopCalls | Release
"""What is remembered once it is done: the caches show its effect only later."""
