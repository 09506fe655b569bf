"""Sessions and classes that are stored and nobody can read: they say so themselves, and come back when mended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.pod import Images
from tests.e2e.operators import Operator
from tests.e2e.team import Team, a_tool, condition, served, until
from tests.integration.pipeline import Object
from tests.kubectl import Kubectl

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

GARBLED = {f"LARGE_{number}": "x" * 32_768 for number in range(40)}
"""The API server takes more than what leaves room for a status."""

MENDED = dict.fromkeys(GARBLED)
TOO_LARGE = "spec must be at most 1.2 MiB"


@pytest.fixture(scope="module")
def place(
    kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Team, Operator]]:
    """A team with a class and a session that cannot be read, and a class that can; and its operator."""
    with served(kubectl, images, tmp_path_factory.mktemp("operator")) as (team, operator):
        tool = a_tool("tool", "/bin/tool")
        team.a_class("plain", images.tool, tool, terminationGracePeriod="500ms")
        team.a_class("garbled", images.tool, tool, envDefaults=GARBLED)
        team.a_session("garbled", "plain", defaultEnv=GARBLED)
        yield team, operator


@pytest.fixture
def team(place: tuple[Team, Operator]) -> Team:
    return place[0]


@pytest.fixture
def operator(place: tuple[Team, Operator]) -> Operator:
    return place[1]


def is_garbled(team: Team, name: str) -> Object:
    """A session once it says that it cannot be read."""
    team.shows("session", name, "Failed", status="True", reason="MalformedObject")
    return team.get("session", name)


def test_a_class_that_cannot_be_read_says_so_until_it_is_mended(team: Team) -> None:
    told = team.shows("class", "garbled", "Valid", status="False", reason="MalformedObject")

    team.change("class", "garbled", {"spec": {"envDefaults": MENDED}})

    assert TOO_LARGE in told["message"]
    team.shows("class", "garbled", "Valid", status="True")


def test_a_session_that_cannot_be_read_says_so_and_gets_its_sandbox_when_it_is_mended(team: Team) -> None:
    told = is_garbled(team, "garbled")
    refused = team.ended(team.a_call("too-early", "garbled", "tool", "echo", "a"))
    pods = team.all("pod")

    team.change("session", "garbled", {"spec": {"defaultEnv": MENDED}})
    team.ready("garbled")
    call = team.ended(team.a_call("in-time", "garbled", "tool", "echo", "a"))

    assert TOO_LARGE in condition(told, "Failed")["message"]
    assert (condition(told, "Ready")["status"], condition(told, "Progressing")["status"]) == ("False", "False")
    assert refused.end == "Failed/SessionNotActive"
    assert TOO_LARGE in refused.message
    assert pods == []
    assert "MalformedObject" in team.warnings("garbled")
    assert call.end == "Succeeded/ProcessExited"


def test_the_sandbox_of_a_session_that_is_garbled_stays_with_its_calls(team: Team) -> None:
    team.a_session("used", "plain")
    before = team.ready("used")
    team.a_call("running", "used", "tool", "sleep", "3s")
    team.running("running")

    team.change("session", "used", {"spec": {"defaultEnv": GARBLED}})
    told = is_garbled(team, "used")
    ended = team.ended("running")
    team.change("session", "used", {"spec": {"defaultEnv": MENDED}})
    after = team.ready("used")

    assert ended.end == "Succeeded/ProcessExited"
    kept = ("podName", "resolvedClass", "sandbox")
    assert [told["status"][field] for field in kept] == [before["status"][field] for field in kept]
    assert [after["status"][field] for field in kept] == [before["status"][field] for field in kept]
    assert condition(after, "Failed") == {}


def test_a_new_leader_learns_how_a_call_ended_as_soon_as_its_session_can_be_read(
    team: Team, operator: Operator
) -> None:
    team.a_session("handed-over", "plain")
    team.ready("handed-over")
    team.a_call("followed", "handed-over", "tool", "sleep", "6s")
    team.running("followed")
    team.change("session", "handed-over", {"spec": {"defaultEnv": GARBLED}})
    before = is_garbled(team, "handed-over")

    operator.terminate()
    operator.start()
    team.shows("toolcall", "followed", "ReconcileRetrying", status="True")
    after = team.get("session", "handed-over")
    team.change("session", "handed-over", {"spec": {"defaultEnv": MENDED}})

    assert team.ended("followed").end == "Succeeded/ProcessExited"
    assert before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


def test_a_session_that_is_deleted_although_nobody_can_read_it_takes_its_calls_and_its_pod_with_it(team: Team) -> None:
    team.a_session("doomed", "plain")
    pod = team.ready("doomed")["status"]["podName"]
    team.a_call("canceled", "doomed", "tool", "sleep", "5m", timeout="10m")
    team.running("canceled")
    team.change("session", "doomed", {"spec": {"defaultEnv": GARBLED}})
    is_garbled(team, "doomed")

    team.delete("session", "doomed")

    assert team.ended("canceled").end == "Canceled/SessionTerminated"
    team.gone("session", "doomed")
    until(lambda: team.find("pod", pod), lambda found: found is None or "deletionTimestamp" in found["metadata"])


def test_what_says_that_it_cannot_be_read_is_not_written_again(team: Team) -> None:
    team.a_session("quiet", "plain", defaultEnv=GARBLED)
    before = is_garbled(team, "quiet")["metadata"]["resourceVersion"]

    team.a_session("later", "plain")
    team.ready("later")

    assert team.get("session", "quiet")["metadata"]["resourceVersion"] == before
