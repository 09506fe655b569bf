"""What the session controller needs of the outside, as small protocols; adapters and fakes implement them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession, SpiceboxSessionStatus
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.judgeable import Judgeable, JudgedStatus
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.pod.podspec import SandboxSettings
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.session.activity import Activity
from toolcall_operator.core.session.known import Greeting
from toolcall_operator.core.unread import Unread
from toolcall_operator.ports import Secrets

__all__ = ["Activity", "Calls", "Greeter", "Greeting", "SessionCluster", "SessionPorts", "Supervisor", "Time"]

Key = tuple[str, str]
"""A namespace and a name."""


class SessionCluster(Protocol):
    """Where sessions, classes, policies and pods are kept. What does not wait reads what the watches last told."""

    @property
    def library(self) -> Library:
        """What the toolkits and toolspecs come to."""
        ...

    def session(self, key: Key) -> SpiceboxSession | None:
        """The session, if it is there and can be read."""
        ...

    def session_class(self, name: str) -> SpiceboxClass | None:
        """The class, if it is there and can be read."""
        ...

    def toolkit(self, name: str) -> SpiceboxToolkit | None:
        """The toolkit, if it is there and can be read."""
        ...

    def toolspec(self, name: str) -> SpiceboxToolspec | None:
        """The toolspec, if it is there and can be read."""
        ...

    def agent(self, key: Key) -> AgentIdentity | None:
        """The AgentIdentity, if it is there and can be read."""
        ...

    def unread_session(self, key: Key) -> Unread | None:
        """The session, if it is there and cannot be read."""
        ...

    def unread_class(self, name: str) -> Unread | None:
        """The class, if it is there and cannot be read."""
        ...

    def unread_toolkit(self, name: str) -> Unread | None:
        """The toolkit, if it is there and cannot be read."""
        ...

    def unread_toolspec(self, name: str) -> Unread | None:
        """The toolspec, if it is there and cannot be read."""
        ...

    def unread_agent(self, key: Key) -> Unread | None:
        """The AgentIdentity, if it is there and cannot be read."""
        ...

    async def live_class(self, name: str) -> SpiceboxClass | None:
        """The class as the API server has it now.

        Raises:
            Rejected: it is there, and cannot be read; the text names the field.
            Unavailable: nobody knows.
        """
        ...

    async def has_agent(self, key: Key) -> bool:
        """Whether the API server has the AgentIdentity now, be it as it may.

        Raises:
            Unavailable: nobody knows.
        """
        ...

    def pods(self, session: SpiceboxSession) -> tuple[PodView, ...]:
        """The pods whose controller this session is, by its UID."""
        ...

    async def live_calls(self, namespace: str) -> Mapping[str, bool]:
        """Every ToolCall that the namespace has now, by UID, and whether it has ended.

        The list is whole and not older than the question: whatever is not in it is taken for gone.

        Raises:
            Unavailable: nobody knows.
        """
        ...

    async def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace.

        Raises:
            Unavailable: nobody knows.
        """
        ...

    async def config_map(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """A ConfigMap, if it is there.

        Raises:
            Unavailable: nobody knows.
        """
        ...

    async def report_session(self, session: SpiceboxSession, status: SpiceboxSessionStatus) -> SpiceboxSession:
        """Keep `status`, and return the session that carries it.

        Raises:
            Unavailable: it could not be kept, as far as anyone knows; the same report may be made again.
            Rejected: it will not be kept as it is.
            Gone: the session is no more.
        """
        ...

    async def report_judged(self, judged: Judgeable, status: JudgedStatus) -> None:
        """Keep `status`; raises as `report_session` does. That of a toolspec counts for calls at once."""
        ...

    async def report_unread(
        self, unread: SpiceboxSession | Judgeable, status: SpiceboxSessionStatus | JudgedStatus
    ) -> None:
        """Keep the conditions of `status`, and the rest of the one that is there; raises as `report_session` does.

        `unread` stands in the place of an object that cannot be read, whose status nobody here may know whole.
        """
        ...

    async def hold_session(self, session: SpiceboxSession) -> None:
        """Keep the session's object until it is released, also when somebody deletes it.

        Raises:
            Unavailable: it may be deleted at any time.
            Gone: the session is no more, or is being deleted already.
        """
        ...

    async def release_session(self, session: SpiceboxSession) -> None:
        """Let the object of a session go; one that is not held, or is gone, is fine.

        Raises:
            Unavailable: it may still be held.
        """
        ...

    async def create(self, manifest: Mapping[str, Any]) -> None:
        """Make an object; one of its name that belongs to the same controller is fine.

        Raises:
            Unavailable: it may not have been made.
            Rejected: a quota or a rule is against it, or one of its name belongs to somebody else.
        """
        ...

    async def delete_pod(self, pod: PodView, grace: int | None = None) -> None:
        """Delete this very pod, by its UID; one that is gone is fine. `grace`: seconds, other than the pod's own.

        Raises:
            Unavailable: it may still be there.
        """
        ...

    async def delete_session(self, session: SpiceboxSession) -> None:
        """Delete this very session, by its UID; one that is gone is fine.

        Raises:
            Unavailable: it may still be there.
        """
        ...

    async def annotate_pod(self, pod: PodView, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of a pod, or take those away that are None; a pod that is gone is fine.

        Raises:
            Unavailable: they may not be set.
        """
        ...

    def remark(self, obj: SpiceboxSession | Judgeable, reason: str, message: str) -> None:
        """Tell people who watch the cluster of a refusal or a fault; if that does not work, nothing happens."""
        ...


class Supervisor(Protocol):
    """What the supervisor of a pod does about calls nobody asks for any more; every `ports.Sandbox` is one."""

    async def calls(self) -> Mapping[str, str]:
        """Every call this boot knows, by UID: one of `ports.CallState`."""
        ...

    async def kill(self, uid: str) -> None:
        """Have every process of a call ended; returns at once."""
        ...

    async def acknowledge(self, uid: str) -> None:
        """Let it drop what it keeps of an ended call.

        Raises:
            Unavailable: the call still runs.
        """
        ...


class Greeter(Protocol):
    """Opens the standing channels to pods."""

    async def greet(self, pod: PodView, session: SpiceboxSession) -> Greeting:
        """Open the channel if it is not, and return what the supervisor says of itself.

        Raises:
            Unavailable: it does not answer now.
            SandboxLost: it never will.
            ProtocolBroken: it refuses us, or is none.
        """
        ...

    def opened(self, pod: PodView) -> Supervisor:
        """The supervisor of a pod that was greeted."""
        ...

    async def leave(self, pod_uid: str) -> None:
        """Close the channel to a pod, if there is one; calls in it go on."""
        ...


class Calls(Protocol):
    """The calls that are in flight here."""

    def activity(self, session: Key, uid: str) -> Activity:
        """What the calls of a session, by its key and its UID, did since this process began."""
        ...

    async def end_session(self, session: Key) -> None:
        """Have every call of a session end, also those that come meanwhile; returns when none is in flight.

        Those that were started are canceled, those that wait are refused.
        """
        ...

    def knows(self, uid: str) -> bool:
        """Whether a call is in flight here."""
        ...

    def forget(self, session_uid: str) -> None:
        """Drop what is remembered of a session that is no more."""
        ...


class Time(Protocol):
    """Tells the time of day, and lets it pass."""

    def now(self) -> datetime:
        """Now, in UTC."""
        ...

    async def wait(self, event: asyncio.Event, until: datetime | None) -> None:
        """Return when `event` is set, or it is `until`."""
        ...


@dataclass(frozen=True, slots=True)
class SessionPorts:
    """The outside of the session controller, chosen once at start.

    `key_hash`: what a pod sees of its session's key. `consent_required`: whether a Secret needs a label to be used.
    """

    cluster: SessionCluster
    greeter: Greeter
    calls: Calls
    time: Time
    settings: SandboxSettings
    key_hash: Callable[[str], str]
    secrets: Secrets
    consent_required: Callable[[], bool] = lambda: True
