"""What of the cluster is watched: the kinds, and which objects of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolcall_operator.adapters.cluster.client import Selection
from toolcall_operator.adapters.cluster.resources import (
    AGENT_IDENTITIES,
    CLASSES,
    PODS,
    SESSIONS,
    TOOLCALLS,
    TOOLKITS,
    TOOLSPECS,
    Address,
    Resource,
)
from toolcall_operator.core.pod.podspec import SESSION_LABEL

ENDED = Selection(fields="status.finished=true", metadata_only=True)
"""Of the calls that have ended, which are not watched, the metadata."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One kind, and the selectors of its objects that matter here."""

    kind: str
    resource: Resource
    labels: str = ""
    fields: str = ""
    namespaced: bool = True

    @property
    def selection(self) -> Selection:
        """What is watched."""
        return Selection(labels=self.labels, fields=self.fields)

    @property
    def metadata(self) -> Selection:
        """The metadata alone of what is watched."""
        return Selection(labels=self.labels, fields=self.fields, metadata_only=True)

    def collections(self, namespaces: Sequence[str]) -> tuple[Address, ...]:
        """Where its objects stand: in these namespaces, or, if there are none given, everywhere."""
        if self.namespaced and namespaces:
            return tuple(self.resource.within(namespace) for namespace in namespaces)
        return (self.resource.within(),)


# What has no status.finished matches, too. A call that comes to be finished leaves the watch as if it were deleted.
CALLS = Watched("ToolCall", TOOLCALLS, fields="status.finished!=true")
WATCHED = (
    CALLS,
    Watched("SpiceboxSession", SESSIONS),
    Watched("SpiceboxClass", CLASSES, namespaced=False),
    Watched("SpiceboxToolkit", TOOLKITS, namespaced=False),
    Watched("SpiceboxToolspec", TOOLSPECS, namespaced=False),
    Watched("AgentIdentity", AGENT_IDENTITIES),
    Watched("Pod", PODS, labels=SESSION_LABEL),
)
