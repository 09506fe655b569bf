"""Whose calls a session takes: those of the AgentSession that its label names, or anybody's without one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.contract.pod import Images
from tests.e2e.team import Team, a_tool, served
from tests.integration.pipeline import API_VERSION, Object
from tests.kubectl import Kubectl

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

LABEL = "agentprimitives.authzed.com/agentsession"


def owned_by(name: str, api_version: str = API_VERSION, kind: str = "AgentSession") -> Object:
    """Metadata of an object of this owner, of a kind that the cluster need not know."""
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": str(uuid.uuid4())}
    return {"ownerReferences": [owner]}


@pytest.fixture(scope="module")
def team(kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A team with a session of nobody, one of the AgentSession `victim`, and one whose label is empty."""
    with served(kubectl, images, tmp_path_factory.mktemp("operator")) as (team, _):
        team.a_class("plain", images.tool, a_tool("echo", "/bin/tool", "echo"))
        team.a_session("free", "plain")
        team.a_session("taken", "plain", {"labels": {LABEL: "victim"}})
        team.a_session("empty", "plain", {"labels": {LABEL: ""}})
        yield team


@pytest.mark.parametrize(
    ("session", "metadata"),
    (
        ("free", {}),
        ("free", owned_by("anybody")),
        ("taken", owned_by("victim")),
        ("taken", {"ownerReferences": [*owned_by("other")["ownerReferences"], *owned_by("victim")["ownerReferences"]]}),
    ),
    ids=[
        "no owner and no label",
        "an owner and no label",
        "the owner of the label",
        "the owner of the label and another",
    ],
)
def test_a_call_that_may_use_its_session_runs(team: Team, session: str, metadata: Object) -> None:
    call = team.ended(team.a_call(f"call-{uuid.uuid4().hex[:8]}", session, "echo", "a", metadata=metadata))

    assert call.end == "Succeeded/ProcessExited"


@pytest.mark.parametrize(
    ("session", "metadata", "says"),
    (
        ("taken", owned_by("attacker"), ("victim", "attacker")),
        ("taken", {}, ("victim", "has no such owner")),
        ("taken", owned_by("victim", api_version="example.com/v1alpha1"), ("victim", "has no such owner")),
        ("taken", owned_by("victim", kind="ConfigMap"), ("victim", "has no such owner")),
        ("empty", {}, ("its label is empty",)),
        ("empty", owned_by("victim"), ("its label is empty", "victim")),
    ),
    ids=["another owner", "no owner", "of another group", "of another kind", "no label, no owner", "no label"],
)
def test_a_call_that_may_not_use_its_session_is_refused(
    team: Team, session: str, metadata: Object, says: tuple[str, ...]
) -> None:
    call = team.ended(team.a_call(f"call-{uuid.uuid4().hex[:8]}", session, "echo", "a", metadata=metadata))

    assert call.end == "Failed/SessionBindingMismatch"
    assert call.refused()
    assert [each for each in says if each not in call.message] == []
