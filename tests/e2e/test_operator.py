"""The operator as a program: what it may do, where it works, and what it says when it cannot."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.pod import Images
from tests.e2e.audit import Audit
from tests.e2e.operators import Operator
from tests.e2e.team import Team, a_tool, condition, served, until
from tests.integration.pipeline import TOOLCALL, Object
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster.resources import SESSIONS

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

TOOL = "/bin/tool"
RBAC = Path(__file__).parents[2] / "examples" / "operator" / "rbac.yaml"
ACCOUNT = "toolcall-operator"


def toolcall(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The program, run to its end."""
    return subprocess.run(
        [str(TOOLCALL), *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def refusal(*arguments: str, **variables: str) -> str:
    """What an operator says that cannot start."""
    done = toolcall("operator", *arguments, **variables)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def kubeconfig(folder: Path, **user: Any) -> str:  # noqa: ANN401 (fields of a user)
    """A kubeconfig like the tests' own, but for the user."""
    whole = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    path = folder / f"kubeconfig-{uuid.uuid4().hex[:8]}"
    path.write_text(yaml.safe_dump({**whole, "users": [{**each, "user": user} for each in whole["users"]]}))
    return str(path)


# What it says when it cannot start ------------------------------------------------------------------------------------
def test_a_wrong_setting_is_refused_by_its_flag_and_its_variable() -> None:
    told = refusal("--calls", "none", TOOLCALL_FAULT_BUDGET="soon")

    assert "--calls (TOOLCALL_CALLS)" in told
    assert "--fault-budget (TOOLCALL_FAULT_BUDGET)" in told


def test_settings_are_listed_with_what_they_are_here(kubectl: Kubectl) -> None:
    done = toolcall("settings", TOOLCALL_NAMESPACES=kubectl.namespace)

    assert done.returncode == 0
    assert kubectl.namespace in done.stdout
    assert "TOOLCALL_SESSION_READY_TIMEOUT" in done.stdout


def test_without_a_kubeconfig_it_says_where_it_looked(tmp_path: Path) -> None:
    assert f"there is no kubeconfig at {tmp_path}/none" in refusal("--kubeconfig", f"{tmp_path}/none")


def test_a_cluster_that_does_not_answer_is_told(tmp_path: Path) -> None:
    whole = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    whole["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    path = tmp_path / "nowhere"
    path.write_text(yaml.safe_dump(whole))

    assert "Connect" in refusal("--kubeconfig", str(path))


def test_rights_that_lack_are_named_all_at_once(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl("create", "serviceaccount", "powerless")
    token = kubectl("create", "token", "powerless").strip()
    where = {"TOOLCALL_NAMESPACES": kubectl.namespace, "TOOLCALL_OPERATOR_NAMESPACE": kubectl.namespace}

    told = refusal("--kubeconfig", kubeconfig(tmp_path, token=token), **where)

    assert f"these rights lack: get toolcalls in namespace {kubectl.namespace}" in told
    assert f"create pods/exec in namespace {kubectl.namespace}" in told or "more" in told


# Where it works -------------------------------------------------------------------------------------------------------
def strangers(cluster: Kubectl) -> list[str]:
    """The namespaces in which somebody uses our kinds; in those that are on their way out, nobody does."""
    found = cluster.get("spiceboxsessions,toolcalls", "--all-namespaces")["items"]
    used = {each["metadata"]["namespace"] for each in found}
    alive = {each["metadata"]["name"] for each in cluster.get("namespaces")["items"] if active(each)}
    return sorted(used & alive)


def active(namespace: Object) -> bool:
    return bool(namespace["status"]["phase"] == "Active")


@pytest.fixture
def everywhere(cluster: Kubectl, images: Images, tmp_path: Path) -> Iterator[tuple[Team, Team]]:
    """Two teams of an operator of the whole cluster, which must be nobody else's: it would carry their calls, too."""
    try:
        until(lambda: strangers(cluster), lambda found: not found, seconds=10)
    except AssertionError:
        pytest.skip(f"an operator of the whole cluster would meddle with {', '.join(strangers(cluster))}")
    teams = [Team(replace(cluster, namespace=f"test-{uuid.uuid4().hex[:8]}")) for _ in range(2)]
    with ExitStack() as held:
        for team in teams:
            cluster("create", "namespace", team.namespace)
            held.callback(cluster, "delete", "namespace", team.namespace, "--wait=false")
            held.callback(team.clear)
        operator = Operator(teams[0].kubectl, images, tmp_path, {"TOOLCALL_NAMESPACES": ""}).start()
        held.callback(operator.stop)
        for team in teams:
            held.callback(replace(operator, kubectl=team.kubectl).clear)
        yield teams[0], teams[1]


def test_an_operator_of_the_whole_cluster_runs_the_calls_of_every_namespace(
    everywhere: tuple[Team, Team], images: Images
) -> None:
    everywhere[0].a_class("plain", images.tool, a_tool("tool", TOOL))
    for number, team in enumerate(everywhere):
        of = everywhere[0].class_name("plain")
        team.make(SESSIONS, {"metadata": {"name": "plain"}, "spec": {"class": of}})
        team.a_call("call", "plain", "tool", "echo", f"of team {number}")

    assert [team.ended("call").output() for team in everywhere] == [b"of team 0\n", b"of team 1\n"]


# What it may do -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Stage:
    """A team whose operator is a service account with the rights of the manifest and no others, by its own audit."""

    team: Team
    operator: Operator
    audit: Audit

    @property
    def account(self) -> str:
        """The operator, as the API server calls it."""
        return f"system:serviceaccount:{self.team.namespace}:{ACCOUNT}"

    def connects(self) -> bool:
        """Whether a channel stands to the sandbox of the session."""
        pod = self.team.ready("plain")["status"]["podName"]
        return bool(self.team.kubectl("exec", pod, "--", TOOL, "find-pids", "connect"))


@pytest.fixture(scope="module")
def stage(kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder, audit = tmp_path_factory.mktemp("operator"), Audit.from_now()
    manifest = RBAC.read_text().replace("NAMESPACE", kubectl.namespace)
    everywhere = replace(kubectl, namespace="")  # each object says itself where it is
    everywhere("apply", "--filename=-", stdin=manifest)
    token = kubectl("create", "token", ACCOUNT, "--duration=1h").strip()
    settings = {"kubeconfig": kubeconfig(folder, token=token), "fault_budget": "3s", "channel_idle": "1s"}
    try:
        with served(kubectl, images, folder, **settings) as (team, operator):
            team.a_class("plain", images.tool, a_tool("tool", TOOL), terminationGracePeriod="500ms")
            team.a_session("plain", "plain")
            yield Stage(team, operator, audit)
    finally:
        everywhere("delete", "--ignore-not-found", "--wait=false", "--filename=-", stdin=manifest)


def test_with_the_rights_of_the_manifest_everything_works_and_nothing_is_forbidden(
    stage: Stage, images: Images
) -> None:
    team = stage.team
    team.a_class("invalid", images.tool, a_tool("tool", TOOL), envDefaults={"API_KEY": "a"})
    team.a_session("invalid", "invalid")
    team.a_class("limited", images.tool, a_tool("tool", TOOL), allowedNamespaces={"matchLabels": {"team": "other"}})
    team.a_session("limited", "limited")
    team.kubectl("create", "configmap", "files", "--from-literal=file=text")
    mount = {"name": "files", "mountPath": "/files", "source": {"configMapRef": {"name": "files"}}}
    team.a_session("short", "plain", maxDuration="1s", mounts=[mount])
    for name, words in {"ends": ("echo", "a"), "fails": ("fail", "3"), "held": ("sleep", "5m")}.items():
        team.a_call(name, "plain", "tool", *words, timeout="10m")
    team.a_call("refused", "plain", "nothing")
    until(lambda: team.get("toolcall", "held")["metadata"].get("finalizers"))
    team.delete("toolcall", "held")

    assert team.ended("ends").output() == b"a\n"
    assert team.ended("fails").end == "Failed/NonZeroExit"
    team.gone("toolcall", "held")
    until(lambda: team.warnings("refused"), lambda told: told == ["ToolUnknown"])
    team.shows("session", "invalid", "Failed", reason="ClassInvalid")
    team.shows("session", "limited", "Failed", reason="ClassNotAllowed")
    team.gone("session", "short")
    until(lambda: team.get("session", "plain")["status"].get("callCount"))
    asked = stage.audit.about(stage.account)
    assert {each.resource for each in asked} > {"toolcalls/status", "pods/exec", "leases", "networkpolicies"}
    assert [each for each in asked if each.status in {401, 403}] == []


def test_an_operator_of_one_namespace_leaves_others_alone(stage: Stage, cluster: Kubectl) -> None:
    name = f"{stage.team.namespace}-other"
    cluster("create", "namespace", name)
    try:
        other = Team(replace(cluster, namespace=name))
        other.a_call("alone", "plain", "tool", "echo", "a")
        stage.team.ended(stage.team.a_call("ours", "plain", "tool", "echo", "a"))

        assert "status" not in other.get("toolcall", "alone")
        assert [each for each in stage.audit.about(stage.account) if each.namespace == name] == []
        other.delete("toolcall", "alone")
        other.clear()
    finally:
        cluster("delete", "namespace", name, "--wait=false")


def test_a_right_that_is_taken_away_shows_on_calls_and_ends_them_before_they_start(stage: Stage) -> None:
    team, role = stage.team, f"toolcall-operator-calls-{stage.team.namespace}"
    team.ended(team.a_call("before", "plain", "tool", "echo", "a"))
    rules = team.kubectl.get("clusterrole", role)["rules"]
    without = [rule for rule in rules if "pods/exec" not in rule["resources"]]
    until(lambda: not stage.connects())

    team.kubectl("patch", "clusterrole", role, "--type=merge", f"--patch={yaml.safe_dump({'rules': without})}")
    team.a_call("stuck", "plain", "tool", "echo", "a")

    shown = team.shows("toolcall", "stuck", "ReconcileRetrying", status="True")
    assert "no right to exec" in shown["message"]
    call = team.ended("stuck")
    assert call.end == "Failed/ReconcileFailed"
    assert call.refused()
    assert "no right to exec" in call.message
    assert condition(call.object, "ReconcileRetrying")["status"] == "False"
    team.kubectl("patch", "clusterrole", role, "--type=merge", f"--patch={yaml.safe_dump({'rules': rules})}")
    assert team.ended(team.a_call("after", "plain", "tool", "echo", "a")).end == "Succeeded/ProcessExited"
