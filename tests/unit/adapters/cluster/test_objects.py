"""What the session controller reads and writes; an object of the same name with another UID is never touched."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.apiserver import FakeClient
from tests.fakes.wakes import FakeWakes
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE, SESSION_UID
from tests.unit.core.examples import NOW
from toolcall_operator.adapters.cluster.events import Events
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.objects import KubernetesObjects
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
)
from toolcall_operator.api.agentidentity import AgentIdentityStatus
from toolcall_operator.api.spiceboxclass import SpiceboxClassStatus
from toolcall_operator.api.spiceboxsession import FINALIZER, SpiceboxSession, SpiceboxSessionStatus
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkitStatus
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspecStatus
from toolcall_operator.core import unread
from toolcall_operator.core.conditions import Look
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.core.session.status import SessionCondition
from toolcall_operator.errors import Gone, Rejected, Superseded, Unavailable
from toolcall_operator.sessions.ports import SessionCluster

KEY = (NAMESPACE, "work")
BOT = (NAMESPACE, "bot")
SESSION, POD = SESSIONS.named("work", NAMESPACE), PODS.named("work-pod", NAMESPACE)
POLICY = NETWORK_POLICIES.named("work-sandbox", NAMESPACE)
READY = SpiceboxSessionStatus(pod_name="work-pod", restarts=0)
GARBLED = {"mounts": [{"name": "files", "mountPath": "/files", "source": {}}]}
MALFORMED = SpiceboxSessionStatus(
    observed_generation=3,
    conditions=(Look(3, NOW).condition(SessionCondition.FAILED, "MalformedObject", "it cannot be read", holds=True),),
)


class Place:
    """A fake API server with one object of each kind, which the caches know."""

    def __init__(self) -> None:
        self.client = FakeClient(
            (SESSIONS, manifests.session()),
            (CLASSES, manifests.session_class()),
            (TOOLKITS, manifests.toolkit()),
            (TOOLSPECS, manifests.toolspec()),
            (AGENT_IDENTITIES, manifests.agent()),
            (PODS, manifests.pod()),
        )
        self.caches = Caches(FakeWakes())
        for manifest in self.client.objects.values():
            self.caches.put(manifest)
        self.events = Events(self.client, "me", lambda: NOW)
        self.objects: SessionCluster = KubernetesObjects(self.client, self.caches, self.events)

    def garble(self, **fields: Any) -> SpiceboxSession:  # noqa: ANN401 (fields of a manifest)
        """The session comes to be one that cannot be read; returns what stands in its place."""
        self.caches.put(self.client.put(SESSIONS, manifests.session(spec=GARBLED, **fields)))
        return unread.session(self.caches.unread_sessions[KEY])

    @property
    def session(self) -> SpiceboxSession:
        """The session, as the caches have it."""
        return self.caches.sessions[KEY]


def policy(owner: str = SESSION_UID, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    """A NetworkPolicy of the session."""
    made = {**manifests.pod("work-sandbox", owner=owner), "kind": "NetworkPolicy"}
    closed = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    return {**made, "apiVersion": "networking.k8s.io/v1", "spec": {**closed, **spec}}


# Reading --------------------------------------------------------------------------------------------------------------
def test_what_the_watches_told_is_read_without_asking() -> None:
    place = Place()

    session = place.objects.session(KEY)

    assert session is not None
    assert place.objects.session_class("plain") is place.caches.classes["plain"]
    assert [pod.name for pod in place.objects.pods(session)] == ["work-pod"]
    assert place.objects.toolkit("echo-kit") is place.caches.policies.toolkits.values["echo-kit"]
    assert place.objects.toolspec("echoes") is place.caches.policies.toolspecs.values["echoes"]
    assert isinstance(place.objects.library.toolspec("echoes"), Toolspec)
    assert place.objects.agent(BOT) is place.caches.agents[BOT]
    assert place.objects.session((NAMESPACE, "another")) is None
    assert place.objects.session_class("another") is None
    assert place.objects.toolspec("another") is None
    assert place.objects.agent(("other", "bot")) is None
    assert place.client.asked == []


async def test_a_class_is_asked_for_as_it_is_now() -> None:
    place = Place()
    place.client.put(CLASSES, manifests.session_class("fresh"))

    fresh = await place.objects.live_class("fresh")

    assert fresh is not None
    assert fresh.metadata.name == "fresh"
    assert await place.objects.live_class("none") is None


async def test_a_class_that_cannot_be_read_names_the_field() -> None:
    place = Place()
    place.client.put(CLASSES, manifests.session_class("bad", image=1))

    with pytest.raises(Rejected, match=r"spec\.image"):
        await place.objects.live_class("bad")


def test_what_cannot_be_read_is_told_with_why() -> None:
    place = Place()
    place.garble(status={"restarts": 2})
    place.caches.put(manifests.session_class(version=200, image=1))
    place.caches.put(manifests.toolkit(version=200, env=None))
    place.caches.put(manifests.toolspec(version=200, constraints="none"))
    place.caches.put(manifests.agent(version=200, spec={"credentials": "none"}))

    of_session, of_class = place.objects.unread_session(KEY), place.objects.unread_class("plain")
    of_toolkit, of_toolspec = place.objects.unread_toolkit("echo-kit"), place.objects.unread_toolspec("echoes")

    assert of_session is not None
    assert of_class is not None
    assert "configMapRef" in of_session.why
    assert "spec.image" in of_class.why
    assert of_toolkit is not None
    assert of_toolspec is not None
    assert "spec.env" in of_toolkit.why
    assert "spec.constraints" in of_toolspec.why
    of_agent = place.objects.unread_agent(BOT)
    assert of_agent is not None
    assert "spec.credentials" in of_agent.why
    assert (place.objects.session(KEY), place.objects.session_class("plain")) == (None, None)
    assert place.objects.unread_session((NAMESPACE, "another")) is None


async def test_every_call_of_a_namespace_is_told_with_whether_it_has_ended() -> None:
    place = Place()
    place.client.put(TOOLCALLS, manifests.call("runs"))
    place.client.put(TOOLCALLS, manifests.call("ended", status={"finished": True}))
    place.client.put(TOOLCALLS, manifests.call("elsewhere", namespace="other"))

    assert await place.objects.live_calls(NAMESPACE) == {"uid-runs": False, "uid-ended": True}


async def test_namespaces_and_config_maps_are_asked_for() -> None:
    place = Place()
    place.client.put(NAMESPACES, {"metadata": {"name": NAMESPACE, "labels": {"team": "a"}}})
    place.client.put(CONFIG_MAPS, {"metadata": {"name": "files", "namespace": NAMESPACE}, "data": {"a": "b"}})

    found = await place.objects.config_map(NAMESPACE, "files")

    assert await place.objects.namespace_labels(NAMESPACE) == {"team": "a"}
    assert await place.objects.namespace_labels("none") == {}
    assert found is not None
    assert found["data"] == {"a": "b"}
    assert await place.objects.config_map(NAMESPACE, "none") is None


# Reporting ------------------------------------------------------------------------------------------------------------
async def test_the_status_of_a_session_is_kept_and_known_at_once() -> None:
    place = Place()

    reported = await place.objects.report_session(place.session, READY)

    assert place.client.objects[SESSION]["status"] == READY.to_manifest()
    assert place.session is reported
    assert reported.status == READY


async def test_the_status_of_whatever_is_judged_is_kept() -> None:
    place, told = Place(), {"observedGeneration": 3}
    policies = place.caches.policies

    await place.objects.report_judged(place.caches.classes["plain"], SpiceboxClassStatus(observed_generation=3))
    await place.objects.report_judged(
        policies.toolkits.values["echo-kit"], SpiceboxToolkitStatus(observed_generation=3)
    )
    await place.objects.report_judged(
        policies.toolspecs.values["echoes"], SpiceboxToolspecStatus(observed_generation=3)
    )

    assert place.client.objects[CLASSES.named("plain")]["status"] == told
    assert place.client.objects[TOOLKITS.named("echo-kit")]["status"] == told
    assert place.client.objects[TOOLSPECS.named("echoes")]["status"] == told


async def test_the_status_of_a_toolspec_is_known_at_once_unless_it_was_not_kept() -> None:
    place = Place()
    toolspec, status = place.caches.policies.toolspecs.values["echoes"], SpiceboxToolspecStatus(observed_generation=3)
    place.client.refusals["patch"] = Rejected("no")
    with pytest.raises(Rejected):
        await place.objects.report_judged(toolspec, status)
    before = place.objects.toolspec("echoes")
    place.client.refusals.clear()

    await place.objects.report_judged(toolspec, status)

    after = place.objects.toolspec("echoes")
    assert before is toolspec
    assert after is not None
    assert after.status == status


async def test_a_session_that_was_made_anew_does_not_get_the_status_of_the_old_one() -> None:
    place = Place()
    place.client.put(SESSIONS, manifests.session(uid="another"))

    with pytest.raises(Gone, match="another one"):
        await place.objects.report_session(place.session, READY)

    assert "status" not in place.client.objects[SESSION]


@pytest.mark.parametrize("status", (None, {"restarts": 2, "resolvedClass": {"image": 1}}), ids=("no status", "one"))
async def test_of_what_cannot_be_read_only_the_conditions_are_written(status: dict[str, Any] | None) -> None:
    place = Place()
    stands_in = place.garble(status=status)

    await place.objects.report_unread(stands_in, MALFORMED)

    kept = place.client.objects[SESSION]["status"]
    assert kept == {**(status or {}), "observedGeneration": 3, "conditions": MALFORMED.to_manifest()["conditions"]}


async def test_the_conditions_of_a_class_that_cannot_be_read_are_written_alike() -> None:
    place = Place()
    place.caches.put(place.client.put(CLASSES, manifests.session_class(image=1)))
    stands_in = unread.session_class(place.caches.unread_classes["plain"])

    await place.objects.report_unread(stands_in, SpiceboxClassStatus(observed_generation=3))

    assert place.client.objects[CLASSES.named("plain")]["status"] == {"observedGeneration": 3}


async def test_an_agent_identity_stands_in_its_namespace() -> None:
    place, status = Place(), AgentIdentityStatus(observed_generation=3)
    address = AGENT_IDENTITIES.named("bot", NAMESPACE)
    await place.objects.report_judged(place.caches.agents[BOT], status)
    judged = place.client.objects[address]["status"]
    place.caches.put(place.client.put(AGENT_IDENTITIES, manifests.agent(spec={"credentials": "none"})))

    await place.objects.report_unread(unread.agent(place.caches.unread_agents[BOT]), status)

    assert judged == place.client.objects[address]["status"] == {"observedGeneration": 3}


async def test_whether_there_is_an_agent_identity_is_asked_for_and_known_then() -> None:
    place = Place()
    place.client.put(AGENT_IDENTITIES, manifests.agent("fresh"))
    place.client.put(AGENT_IDENTITIES, manifests.agent("bad", spec={"credentials": "none"}))

    found = [await place.objects.has_agent((NAMESPACE, name)) for name in ("fresh", "bad", "none")]

    assert found == [True, True, False]
    assert (NAMESPACE, "fresh") in place.caches.agents
    assert (NAMESPACE, "bad") in place.caches.unread_agents


async def test_so_are_those_of_toolkits_and_toolspecs() -> None:
    place = Place()
    place.caches.put(place.client.put(TOOLKITS, manifests.toolkit(env=None)))
    place.caches.put(place.client.put(TOOLSPECS, manifests.toolspec(constraints="none")))
    unread_toolkit, unread_toolspec = place.objects.unread_toolkit("echo-kit"), place.objects.unread_toolspec("echoes")
    assert unread_toolkit is not None
    assert unread_toolspec is not None

    await place.objects.report_unread(unread.toolkit(unread_toolkit), SpiceboxToolkitStatus(observed_generation=3))
    await place.objects.report_unread(unread.toolspec(unread_toolspec), SpiceboxToolspecStatus(observed_generation=3))

    assert place.client.objects[TOOLKITS.named("echo-kit")]["status"] == {"observedGeneration": 3}
    assert place.client.objects[TOOLSPECS.named("echoes")]["status"] == {"observedGeneration": 3}


async def test_conditions_for_want_of_a_status_replace_none_that_somebody_wrote_meanwhile() -> None:
    place = Place()
    stands_in = place.garble()
    theirs = {"restarts": 2}
    place.client.put(SESSIONS, manifests.session(spec=GARBLED, status=theirs))

    with pytest.raises(Rejected):
        await place.objects.report_unread(stands_in, MALFORMED)

    assert place.client.objects[SESSION]["status"] == theirs


async def test_a_session_that_was_made_anew_does_not_get_the_conditions_of_one_that_could_not_be_read() -> None:
    place = Place()
    stands_in = place.garble()
    place.client.put(SESSIONS, manifests.session(uid="another"))

    with pytest.raises(Gone, match="another one"):
        await place.objects.report_unread(stands_in, MALFORMED)


async def test_a_session_that_cannot_be_read_is_let_go_and_its_pod_deleted() -> None:
    place = Place()
    stands_in = place.garble(finalizers=["theirs", FINALIZER])

    for pod in place.objects.pods(stands_in):
        await place.objects.delete_pod(pod)
    await place.objects.release_session(stands_in)

    assert POD not in place.client.objects
    assert place.client.objects[SESSION]["metadata"]["finalizers"] == ["theirs"]


async def test_a_status_that_is_refused_is_rejected() -> None:
    place = Place()
    place.client.refusals["patch"] = Rejected("status.podName is not valid")

    with pytest.raises(Rejected, match="podName"):
        await place.objects.report_session(place.session, READY)


async def test_a_session_is_held_and_released() -> None:
    place = Place()

    await place.objects.hold_session(place.session)
    held = place.client.objects[SESSION]["metadata"]["finalizers"]
    await place.objects.release_session(place.session)

    assert held == [FINALIZER]
    assert "finalizers" not in place.client.objects[SESSION]["metadata"]


# Making and deleting --------------------------------------------------------------------------------------------------
async def test_a_policy_is_made_and_making_it_again_is_fine() -> None:
    place = Place()

    await place.objects.create(policy())
    await place.objects.create(policy())

    assert POLICY in place.client.objects


@pytest.mark.parametrize("other", ({"egress": [{}]}, {"policyTypes": ["Ingress"]}), ids=("more", "less"))
async def test_a_policy_of_ours_that_says_something_else_is_replaced(other: dict[str, Any]) -> None:
    place = Place()
    place.client.put(NETWORK_POLICIES, {**policy(**other), "status": {}})

    await place.objects.create(policy(ingress=[]))

    assert place.client.objects[POLICY]["spec"] == policy(ingress=[])["spec"]


async def test_a_policy_that_the_api_server_shows_without_its_empty_lists_is_left_as_it_is() -> None:
    place = Place()
    blocks = [{"to": [{"ipBlock": {"cidr": "::/0"}}]}]
    place.client.put(NETWORK_POLICIES, policy(egress=blocks))

    await place.objects.create(policy(ingress=[], egress=[{"to": [{"ipBlock": {"cidr": "::/0", "except": []}}]}]))

    assert "update" not in {verb for verb, _ in place.client.asked}


async def test_a_policy_that_changes_while_it_is_replaced_is_looked_at_again_later() -> None:
    place = Place()
    place.client.put(NETWORK_POLICIES, policy(egress=[{}]))
    place.client.refusals["update"] = Superseded("somebody wrote before")

    with pytest.raises(Unavailable, match="changed meanwhile"):
        await place.objects.create(policy())


async def test_what_belongs_to_somebody_else_is_not_taken_for_ours() -> None:
    place = Place()
    place.client.put(NETWORK_POLICIES, policy(owner="another"))

    with pytest.raises(Rejected, match="belongs to somebody else"):
        await place.objects.create(policy())


async def test_what_nobody_controls_is_not_ours_either() -> None:
    place = Place()
    unowned = policy()
    unowned["metadata"]["ownerReferences"] = []
    place.client.put(NETWORK_POLICIES, unowned)

    with pytest.raises(Rejected, match="belongs to somebody else"):
        await place.objects.create(policy())


async def test_a_quota_that_is_used_up_is_told_in_its_own_words() -> None:
    place = Place()
    place.client.refusals["create"] = Rejected("cannot create pods agents/work-pod-2: exceeded quota: small")

    with pytest.raises(Rejected, match="exceeded quota: small"):
        await place.objects.create(manifests.pod("work-pod-2"))


async def test_a_pod_is_deleted_by_its_uid() -> None:
    place = Place()
    pod = place.caches.pods[NAMESPACE, "work-pod"]

    await place.objects.delete_pod(pod, grace=0)
    await place.objects.delete_pod(pod)

    assert POD not in place.client.objects


async def test_another_pod_of_the_same_name_is_neither_deleted_nor_annotated() -> None:
    place = Place()
    pod = place.caches.pods[NAMESPACE, "work-pod"]
    place.client.put(PODS, manifests.pod(uid="another"))

    await place.objects.delete_pod(pod)
    await place.objects.annotate_pod(pod, {"a": "b"})

    assert "annotations" not in place.client.objects[POD]["metadata"]


async def test_annotations_of_a_pod_are_set_and_taken_away() -> None:
    place = Place()
    pod = place.caches.pods[NAMESPACE, "work-pod"]

    await place.objects.annotate_pod(pod, {"busy": "true", "other": "1"})
    await place.objects.annotate_pod(pod, {"busy": None})

    assert place.client.objects[POD]["metadata"]["annotations"] == {"other": "1"}


async def test_a_session_is_deleted_by_its_uid() -> None:
    place = Place()

    await place.objects.delete_session(place.session)
    await place.objects.delete_session(place.session)

    assert SESSION not in place.client.objects


async def test_what_cannot_be_asked_now_is_unavailable() -> None:
    place = Place()
    place.client.troubles.append(Unavailable("not now"))

    with pytest.raises(Unavailable):
        await place.objects.delete_session(place.session)
