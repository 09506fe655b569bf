"""Toolkits and toolspecs on a cluster: what they say of themselves, and what becomes of the calls they judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.contract.pod import Images
from tests.e2e.operators import Operator
from tests.e2e.team import BUSYBOX, RESOURCES, Refused, Team, a_tool, condition, served, until
from tests.integration.pipeline import Ended, Object, manifest, toolcall, written
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster.resources import Resource

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

ALLOWED, FORBIDDEN = "/workspace", "/tmp"  # noqa: S108 (of a sandbox, where both can be written to)
NOTHING: Mapping[str, Any] = {
    "destructive": False,
    "reads": [],
    "writes": [],
    "network": {},
    "filesystem": {},
    "creds": {},
}
VALID: Mapping[str, Any] = {"status": "True", "reason": "Resolved"}


class Stage:
    """A team, its operator, and the class `judged`, whose tool `touch` two toolspecs judge: `nothing` and `workspace`.

    A revision is the namespace's: toolkits are the whole cluster's, and of each revision of a tool there is one.
    """

    def __init__(self, team: Team, operator: Operator) -> None:
        self.team = team
        self.operator = operator

    # Manifests --------------------------------------------------------------------------------------------------------
    def toolkit(self, name: str = "touch", /, **spec: object) -> Object:
        """A toolkit of `touch`, which makes a file."""
        touch = {
            "path": [],
            "effects": {**NOTHING, "writes": ["filesystem"], "filesystem": {"paths": ["{positional:file}"]}},
            "flags": [{"short": "c", "type": "bool"}],
            "positional": [{"name": "file", "type": "path", "required": True}],
        }
        fields = {
            "name": "touch",
            "toolkitRevision": self.team.namespace,
            "version": "1.36",
            "target": {"binary": "touch"},
            "parser": {"kind": "declarative"},
            "env": {"allowed": []},
            "subcommands": [touch],
            **spec,
        }
        return manifest("SpiceboxToolkit", self.team.class_name(name), fields)

    def toolspec(self, name: str, /, **spec: object) -> Object:
        """A toolspec over it that allows everything but for what is given."""
        full = self.team.class_name(name)
        reference = {"name": "touch", "revision": self.team.namespace}
        fields = {"name": full, "version": "1", "toolkit": reference, "allowSubcommands": [""], **spec}
        return manifest("SpiceboxToolspec", full, fields)

    def judged_class(self, name: str, *toolspecs: str, tools: tuple[Object, ...] = ()) -> Object:
        """A class whose calls these toolspecs judge."""
        named = [{"name": self.team.class_name(each)} for each in toolspecs]
        offered = tools or (a_tool("touch", "touch"),)
        spec = {"image": BUSYBOX, "resources": RESOURCES, "tools": list(offered), "toolspecs": named}
        return manifest("SpiceboxClass", self.team.class_name(name), spec)

    def session(self, name: str, of: str, toolspecs: tuple[str, ...] | None = None) -> Object:
        """A session of a class, narrowed to these toolspecs."""
        named = [{"name": self.team.class_name(each)} for each in toolspecs or ()]
        narrowed = {} if toolspecs is None else {"toolspecs": named}
        return manifest("SpiceboxSession", name, {"class": self.team.class_name(of), **narrowed})

    def call(self, name: str, session: str, *args: str, tool: str = "touch") -> Object:
        """A call of a tool."""
        return manifest("ToolCall", name, {"session": session, "tool": tool, "args": list(args)})

    # What is seen -----------------------------------------------------------------------------------------------------
    def valid(self, kind: str, name: str, generation: int = 1) -> Object:
        """The condition Valid of a toolkit, a toolspec or a class, once it holds of this generation."""
        return self.team.shows(kind, name, "Valid", **VALID, observedGeneration=generation)

    def invalid(self, kind: str, name: str, reason: str) -> Object:
        """The same, once it does not hold for this reason."""
        return self.team.shows(kind, name, "Valid", status="False", reason=reason)

    def there(self, session: str, path: str) -> bool:
        """Whether a file is in a sandbox."""
        pod = self.team.get("session", session)["status"]["podName"]
        return self.team.kubectl.attempt("exec", pod, "--", "test", "-e", path).returncode == 0

    def failures(self, call: Ended) -> list[tuple[str, str]]:
        """Each toolspec that refused a call, without what makes its name the team's own, and by which rule."""
        beginning = self.team.class_name("")
        return [
            (failure["specName"].removeprefix(beginning), failure.get("failedOn", {}).get("path", ""))
            for failure in call.status["toolspec"]["failures"]
        ]


