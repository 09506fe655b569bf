"""What the process that leads remembers of a session, and how each thing that happens changes that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSessionStatus
from toolcall_operator.core.session import trouble as sessiontrouble
from toolcall_operator.core.session.actions import Action, Deed
from toolcall_operator.core.session.trouble import Kind, Trouble

MEMORY = timedelta(minutes=1)
"""How long it is remembered that something was done: by then the caches show it, or it has to be done again."""


NOTHING_YET = SpiceboxSessionStatus()


@dataclass(frozen=True, slots=True)
class Greeting:
    """What the supervisor of a pod says of itself; `network` is Blocked, Open, or None when it was not to look."""

    boot_id: str
    supervisor_version: str
    landlock_abi: int
    isolation: str
    network: str | None = None


@dataclass(frozen=True, slots=True)
class Greeted:
    """A greeting, and when it was heard."""

    greeting: Greeting
    at: datetime


@dataclass(frozen=True, slots=True)
class Absent:
    """A class the API server does not have; or it has, and `problem` says why it cannot be read."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a namespace, and when they were read."""

    labels: Mapping[str, str]
    at: datetime


@dataclass(frozen=True, slots=True)
class Known:
    """What this process remembers of a session. All of it may be lost: the next process finds its way without.

    `since`: when this process began to lead. `status`: as it was last written here, which the caches may not show yet.
    `has_agent`: whether the API server has the session's AgentIdentity, once it was asked. `counted`: the calls that
    other processes started. `streak`: how many short-lived sandboxes came one after another. `made_at`: when a pod was
    last made. `protected`: which pods were told to be busy, and which not to be.
    """

    since: datetime
    status: SpiceboxSessionStatus | None = None
    counted: int = 0
    looked_up: SpiceboxClass | Absent | None = None
    has_agent: bool | None = None
    labels: Labels | None = None
    greeted: Mapping[str, Greeted] = field(default_factory=dict)
    reclaimed: frozenset[str] = frozenset()
    protected: Mapping[str, bool] = field(default_factory=dict)
    streak: int | None = None
    made_at: datetime | None = None
    recorded_at: datetime | None = None
    done: Mapping[Deed, datetime] = field(default_factory=dict)
    troubles: Mapping[type[Action], Trouble] = field(default_factory=dict)

    def did(self, action: Action, now: datetime) -> Known:
        """After an action that worked."""
        known = self.without_trouble(type(action))
        if not isinstance(action, Deed):
            return known
        recent = {deed: at for deed, at in self.done.items() if now < at + MEMORY}
        return replace(known, done={**recent, action: now})

    def without_trouble(self, kind: type[Action]) -> Known:
        """After whatever troubled actions of a kind is over."""
        return replace(self, troubles={each: trouble for each, trouble in self.troubles.items() if each is not kind})

    def failed(self, action: Action, kind: Kind, message: str, now: datetime) -> Known:
        """After an action that did not work."""
        trouble = sessiontrouble.again(self.troubles.get(type(action)), kind, message, now)
        return replace(self, troubles={**self.troubles, type(action): trouble})

    def heard(self, pod: str, greeting: Greeting, now: datetime) -> Known:
        """After a pod said hello."""
        return replace(self, greeted={**self.greeted, pod: Greeted(greeting, now)})

    def left(self, pod: str) -> Known:
        """After the channel to a pod was closed: when it says hello again, calls may be there that nobody asks for."""
        greeted = {uid: greeted for uid, greeted in self.greeted.items() if uid != pod}
        return replace(self, greeted=greeted, reclaimed=self.reclaimed - {pod})
