"""Whether sessions can be made of a class stands on the class itself, and changes with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.contract.pod import Images
from tests.e2e.team import RESOURCES, Refused, Team, a_tool, served, until
from tests.kubectl import Kubectl

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

ECHO = a_tool("echo", "/bin/echo")
MOUNT = {"name": "files", "mountPath": "/files", "source": {"configMapRef": {"name": "files"}}}

INVALID: Mapping[str, tuple[Mapping[str, Any], str, str]] = {
    "a blank image": ({"image": " "}, "InvalidImage", "spec.image"),
    "no tools": ({"tools": []}, "InvalidTool", "spec.tools"),
    "no memory": ({"resources": {**RESOURCES, "memory": "0"}}, "InvalidResource", "spec.resources.memory"),
    "more requested than allowed": ({"pod": {"requests": {"cpu": "2"}}}, "InvalidResource", "spec.pod.requests.cpu"),
    "a variable that suggests a secret": (
        {"envDefaults": {"GITHUB_TOKEN": "a"}},
        "InvalidEnvDefaults",
        "spec.envDefaults.GITHUB_TOKEN",
    ),
    "a mount over what is ours": (
        {"mounts": [{**MOUNT, "mountPath": "/work"}]},
        "InvalidMounts",
        "spec.mounts",
    ),
    "a volume over a mount": (
        {"mounts": [MOUNT], "privateVolumes": [{"name": "home", "mountPath": "/files"}]},
        "InvalidPrivateVolumes",
        "spec.privateVolumes",
    ),
    "a writable path over what is ours": (
        {"writablePaths": ["/opt/toolcall"]},
        "InvalidWritablePaths",
        "spec.writable",
    ),
    "a label of ours": (
        {"pod": {"labels": {"agentprimitives.authzed.com/session": "a"}}},
        "InvalidSandbox",
        "spec.pod.labels",
    ),
    "a pool that stands nowhere": (
        {"sandbox": {"warmPool": {"replicas": 3}}},
        "InvalidSandboxWarmPool",
        "spec.sandbox.warmPool.namespaces",
    ),
    "hosts, which nothing keeps it to yet": (
        {"network": {"mode": "allowlist", "allowedHosts": ["example.com"]}},
        "NotSupported",
        "spec.network.allowedHosts",
    ),
    "toolspecs that there are none of": (
        {"toolspecs": [{"name": "a"}]},
        "ToolspecCoverageMissing",
        "there is no SpiceboxToolspec a",
    ),
}
VALID: Mapping[str, Mapping[str, Any]] = {
    "the least there can be": {},
    "a name that its own list excepts": {"envDefaults": {"CI_TOKEN": "a"}, "allowedEnvNames": ["CI_TOKEN"]},
    "a name that only looks like a setting": {"envDefaults": {"GIT_DIR": "a"}},
    "a pool of none": {"sandbox": {"warmPool": {"replicas": 0}}},
}


@pytest.fixture(scope="module")
def team(kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A team whose classes are all there, named by their place in the lists."""
    with served(kubectl, images, tmp_path_factory.mktemp("operator")) as (team, _):
        specs = [*(spec for spec, _, _ in INVALID.values()), *VALID.values()]
        for number, spec in enumerate(specs):
            made: dict[str, Any] = {"tools": [ECHO], "image": images.tool, **spec}
            image, tools = made.pop("image"), made.pop("tools")
            team.a_class(f"{number}", image, *tools, **made)
        yield team


@pytest.mark.parametrize("title", INVALID)
def test_a_class_of_which_no_sessions_can_be_made_says_why(team: Team, title: str) -> None:
    _, reason, says = INVALID[title]

    told = team.shows("class", f"{list(INVALID).index(title)}", "Valid", status="False", reason=reason)

    assert says in told["message"]


@pytest.mark.parametrize("title", VALID)
def test_a_class_of_which_sessions_can_be_made_says_so(team: Team, title: str) -> None:
    name = f"{len(INVALID) + list(VALID).index(title)}"

    team.shows("class", name, "Valid", status="True", reason="Valid")

    assert team.get("class", name)["status"]["observedGeneration"] == 1


def test_a_class_is_judged_anew_when_it_changes(team: Team, images: Images) -> None:
    name = f"{list(INVALID).index('a blank image')}"
    team.shows("class", name, "Valid", status="False")

    team.change("class", name, {"spec": {"image": images.tool}})

    team.shows("class", name, "Valid", status="True", observedGeneration=2)


def test_another_kind_of_sandbox_is_refused_by_its_field(team: Team, images: Images) -> None:
    with pytest.raises(Refused, match=r"spec\.sandbox\.kind"):
        team.a_class("vm", images.tool, ECHO, sandbox={"kind": "vm"})


def test_people_are_told_of_a_class_that_is_not_valid(team: Team) -> None:
    name = f"{list(INVALID).index('no tools')}"
    team.shows("class", name, "Valid", status="False")
    default = Team(Kubectl(team.kubectl.program, "default"))  # where Events about what has no namespace are kept

    until(lambda: default.warnings(team.class_name(name)), lambda told: set(told) == {"InvalidTool"})
    default.clear()


def test_a_class_shows_in_columns_whether_it_is_valid(team: Team) -> None:
    name = team.class_name(f"{list(INVALID).index('no tools')}")
    team.shows("class", name.removeprefix(f"{team.namespace}-"), "Valid", status="False")

    header, row = (line.split() for line in team.kubectl("get", "sbxcls", name).splitlines())

    assert row[header.index("VALID")] == "False"