@pytest.fixture(scope="module")
def stage(kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage whose session `ready` is of the class `judged`; it was applied at once, in the order of an alphabet."""
    with served(kubectl, images, tmp_path_factory.mktemp("operator")) as (team, operator):
        made = Stage(team, operator)
        team.apply(
            made.call("first", "ready", f"{ALLOWED}/first"),
            made.judged_class("judged", "nothing", "workspace"),
            made.session("ready", "judged"),
            made.toolspec("nothing", allowSubcommands=[]),
            made.toolspec("workspace", allow={"filesystem": {"pathsUnder": [ALLOWED]}}),
            made.toolkit(),
        )
        yield made


# Calls ----------------------------------------------------------------------------------------------------------------
def test_an_allowed_call_runs_and_names_who_allowed_it_although_all_came_at_once(stage: Stage) -> None:
    call = stage.team.ended("first")

    assert call.end == "Succeeded/ProcessExited"
    assert call.status["toolspec"] == {"acceptedBy": stage.team.class_name("workspace")}
    assert stage.there("ready", f"{ALLOWED}/first")


def test_a_refused_call_has_every_failure_and_nothing_ran(stage: Stage) -> None:
    marker = f"{FORBIDDEN}/marker"
    stage.team.apply(stage.call("refused", "ready", marker))

    call = stage.team.ended("refused")

    assert call.end == "Failed/ToolspecDenied"
    assert call.refused()
    assert stage.failures(call) == [("nothing", "allowSubcommands"), ("workspace", "allow.filesystem.pathsUnder")]
    assert "acceptedBy" not in call.status["toolspec"]
    assert all(f"{name}: " in call.message for name in map(stage.team.class_name, ("nothing", "workspace")))
    assert not stage.there("ready", marker)
    assert set(stage.team.warnings("refused")) == {"ToolspecDenied"}


def test_what_the_toolkit_does_not_describe_is_refused_before_anybody_runs_it(stage: Stage) -> None:
    stage.team.apply(stage.call("unknown", "ready", "-r", "/etc/passwd", f"{ALLOWED}/unknown"))

    call = stage.team.ended("unknown")

    assert call.end == "Failed/ToolspecDenied"
    assert ("workspace", "parse") in stage.failures(call)
    assert not stage.there("ready", f"{ALLOWED}/unknown")


def test_a_session_shows_which_toolspecs_judge_its_calls_and_a_class_which_judge_which_tool(stage: Stage) -> None:
    names = [stage.team.class_name(each) for each in ("nothing", "workspace")]

    assert stage.team.ready("ready")["status"]["effectiveToolspecs"] == names
    assert stage.team.get("class", "judged")["status"]["toolspecCoverage"] == {"touch": names}
    stage.valid("class", "judged")


def test_a_toolspec_that_changes_while_a_session_lives_changes_the_next_decision(stage: Stage) -> None:
    path = f"{FORBIDDEN}/later"
    folders = {"filesystem": {"pathsUnder": [ALLOWED]}}
    stage.team.apply(
        stage.toolspec("moving", allow=folders),
        stage.judged_class("moving", "moving"),
        stage.session("moving", "moving"),
    )
    stage.team.ready("moving")
    stage.team.apply(stage.call("before", "moving", path))
    before = stage.team.ended("before")

    stage.team.apply(stage.toolspec("moving", allow={"filesystem": {"pathsUnder": [FORBIDDEN]}}))
    stage.valid("toolspec", "moving", generation=2)
    stage.team.apply(stage.call("after", "moving", path))
    after = stage.team.ended("after")
    stage.team.apply(stage.call("not-any-more", "moving", f"{ALLOWED}/not-any-more"))

    assert (before.end, after.end) == ("Failed/ToolspecDenied", "Succeeded/ProcessExited")
    assert stage.there("moving", path)
    assert stage.team.ended("not-any-more").end == "Failed/ToolspecDenied"


def test_a_toolkit_that_goes_takes_its_toolspecs_with_it_and_brings_them_back(stage: Stage) -> None:
    team, revision = stage.team, f"{stage.team.namespace}-2"
    kit = stage.toolkit("short-lived", toolkitRevision=revision)
    reference = {"name": "touch", "revision": revision}
    team.apply(kit, stage.toolspec("orphan", toolkit=reference), stage.judged_class("orphan", "orphan"))
    team.apply(stage.session("orphan", "orphan"))
    team.ready("orphan")

    team.delete("toolkit", "short-lived")
    stage.invalid("toolspec", "orphan", "ToolkitMissing")
    team.apply(stage.call("orphaned", "orphan", f"{ALLOWED}/orphaned"))
    orphaned = team.ended("orphaned")
    team.apply(kit)
    stage.valid("toolspec", "orphan")
    team.apply(stage.call("adopted", "orphan", f"{ALLOWED}/adopted"))

    assert orphaned.end == "Failed/ToolspecDenied"
    assert "ToolkitMissing" in orphaned.message
    assert team.ended("adopted").end == "Succeeded/ProcessExited"


def test_an_empty_list_of_destinations_binds_as_the_api_server_keeps_it(stage: Stage) -> None:
    team, binds = stage.team, {"network": {"destinations": list[str]()}}
    fetch = {
        "path": [],
        "effects": {**NOTHING, "reads": ["network"], "network": {"destinations": ["{positional:url|host}"]}},
        "positional": [{"name": "url", "type": "url", "required": True}],
    }
    team.apply(
        stage.toolkit("wget", name="wget", target={"binary": "wget"}, subcommands=[fetch]),
        stage.toolspec("no-hosts", toolkit={"name": "wget", "revision": team.namespace}, allow=binds),
        stage.judged_class("no-hosts", "no-hosts", tools=(a_tool("wget", "wget"),)),
        stage.session("no-hosts", "no-hosts"),
        stage.call("fetches", "no-hosts", "http://example.com/", tool="wget"),
    )

    call = team.ended("fetches")

    assert team.get("toolspec", "no-hosts")["spec"]["allow"]["network"] == binds["network"]
    assert call.end == "Failed/ToolspecDenied"
    assert stage.failures(call) == [("no-hosts", "allow.network.destinations")]


# What toolkits and toolspecs say of themselves ------------------------------------------------------------------------
INVALID: Mapping[str, tuple[Mapping[str, Any], str, str]] = {
    "no toolkit of its revision": (
        {"toolkit": {"name": "touch", "revision": "none"}},
        "ToolkitMissing",
        "spec.toolkit",
    ),
    "an exception that lifts too much": (
        {"exceptions": [{"overrides": ["allowSubcommands"], "when": "true"}]},
        "SpecLoadFailed",
        "spec.exceptions[0].overrides",
    ),
    "a constraint that means nothing": (
        {"constraints": [{"cel": "call.argv.size( > 1"}]},
        "CELCompileError",
        "spec.constraints[0].cel",
    ),
    "a constraint of a variable there is none of": (
        {"constraints": [{"cel": "who.asks == 'me'"}]},
        "CELCompileError",
        "spec.constraints[0].cel",
    ),
    "a subcommand the toolkit lacks": (
        {"allowSubcommands": ["", "sudo"]},
        "UnknownSubcommand",
        "spec.allowSubcommands[1]",
    ),
}


@pytest.mark.parametrize("title", INVALID)
def test_a_toolspec_that_cannot_judge_says_why_and_can_be_mended(stage: Stage, title: str) -> None:
    spec, reason, says = INVALID[title]
    name = f"invalid-{list(INVALID).index(title)}"
    stage.team.apply(stage.toolspec(name, **spec))

    told = stage.invalid("toolspec", name, reason)
    stage.team.apply(stage.toolspec(name))

    assert says in told["message"]
    stage.valid("toolspec", name, generation=2)
    assert stage.team.get("toolspec", name)["status"]["resolvedToolkit"] == stage.team.class_name("touch")


def test_a_toolkit_that_cannot_be_used_says_why_and_can_be_mended(stage: Stage) -> None:
    slots = [{"name": name, "type": "string", "afterDashDash": True} for name in ("one", "two")]
    broken = [{"path": [], "effects": NOTHING, "positional": slots}]
    stage.team.apply(stage.toolkit("broken", toolkitRevision="broken", subcommands=broken))

    told = stage.invalid("toolkit", "broken", "SpecLoadFailed")
    stage.team.apply(stage.toolkit("broken", toolkitRevision="broken"))

    assert "spec.subcommands[0].positional" in told["message"]
    stage.valid("toolkit", "broken", generation=2)


def test_of_two_toolkits_of_one_revision_the_first_counts_until_it_is_gone(stage: Stage) -> None:
    team, revision = stage.team, f"{stage.team.namespace}-twice"
    team.apply(stage.toolkit("a", toolkitRevision=revision))
    stage.valid("toolkit", "a")
    team.apply(stage.toolkit("b", toolkitRevision=revision))
    stage.invalid("toolkit", "b", "NameTaken")

    team.delete("toolkit", "a")

    stage.valid("toolkit", "b")


def test_people_are_told_of_a_toolspec_that_is_not_valid(stage: Stage) -> None:
    stage.team.apply(stage.toolspec("told", allowSubcommands=["sudo"]))
    stage.invalid("toolspec", "told", "UnknownSubcommand")
    default = Team(Kubectl(stage.team.kubectl.program, "default"))  # where Events about what has no namespace are kept

    until(lambda: default.warnings(stage.team.class_name("told")), lambda told: set(told) == {"UnknownSubcommand"})
    default.clear()


@pytest.mark.parametrize(
    ("short", "name", "columns"),
    (
        ("sbxtk", "touch", {"TOOL": "touch", "VALID": "True"}),
        ("sbxtsp", "workspace", {"TOOLKIT": "touch", "VALID": "True", "REASON": "Resolved"}),
    ),
)
def test_columns_tell_whether_it_is_valid(stage: Stage, short: str, name: str, columns: Mapping[str, str]) -> None:
    header, row = (line.split() for line in stage.team.kubectl("get", short, stage.team.class_name(name)).splitlines())

    assert {**dict(zip(header, row, strict=True)), **columns} == dict(zip(header, row, strict=True))


def test_a_new_leader_finds_everything_judged_and_writes_nothing(stage: Stage) -> None:
    names = [("toolkit", "touch"), ("toolspec", "workspace"), ("toolspec", "nothing"), ("class", "judged")]
    before = [stage.team.get(*name)["metadata"]["resourceVersion"] for name in names]

    stage.operator.terminate()
    stage.operator.start()
    stage.team.apply(stage.call("by-the-next", "ready", f"{ALLOWED}/by-the-next"))

    assert stage.team.ended("by-the-next").status["toolspec"] == {"acceptedBy": stage.team.class_name("workspace")}
    assert [stage.team.get(*name)["metadata"]["resourceVersion"] for name in names] == before


# Coverage and narrowing -----------------------------------------------------------------------------------------------
def test_a_class_whose_tool_nobody_judges_is_mended_by_a_toolspec_and_its_session_comes_up(stage: Stage) -> None:
    stage.team.apply(stage.judged_class("late", "late"), stage.session("late", "late"))
    missing = stage.invalid("class", "late", "ToolspecCoverageMissing")
    waiting = stage.team.shows("session", "late", "Progressing", status="True", reason="WaitingForClass")
    refused = stage.team.shows("session", "late", "Failed", status="True", reason="ClassInvalid")

    stage.team.apply(stage.toolspec("late"), stage.call("late", "late", f"{ALLOWED}/late"))
    ready = stage.team.ready("late")

    lacking = f"there is no SpiceboxToolspec {stage.team.class_name('late')}"
    assert all(lacking in told["message"] for told in (missing, waiting, refused))
    assert "touch" in missing["message"]
    assert ready["status"]["effectiveToolspecs"] == [stage.team.class_name("late")]
    stage.valid("class", "late")


def test_a_toolspec_of_another_tool_covers_nothing(stage: Stage) -> None:
    stage.team.apply(stage.judged_class("other", "workspace", tools=(a_tool("touch", "touch"), a_tool("ls", "ls"))))

    told = stage.invalid("class", "other", "ToolspecCoverageMissing")

    assert "judges calls of ls" in told["message"]


@pytest.mark.parametrize(
    ("narrowed", "failures"),
    ((("nothing",), [("nothing", "allowSubcommands")]), ((), [("", "")])),
    ids=("to one that allows nothing", "to none at all"),
)
def test_a_session_is_judged_by_the_toolspecs_it_is_narrowed_to(
    stage: Stage, narrowed: tuple[str, ...], failures: list[tuple[str, str]]
) -> None:
    name = f"narrowed-{len(narrowed)}"
    stage.team.apply(stage.session(name, "judged", narrowed), stage.call(name, name, f"{ALLOWED}/{name}"))

    call = stage.team.ended(name)

    assert stage.team.ready(name)["status"]["effectiveToolspecs"] == [stage.team.class_name(each) for each in narrowed]
    assert call.end == "Failed/ToolspecDenied"
    assert [(spec, path) for spec, path in stage.failures(call)] == failures
    assert not stage.there(name, f"{ALLOWED}/{name}")


def test_a_session_that_names_toolspecs_its_class_lacks_is_not_made_until_that_is_mended(stage: Stage) -> None:
    strange = stage.team.class_name("moving")
    stage.team.apply(stage.session("strange", "judged", ("workspace", "moving")))
    stage.team.apply(stage.call("too-soon", "strange", f"{ALLOWED}/too-soon"))
    told = stage.team.shows("session", "strange", "Ready", status="False", reason="ToolspecNotInClass")
    too_soon = stage.team.ended("too-soon")

    stage.team.apply(stage.session("strange", "judged", ("workspace",)))
    ready = stage.team.ready("strange")
    with pytest.raises(Refused, match=r"spec\.toolspecs") as refused:
        stage.team.change("session", "strange", {"spec": {"toolspecs": None}})

    assert strange in told["message"]
    assert too_soon.end == "Failed/SessionNotActive"
    assert "ToolspecNotInClass" in too_soon.message
    assert ready["status"]["effectiveToolspecs"] == [stage.team.class_name("workspace")]
    assert refused.value.status == 422


# Waiting for a verdict ------------------------------------------------------------------------------------------------
@contextmanager
def unjudged(team: Team, name: str) -> Iterator[None]:
    """A rule of the cluster by which nobody can write the status of a toolspec; it holds when this begins."""
    toolspec, rule = team.address("toolspec", name), {"metadata": {"name": team.class_name(f"unjudged-{name}")}}
    group, version, kind = "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"
    policies, bindings = (Resource(group, version, f"validatingadmissionpolic{end}") for end in ("ies", "ybindings"))
    about = {"apiGroups": [toolspec.resource.group], "apiVersions": ["*"], "operations": ["UPDATE"]}
    refuse = {
        "matchConstraints": {"resourceRules": [{**about, "resources": ["spiceboxtoolspecs/status"]}]},
        "matchConditions": [{"name": "this-one", "expression": f"object.metadata.name == '{toolspec.name}'"}],
        "validations": [{"expression": "false", "message": "nobody judges it yet"}],
    }
    bind = {"policyName": rule["metadata"]["name"], "validationActions": ["Deny"]}
    typed = {"apiVersion": f"{group}/{version}"}
    team.ask("POST", policies.within(), {**typed, "kind": kind, **rule, "spec": refuse})
    team.ask("POST", bindings.within(), {**typed, "kind": f"{kind}Binding", **rule, "spec": bind})
    try:
        until(lambda: "nobody judges it yet" in _attempt(team, toolspec.name))
        yield
    finally:
        for resource in (bindings, policies):
            team.ask("DELETE", resource.named(rule["metadata"]["name"]))


def _attempt(team: Team, toolspec: str) -> str:
    """What is said to somebody who would write the status of a toolspec, and writes nothing."""
    patch = json.dumps({"status": {"observedGeneration": 1}})
    command = ("patch", "spiceboxtoolspec", toolspec, "--subresource=status", "--type=merge", "--dry-run=server")
    return team.kubectl.attempt(*command, f"--patch={patch}").stderr


def test_a_call_waits_for_a_toolspec_that_nobody_has_judged_yet(stage: Stage) -> None:
    team, path = stage.team, f"{FORBIDDEN}/waited"
    wide = stage.toolspec("wide", allow={"filesystem": {"pathsUnder": [FORBIDDEN]}})
    team.apply(wide, stage.judged_class("waits", "workspace", "wide"), stage.session("waits", "waits"))
    team.ready("waits")
    team.delete("toolspec", "wide")
    team.gone("toolspec", "wide")
    team.apply(wide)
    stage.valid("toolspec", "wide")
    with unjudged(team, "wide"):
        team.change("toolspec", "wide", {"spec": {"intent": "to be judged again"}})
        team.apply(stage.call("waits", "waits", path))
        told = team.shows("toolcall", "waits", "Running", status="False", reason="WaitingForPolicy")
        early = condition(team.get("toolcall", "waits"), "Finished")

    call = team.ended("waits")

    assert team.class_name("wide") in told["message"]
    assert early == {}
    assert call.end == "Succeeded/ProcessExited"
    assert call.status["toolspec"] == {"acceptedBy": team.class_name("wide")}
    assert stage.there("waits", path)


def test_a_call_does_not_wait_for_ever(stage: Stage) -> None:
    team = stage.team
    team.apply(stage.toolspec("never"), stage.judged_class("never", "never"), stage.session("never", "never"))
    team.ready("never")
    with unjudged(team, "never"):
        team.change("toolspec", "never", {"spec": {"intent": "to be judged again"}})
        team.apply(stage.call("never", "never", f"{ALLOWED}/never"))
        call = team.ended("never")

    assert call.end == "Failed/ToolspecDenied"
    assert call.refused()
    assert team.class_name("never") in call.message
    assert not stage.there("never", f"{ALLOWED}/never")


@pytest.mark.parametrize(("path", "allowed"), ((f"{ALLOWED}/asked", True), (f"{FORBIDDEN}/asked", False)))
def test_people_can_ask_what_would_become_of_a_call(stage: Stage, tmp_path: Path, path: str, *, allowed: bool) -> None:
    team = stage.team
    team.ready("ready")
    file = written(tmp_path, [stage.call("asked", "ready", path)])

    asked = toolcall("explain", "--cluster", "-n", team.namespace, "-f", file, cwd=tmp_path)

    assert asked.returncode == (0 if allowed else 1), asked.stderr
    assert f"toolspec {team.class_name('workspace')}, for toolkit touch" in asked.stdout
    assert not stage.there("ready", path)
