"""What the session controller needs of a cluster: sessions, classes, toolspecs, pods, and what is written to them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from toolcall_operator.adapters.cluster import finalizers, patches
from toolcall_operator.adapters.cluster.client import Client, Selection
from toolcall_operator.adapters.cluster.events import Events, Subject
from toolcall_operator.adapters.cluster.finalizers import Holdable
from toolcall_operator.adapters.cluster.memory.caches import Caches, Key
from toolcall_operator.adapters.cluster.memory.shelf import Identity, Manifest
from toolcall_operator.adapters.cluster.memory.watched import ENDED
from toolcall_operator.adapters.cluster.resources import (
    AGENT_IDENTITIES,
    CLASSES,
    CONFIG_MAPS,
    NAMESPACES,
    NETWORK_POLICIES,
    PODS,
    SESSIONS,
    TOOLCALLS,
    TOOLKITS,
    TOOLSPECS,
    Address,
)
from toolcall_operator.api import parsing
from toolcall_operator.api.agentidentity import AgentIdentity
from toolcall_operator.api.crds import CLUSTER_WIDE
from toolcall_operator.api.parsing import Malformed
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import FINALIZER, SpiceboxSession, SpiceboxSessionStatus
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.judgeable import Judgeable, JudgedStatus
from toolcall_operator.core.pod.pods import PodView
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.unread import Unread
from toolcall_operator.errors import Gone, Rejected, Superseded, Unavailable

_MADE = {"Pod": PODS, "NetworkPolicy": NETWORK_POLICIES}
_OURS = {
    "SpiceboxSession": SESSIONS,
    "SpiceboxClass": CLASSES,
    "SpiceboxToolkit": TOOLKITS,
    "SpiceboxToolspec": TOOLSPECS,
    "AgentIdentity": AGENT_IDENTITIES,
}
_ANY = Selection(metadata_only=True)


class KubernetesObjects:
    """Implements `sessions.ports.SessionCluster`: what has no `live` in its name is read from the caches."""

    def __init__(self, client: Client, caches: Caches, events: Events) -> None:
        self._client = client
        self._caches = caches
        self._events = events

    # Read ---------------------------------------------------------------------------------------------------------
    @property
    def library(self) -> Library:
        """What the toolkits and toolspecs come to."""
        return self._caches.policies.library

    def session(self, key: Key) -> SpiceboxSession | None:
        """The session with this namespace and name, if it is there and can be read."""
        return self._caches.sessions.get(key)

    def session_class(self, name: str) -> SpiceboxClass | None:
        """The class of this name, if it is there and can be read."""
        return self._caches.classes.get(name)

    def toolkit(self, name: str) -> SpiceboxToolkit | None:
        """The toolkit of this name, if it is there and can be read."""
        return self._caches.policies.toolkits.values.get(name)

    def toolspec(self, name: str) -> SpiceboxToolspec | None:
        """The toolspec of this name, if it is there and can be read."""
        return self._caches.policies.toolspecs.values.get(name)

    def agent(self, key: Key) -> AgentIdentity | None:
        """The AgentIdentity with this namespace and name, if it is there and can be read."""
        return self._caches.agents.get(key)

    def unread_session(self, key: Key) -> Unread | None:
        """The session with this namespace and name, if it is there and cannot be read."""
        return self._caches.unread_sessions.get(key)

    def unread_class(self, name: str) -> Unread | None:
        """The class of this name, if it is there and cannot be read."""
        return self._caches.unread_classes.get(name)

    def unread_toolkit(self, name: str) -> Unread | None:
        """The toolkit of this name, if it is there and cannot be read."""
        return self._caches.policies.toolkits.unread.get(name)

    def unread_toolspec(self, name: str) -> Unread | None:
        """The toolspec of this name, if it is there and cannot be read."""
        return self._caches.policies.toolspecs.unread.get(name)

    def unread_agent(self, key: Key) -> Unread | None:
        """The AgentIdentity with this namespace and name, if it is there and cannot be read."""
        return self._caches.unread_agents.get(key)

    async def live_class(self, name: str) -> SpiceboxClass | None:
        """The class of this name as it is now; None if there is none.

        Raises:
            Unavailable: it could not be asked for.
            Rejected: it cannot be read; the text names the field.
        """
        try:
            found = parsing.parse(await self._client.get(CLASSES.named(name)))
        except Gone:
            return None
        except Malformed as malformed:
            raise Rejected("; ".join(map(str, malformed.problems))) from None
        return found if isinstance(found, SpiceboxClass) else None

    async def has_agent(self, key: Key) -> bool:
        """Whether there is an AgentIdentity with this namespace and name now; the caches know it then.

        Raises:
            Unavailable: it could not be asked for.
        """
        namespace, name = key
        try:
            self._caches.put(await self._client.get(AGENT_IDENTITIES.named(name, namespace)))
        except Gone:
            return False
        return True

    def pods(self, session: SpiceboxSession) -> tuple[PodView, ...]:
        """The pods whose controller is this session, by its UID."""
        return self._caches.pods_of(session.metadata.uid)

    async def live_calls(self, namespace: str) -> Mapping[str, bool]:
        """Every ToolCall of a namespace as it is now, by UID, and whether it is marked as finished.

        Raises:
            Unavailable: they could not be asked for.
        """
        calls = TOOLCALLS.within(namespace)
        # In this order: a call that ends in between counts as one that has not.
        ended = {Identity.of(item).uid for item in await self._client.list(calls, ENDED)}
        return {uid: uid in ended for uid in (Identity.of(item).uid for item in await self._client.list(calls, _ANY))}

    async def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace; none if it is gone.

        Raises:
            Unavailable: they could not be asked for.
        """
        try:
            found = await self._client.get(NAMESPACES.named(namespace))
        except Gone:
            return {}
        return {str(name): str(text) for name, text in _labels(found).items()}

    async def config_map(self, namespace: str, name: str) -> Manifest | None:
        """A ConfigMap as it is now, or None.

        Raises:
            Unavailable: it could not be asked for.
        """
        try:
            return await self._client.get(CONFIG_MAPS.named(name, namespace))
        except Gone:
            return None

    # Write --------------------------------------------------------------------------------------------------------
    async def report_session(self, session: SpiceboxSession, status: SpiceboxSessionStatus) -> SpiceboxSession:
        """Keep the status of a session, and return the session that carries it.

        Raises:
            Unavailable: it could not be kept, as far as anyone knows.
            Rejected: it will not be kept as it is.
            Gone: the session is no more.
        """
        uid = session.metadata.uid
        await self._report(_of(session), uid, patches.status(uid, status))
        reported = session.model_copy(update={"status": status})
        self._caches.amend(reported)
        return reported

    async def report_judged(self, judged: Judgeable, status: JudgedStatus) -> None:
        """Keep the status of what was judged; it may raise what `report_session` does."""
        uid = judged.metadata.uid
        await self._report(_of(judged), uid, patches.status(uid, status))
        if isinstance(judged, SpiceboxToolspec):
            self._caches.amend_toolspec(judged.model_copy(update={"status": status}))

    async def report_unread(
        self, unread: SpiceboxSession | Judgeable, status: SpiceboxSessionStatus | JudgedStatus
    ) -> None:
        """Keep the conditions of a status; it may raise what `report_session` does."""
        uid = unread.metadata.uid
        await self._report(_of(unread), uid, patches.conditions(uid, status, first=unread.status is None))

    async def hold_session(self, session: SpiceboxSession) -> None:
        """Keep the session's object until it is released.

        Raises:
            Unavailable: it may be deleted at any time.
            Gone: it is no more, or is being deleted already.
        """
        await finalizers.hold(self._client, _holdable(session))

    async def release_session(self, session: SpiceboxSession) -> None:
        """Let the session's object go; one that is not held, or is gone, is fine.

        Raises:
            Unavailable: it may still be held.
        """
        await finalizers.release(self._client, _holdable(session))

    async def create(self, manifest: Manifest) -> None:
        """Make a pod or a policy; one of its name that the same session controls is fine.

        A policy that says something else is replaced: what it should hold back would pass.

        Raises:
            Unavailable: it is not there, as far as anyone knows.
            Rejected: it will not be made: a quota, a policy or a field forbids it, or its name is somebody else's.
        """
        metadata = manifest["metadata"]
        collection = _MADE[manifest["kind"]].within(metadata["namespace"])
        try:
            await self._client.create(collection, manifest)
        except Superseded:
            address = collection.resource.named(metadata["name"], metadata["namespace"])
            found = await self._require_ours(address, manifest)
            if collection.resource is NETWORK_POLICIES and _said(found["spec"]) != _said(manifest["spec"]):
                await self._replace(address, {**found, "spec": manifest["spec"]})

    async def delete_pod(self, pod: PodView, grace: int | None = None) -> None:
        """Delete this very pod; `grace` in seconds. One that is gone is fine.

        Raises:
            Unavailable: it may still be there.
        """
        with suppress(Gone, Superseded):
            await self._client.delete(PODS.named(pod.name, pod.namespace), pod.uid, grace)

    async def delete_session(self, session: SpiceboxSession) -> None:
        """Delete this very session. One that is gone is fine.

        Raises:
            Unavailable: it may still be there.
        """
        with suppress(Gone, Superseded):
            await self._client.delete(_of(session), session.metadata.uid)

    async def annotate_pod(self, pod: PodView, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of this very pod, or take those away that are None. One that is gone is fine.

        Raises:
            Unavailable: they may not be there.
        """
        part = {"metadata": {"uid": pod.uid, "annotations": dict(annotations)}}
        with suppress(Gone, Rejected):  # another pod of its name refuses to change its UID
            await self._client.merge(PODS.named(pod.name, pod.namespace), part)

    def remark(self, about: SpiceboxSession | Judgeable, reason: str, message: str) -> None:
        """Have a Warning Event written about an object, if that is possible."""
        self._events.warn(Subject.of(about), reason, message)

    async def _report(self, address: Address, uid: str, patch: bytes) -> None:
        try:
            await self._client.patch(address.part("status"), patch)
        except Rejected:
            if Identity.of(await self._client.get(address)).uid != uid:
                raise Gone(f"{address} is another one by now") from None
            raise

    async def _replace(self, address: Address, manifest: Manifest) -> None:
        try:
            await self._client.replace(address, manifest)
        except (Gone, Superseded) as moved:
            raise Unavailable(f"{address} was changed meanwhile: {moved}") from moved

    async def _require_ours(self, address: Address, manifest: Manifest) -> Manifest:
        """What is there already, which has the controller that was to be the new one's."""
        try:
            found = await self._client.get(address)
        except Gone as gone:
            raise Unavailable(f"{address} was in the way, and is gone: {gone}") from gone
        if not (_controllers(found) & _controllers(manifest)):
            raise Rejected(f"{address} belongs to somebody else")
        return found


def _of(obj: SpiceboxSession | Judgeable) -> Address:
    namespace = "" if obj.kind in CLUSTER_WIDE else obj.metadata.namespace
    return _OURS[obj.kind].named(obj.metadata.name, namespace)


def _holdable(session: SpiceboxSession) -> Holdable:
    return Holdable(_of(session), session.metadata.uid, session.metadata.finalizers, FINALIZER)


def _labels(manifest: Manifest) -> Mapping[str, Any]:
    metadata = manifest.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    return labels if isinstance(labels, Mapping) else {}


def _controllers(manifest: Manifest) -> frozenset[str]:
    """The UIDs of the object's controllers; there is at most one."""
    metadata = manifest.get("metadata") or {}
    owners = metadata.get("ownerReferences") or ()
    return frozenset(str(owner.get("uid")) for owner in owners if owner.get("controller"))


def _said(part: Any) -> Any:  # noqa: ANN401 (any part of a manifest)
    """What a part of a manifest says: the API server keeps no empty list that is a field of its own."""
    match part:
        case Mapping():
            return {name: _said(value) for name, value in part.items() if value not in (None, [], ())}
        case list() | tuple():
            return [_said(each) for each in part]
        case _:
            return part
