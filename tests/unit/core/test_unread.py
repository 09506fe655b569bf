"""What stands in the place of an object that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.core.examples import RESOURCES
from toolcall_operator.api import parsing
from toolcall_operator.api.parsing import Malformed
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core import classes, unread
from toolcall_operator.core.judgeable import Judgeable
from toolcall_operator.core.unread import Unread

TOLD = {
    "type": "Ready",
    "status": "True",
    "reason": "SandboxReady",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
BAD_MOUNT = {"name": "files", "mountPath": "/files", "source": {}}


STAND_INS: Mapping[str, Callable[[Unread], SpiceboxSession | Judgeable]] = {
    "SpiceboxSession": unread.session,
    "SpiceboxClass": unread.session_class,
    "SpiceboxToolkit": unread.toolkit,
    "SpiceboxToolspec": unread.toolspec,
    "AgentIdentity": unread.agent,
}


def garbled(kind: str, **parts: Any) -> Unread:  # noqa: ANN401 (parts of a manifest)
    """What is kept of an object with a mount of nothing, which most kinds have none of at all."""
    metadata = {"name": "work", "namespace": "agents", "uid": "uid-1", "generation": 4, **parts.pop("metadata", {})}
    spec = {"class": "plain"} if kind == "SpiceboxSession" else {"resources": RESOURCES}
    manifest = {"kind": kind, "metadata": metadata, "spec": {**spec, "mounts": [BAD_MOUNT]}, **parts}
    with pytest.raises(Malformed) as raised:
        parsing.parse({"apiVersion": "agentprimitives.authzed.com/v1alpha1", **manifest})
    return Unread.of(manifest, raised.value.problems)


def test_why_names_every_field() -> None:
    found = garbled("SpiceboxSession", status={"restarts": "many"})

    assert found.why == ("spec.mounts[0].source.configMapRef is required; status.restarts must be a whole number")


def test_nothing_of_a_spec_is_kept() -> None:
    found = Unread.of({"metadata": {"name": "work"}, "spec": {"defaultEnv": {"A": "the-secret"}}}, ())

    assert found.manifest == {"metadata": {"name": "work"}, "status": None}
    assert found.tool == ""


def test_the_tool_is_all_that_is_kept_of_the_spec_of_a_toolspec() -> None:
    spec = {"toolkit": {"name": "git", "revision": "the-secret"}, "intent": "the-secret"}

    found = Unread.of({"metadata": {"name": "work"}, "spec": spec}, ())

    assert found == Unread({"metadata": {"name": "work"}, "status": None}, (), "git")


def test_a_session_in_the_place_of_another_has_its_metadata_and_status_and_asks_for_nothing() -> None:
    deleted_at = "2026-01-01T00:00:00Z"
    found = unread.session(
        garbled(
            "SpiceboxSession",
            metadata={"deletionTimestamp": deleted_at, "finalizers": ["ours"]},
            status={"podName": "work-pod", "callCount": 7, "conditions": [TOLD]},
        )
    )

    metadata = found.metadata
    assert (metadata.namespace, metadata.name, metadata.uid, metadata.generation) == ("agents", "work", "uid-1", 4)
    assert (metadata.deletion_timestamp, metadata.finalizers) == (datetime(2026, 1, 1, tzinfo=UTC), ("ours",))
    assert found.status is not None
    assert (found.status.pod_name, found.status.call_count) == ("work-pod", 7)
    assert [each.reason for each in found.status.conditions] == ["SandboxReady"]
    assert (found.spec.class_, found.spec.mounts) == ("", ())


def test_of_a_status_that_cannot_be_read_the_rest_is() -> None:
    found = unread.session(
        garbled("SpiceboxSession", status={"resolvedClass": {"image": 1}, "restarts": 2, "conditions": [TOLD]})
    )

    assert found.status is not None
    assert (found.status.resolved_class, found.status.restarts) == (None, 2)
    assert len(found.status.conditions) == 1


@pytest.mark.parametrize("kind", STAND_INS)
def test_an_object_without_a_status_has_none(kind: str) -> None:
    assert STAND_INS[kind](garbled(kind)).status is None


def test_a_name_that_is_too_long_is_one_all_the_same() -> None:
    found = unread.session(garbled("SpiceboxSession", metadata={"name": "long" * 20}))

    assert found.metadata.name == "long" * 20


def test_a_class_in_the_place_of_another_has_its_metadata_and_status_and_offers_nothing() -> None:
    found = unread.session_class(garbled("SpiceboxClass", status={"conditions": [{**TOLD, "type": "Valid"}]}))

    assert (found.metadata.name, found.metadata.uid, found.metadata.generation) == ("work", "uid-1", 4)
    assert found.status is not None
    assert [each.type for each in found.status.conditions] == ["Valid"]
    assert not classes.judged(found).valid


def test_an_agent_identity_in_the_place_of_another_has_its_metadata_and_status_and_no_credentials() -> None:
    found = unread.agent(garbled("AgentIdentity", status={"conditions": [{**TOLD, "type": "Valid"}]}))

    assert found.metadata.namespace == "agents"
    assert found.status is not None
    assert [each.type for each in found.status.conditions] == ["Valid"]
    assert found.spec.credentials == ()


@pytest.mark.parametrize("kind", ("SpiceboxToolkit", "SpiceboxToolspec"))
def test_a_policy_in_the_place_of_another_has_its_metadata_and_status_and_allows_nothing(kind: str) -> None:
    unread_one = garbled(kind, status={"conditions": [{**TOLD, "type": "Valid"}]})
    found = STAND_INS[kind](unread_one)

    assert (found.metadata.name, found.metadata.uid, found.metadata.generation) == ("work", "uid-1", 4)
    assert found.status is not None
    assert [each.type for each in found.status.conditions] == ["Valid"]
    assert not unread.toolkit(unread_one).spec.subcommands
    assert not unread.toolspec(unread_one).spec.allow_subcommands
