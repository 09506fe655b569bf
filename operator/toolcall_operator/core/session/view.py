"""What is known about a session when it is decided what to do for it next."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession, SpiceboxSessionStatus
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.pod.podspec import pod_name
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.session.actions import Errand, Rest, Show
from toolcall_operator.core.session.activity import Activity
from toolcall_operator.core.session.known import NOTHING_YET, Known

_NO_ACTIVITY = Activity()


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session with the newest status there is of it, its class, its pods, and what is remembered of it.

    `has_agent`: whether the AgentIdentity it names is there. `library`: what there is of the toolspecs that its class
    may name. `unread`: why the session cannot be read; the one
    in its place asks for nothing.
    """

    session: SpiceboxSession
    known: Known
    session_class: SpiceboxClass | None = None
    has_agent: bool = False
    pods: tuple[PodView, ...] = ()
    activity: Activity = _NO_ACTIVITY
    errand: Errand | None = None
    default_image: str = ""
    library: Library = field(default_factory=Library, repr=False)
    unread: str = ""

    @property
    def status(self) -> SpiceboxSessionStatus:
        """The session's status; an empty one if it has none yet."""
        return self.session.status or NOTHING_YET

    @property
    def is_bound(self) -> bool:
        """Whether the session has its class for good, as it was once."""
        return self.status.resolved_class is not None

    def until_shown(self, status: SpiceboxSessionStatus) -> Show | Rest:
        """Show a status; once it is shown, there is nothing more to do."""
        return Rest() if status == self.status else Show(status)

    @property
    def numbered(self) -> Mapping[int, PodView]:
        """The pods by how many came before each; pods whose names we would not have given are not among them."""
        found = {number_of(pod.name, self.session.metadata.name): pod for pod in self.pods}
        return {number: pod for number, pod in found.items() if number is not None}

    @property
    def restarts(self) -> int:
        """How many sandboxes were replaced: by the status, or by a pod that is there although the status lags."""
        return max(self.status.restarts or 0, *self.numbered, 0)

    @property
    def pod_name(self) -> str:
        """The name of the pod that is, or is to be, the sandbox."""
        return pod_name(self.session.metadata.name, self.restarts)

    @property
    def pod(self) -> PodView | None:
        """The pod of that name."""
        return self.numbered.get(self.restarts)

    @property
    def earlier(self) -> tuple[PodView, ...]:
        """The pods that were replaced, the newest first."""
        return tuple(pod for number, pod in sorted(self.numbered.items(), reverse=True) if number < self.restarts)


def number_of(pod: str, session: str) -> int | None:
    """How many pods came before the one of this name in its session; None if it is not named as ours are."""
    form = re.fullmatch(rf"{re.escape(session)}-pod(-(?P<number>[1-9][0-9]{{0,8}}))?", pod)
    number = int(form["number"] or 1) - 1 if form else None
    return number if number is not None and pod == pod_name(session, number) else None
