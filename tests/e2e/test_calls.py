"""Every way in which a call can end on a cluster, and what stands on its status then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from tests.contract.pod import Images
from tests.e2e.audit import AGENT, Audit
from tests.e2e.operators import Operator
from tests.e2e.team import BUSYBOX, RESOURCES, Refused, Team, a_tool, condition, served, until
from tests.integration.pipeline import ENDS, Ended
from tests.kubectl import Kubectl

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

MiB = 1024**2
READY_SECONDS = 30
"""How long calls wait for their sandbox in here."""

TOOL = "/bin/tool"
TOOLS = (
    a_tool("tool", TOOL),
    a_tool("args", TOOL, "args", defaultArgs=["-n"]),
    a_tool("absent", "/no/such/program"),
    a_tool("nowhere", "no-such-program"),
    a_tool("folder", "/workspace"),
    a_tool("text", "/etc/hosts"),
)
QUOTED = "'\n$(id) `id` \\ \" é"
KEY = "ghp_" + "q7RzT2mWx9KdLs4NvB8cYf3HjP6gQaEu"


@dataclass(frozen=True, slots=True)
class Story:
    """What a call asks of a tool, and how it has to end; `says` is part of the message."""

    end: str
    tool: str = "tool"
    args: tuple[str, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    code: int | None = None
    out: bytes | None = None
    err: bytes | None = None
    says: str = ""


def ran(*args: str, out: bytes | None = None, tool: str = "tool", **spec: Any) -> Story:  # noqa: ANN401 (fields of a spec)
    return Story("Succeeded/ProcessExited", tool, args, spec, code=0, out=out, says="exit code 0")


def failed(reason: str, *args: str, code: int | None = None, says: str = "", err: bytes | None = None) -> Story:
    return Story(f"Failed/{reason}", "tool", args, code=code, says=says, err=err)


def refused(reason: str, says: str, **spec: Any) -> Story:  # noqa: ANN401 (fields of a spec)
    return Story(f"Failed/{reason}", spec.pop("tool", "tool"), spec.pop("args", ("echo", "never")), spec, says=says)


STORIES = {
    "exit code 0 is a success": ran("echo", "hello world", out=b"hello world\n"),
    "another exit code is none": failed("NonZeroExit", "fail", "7", "boom", code=7, says="exit code 7", err=b"boom\n"),
    "a signal of its own": failed("Signaled", "raise", "15", code=143, says="signal 15 (SIGTERM)"),
    "a kill of its own": failed("Signaled", "raise", "9", code=137, says="signal 9 (SIGKILL)"),
    "a program that is not there": Story("Failed/CommandNotFound", "absent", code=127, says="/no/such/program"),
    "a program that PATH does not have": Story("Failed/CommandNotFound", "nowhere", code=127, says="no-such-program"),
    "a folder is no program": Story("Failed/NotExecutable", "folder", code=126, says="/workspace"),
    "a text is no program": Story("Failed/NotExecutable", "text", code=126, says="/etc/hosts"),
    "an argument longer than Linux takes": refused("ArgumentsTooLong", "spec.args[1]", args=("echo", "é" * 70_000)),
    "a deadline": Story("Timeout/DeadlineExceeded", "tool", ("sleep", "1m"), {"timeout": "300ms"}, says="within 300ms"),
    "a deadline that the tool minds": Story(
        "Timeout/DeadlineExceeded", "tool", ("on-term", "3"), {"timeout": "1s"}, code=3, out=b"ready\n", says="code 3"
    ),
    # In a sandbox of its own: where memory runs out, another call may be the one that is ended.
    "more memory than there is": Story(
        "Failed/OOMKilled", "tool", ("alloc", str(1024 * MiB), "30s"), {"session": "hungry"}, says="memory"
    ),
    "more processes than its class allows": failed("PidsLimitExceeded", "fork-bomb", "300", says="more processes"),
    "stdin to its end": ran("cat", out="payload-under-test, é".encode(), stdin="payload-under-test, é"),
    "no stdin is an end of file at once": ran("cat"),
    "arguments that no shell reads": ran("a b", "$HOME", "*", "'", tool="args", out=b'["-n","a b","$HOME","*","\'"]\n'),
    "every byte as it is": ran("bytes", out=bytes(range(256)) * 4),
    "a name that its class excepts": ran("echo", "a", env={"BUILD_TOKEN": "a"}, out=b"a\n"),
    "a value that looks like a key": ran("echo", "a", env={"HARMLESS": KEY}, out=b"a\n"),
    "no such session": refused("SessionGone", "spec.session names SpiceboxSession nobody", session="nobody"),
    "no such tool": refused("ToolUnknown", "spec.tool", tool="nothing"),
    "arguments of another kind": refused("UnsupportedForTool", "spec.arguments", arguments={"a": 1}),
    "outputs, which are not kept yet": refused("NotSupported", "spec.captureOutputs", captureOutputs=["/work/out/a"]),
    "a stream, which there is none yet": refused("NotSupported", "spec.mode", mode="stream", streamTokenHash="0" * 64),
    "a snapshot, which there is none yet": refused(
        "NotSupported",
        "spec.preDispatchSnapshot",
        preDispatchSnapshot={"sessionUID": "a", "turnIndex": 0, "sequence": 0},
    ),
    "a variable of an impossible name": refused("EnvNameInvalid", "NOT-A-NAME", env={"NOT-A-NAME": "a"}),
    "an impossible name before what it suggests": refused("EnvNameInvalid", "API-KEY", env={"API-KEY": "a"}),
    "a variable that suggests a secret": refused(
        "ToolCallEnvSecretLike", "spec.env.API_KEY", env={"PASSWORD": "a", "API_KEY": "a", "OTHER": "a"}
    ),
    "a spec that leaves no room for a status": refused("MalformedObject", "1.2 MiB", args=("x" * 128_000,) * 10),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """The team, its operator, and the names of the calls of the stories."""

    team: Team
    operator: Operator
    audit: Audit
    calls: Mapping[str, str]

    def ended(self, story: str) -> Ended:
        """The call of a story once it has ended."""
        return self.team.ended(self.calls[story])

    def inside(self, *words: str) -> str:
        """What the test tool prints in the sandbox, as the supervisor's equal: in no call."""
        pod = self.team.ready("scratch")["status"]["podName"]
        return self.team.kubectl("exec", pod, "--", TOOL, *words)


@pytest.fixture(scope="module")
def stage(kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """All calls of the stories, made before there is a class or a session for them."""
    folder, audit = tmp_path_factory.mktemp("operator"), Audit.from_now()
    with served(kubectl, images, folder, session_ready_timeout=f"{READY_SECONDS}s") as (team, operator):
        team.a_class("unpulled", "127.0.0.1:9/no-such-image:1", a_tool("tool", TOOL))  # nobody listens there
        team.a_session("unpulled", "unpulled")
        team.a_call("in-vain", "unpulled", "tool", "echo", "a")
        calls = {title: f"story-{number}" for number, title in enumerate(STORIES)}
        for title, story in STORIES.items():
            spec = {"session": "scratch", **story.spec}
            team.a_call(calls[title], str(spec.pop("session")), story.tool, *story.args, **spec)
        team.a_class(
            "scratch",
            images.tool,
            *TOOLS,
            resources={**RESOURCES, "memory": "512Mi"},
            envDefaults={"OF_CLASS": "class", "OVER_CLASS": "class", "OVER_ALL": "class"},
            allowedEnvNames=["BUILD_TOKEN"],
            terminationGracePeriod="500ms",
        )
        team.a_session("hungry", "scratch")
        team.a_session("scratch", "scratch", defaultEnv={"OVER_CLASS": "session", "OVER_ALL": "session"})
        yield Stage(team, operator, audit, calls)


def test_a_call_shows_what_its_session_waits_for(stage: Stage) -> None:
    shown = until(
        lambda: condition(stage.team.get("toolcall", "in-vain"), "Running"),
        lambda running: "its image cannot be pulled" in running.get("message", ""),
        READY_SECONDS,
    )

    assert (shown["status"], shown["reason"]) == ("False", "WaitingForSession")
    assert "no-such-image" in stage.team.shows("session", "unpulled", "Progressing", reason="PodPending")["message"]


# How calls end --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("title", STORIES)
def test_a_call_that_came_before_its_session_ends_as_it_should(stage: Stage, title: str) -> None:
    story, call = STORIES[title], stage.ended(title)

    assert call.end == story.end, call.message
    assert call.status.get("exitCode") == story.code
    assert story.says in call.message
    if story.out is not None:
        assert call.output() == story.out
    if story.err is not None:
        assert call.output("stderr") == story.err


def test_every_status_is_whole(stage: Stage) -> None:
    for title in STORIES:
        call = stage.ended(title)
        status, metadata = call.status, call.object["metadata"]
        assert status["observedGeneration"] == metadata["generation"]
        assert all(each["observedGeneration"] == metadata["generation"] for each in call.conditions.values())
        assert len([end for end in ENDS if end in call.conditions]) == 1
        assert datetime.fromisoformat(status["finishedAt"]) >= datetime.fromisoformat(metadata["creationTimestamp"])
        assert "toolspec" not in status
        assert ("startedAt" in status) == ("dispatch" in status) == (not call.refused()), title


def test_a_call_that_was_started_says_where_by_whom_and_when(stage: Stage) -> None:
    session = stage.team.ready("scratch")["status"]
    pod = stage.team.get("pod", session["podName"])
    call = stage.ended("exit code 0 is a success")

    dispatch = call.status["dispatch"]
    assert (dispatch["podName"], dispatch["podUID"]) == (pod["metadata"]["name"], pod["metadata"]["uid"])
    assert dispatch["bootID"] == session["sandbox"]["bootID"]
    assert dispatch["operator"].endswith(f"/{stage.operator.process.pid if stage.operator.process else ''}")
    assert dispatch["epoch"] > 0
    assert datetime.fromisoformat(dispatch["at"]).replace(microsecond=0) == datetime.fromisoformat(
        call.status["startedAt"]
    )


def test_what_a_tool_wrote_is_told_and_kept(stage: Stage) -> None:
    call = stage.ended("exit code 0 is a success")

    digest = hashlib.sha256(b"hello world\n").hexdigest()
    assert call.status["stdout"] == {"size": 12, "sha256": digest}
    told = {"kind": "Exec", "isError": False, "text": "hello world\n", "size": 12, "truncated": False}
    assert call.status["result"] == {**told, "artifactRef": call.status["stdoutArtifactRef"]}
    assert "stderrArtifactRef" not in call.status


def test_a_value_that_looks_like_a_key_is_warned_of_and_not_shown(stage: Stage) -> None:
    call = stage.ended("a value that looks like a key")

    assert condition(call.object, "EnvHighEntropy")["status"] == "True"
    assert "spec.env.HARMLESS" in condition(call.object, "EnvHighEntropy")["message"]
    assert KEY not in json.dumps(call.status)


# What calls are given, and what comes of it ---------------------------------------------------------------------------
def test_output_beyond_a_mebibyte_is_counted_and_not_kept(stage: Stage) -> None:
    stage.team.a_call("much", "scratch", "tool", "write", "stdout", str(MiB + 1024), "65536")
    stage.team.a_call("both", "scratch", "tool", "write", "both", str(MiB), "4096")

    much, both = stage.team.ended("much"), stage.team.ended("both")
    written = bytes(index % 251 for index in range(MiB))
    assert (much.end, both.end) == ("Succeeded/ProcessExited",) * 2
    assert much.output() == written
    assert much.status["stdout"] == {"size": MiB + 1024, "sha256": hashlib.sha256(written).hexdigest()}
    assert much.status["stdoutTruncated"] is True
    assert "stderrTruncated" not in much.status
    assert much.status["result"]["truncated"] is True
    assert len(much.status["result"]["text"].encode()) <= 32 * 1024
    assert (both.output(), both.output("stderr")) == (written, written)
    assert not {"stdoutTruncated", "stderrTruncated"} & set(both.status)


def test_a_process_sees_the_variables_of_class_session_and_call_in_this_order_and_its_sandboxs_own(
    stage: Stage,
) -> None:
    stage.team.a_call("bare", "scratch", "tool", "env")
    stage.team.a_call("dressed", "scratch", "tool", "env", env={"OVER_ALL": "call", "QUOTED": QUOTED})

    bare, dressed = (json.loads(stage.team.ended(name).output()) for name in ("bare", "dressed"))
    assert set(bare) == {"PATH", "HOME", "TMPDIR", "LANG", "HOSTNAME", "OF_CLASS", "OVER_CLASS", "OVER_ALL"}
    assert (bare["OF_CLASS"], bare["OVER_CLASS"], bare["OVER_ALL"]) == ("class", "session", "session")
    assert dressed == {**bare, "OVER_ALL": "call", "QUOTED": QUOTED}


def test_calls_that_run_at_once_see_their_own_variables_alone_and_no_file_holds_them(stage: Stage) -> None:
    secrets = {name: f"only-of-{name}-{number}" for number, name in enumerate(("left", "right"))}
    for name, text in secrets.items():
        stage.team.a_call(name, "scratch", "tool", "sleep", "1m", env={"MINE": text})
    for name in secrets:
        stage.team.running(name)
    stage.team.a_call("third", "scratch", "tool", "env")
    folders = ("/workspace", "/work", "/tmp", "/dev/shm")  # noqa: S108 (in the sandbox)

    assert "MINE" not in json.loads(stage.team.ended("third").output())
    for text in secrets.values():
        assert stage.inside("files-with", text, *folders) == ""
    for name in secrets:
        stage.team.change("toolcall", name, {"spec": {"cancel": True}})


def test_a_nul_is_refused_by_the_name_of_its_variable(stage: Stage) -> None:
    with pytest.raises(Refused, match=r"spec\.env\.ZERO"):
        stage.team.a_call("zero", "scratch", "tool", "env", env={"ZERO": "a\0b"})


def test_a_running_call_is_canceled_by_its_spec_and_nothing_of_it_is_left(stage: Stage) -> None:
    stage.team.a_call("endless", "scratch", "tool", "family", "of-endless", "5m", timeout="5m")
    stage.team.running("endless")
    until(lambda: stage.inside("find-pids", "of-endless"))

    stage.team.change("toolcall", "endless", {"spec": {"cancel": True}})

    call = stage.team.ended("endless")
    assert call.end == "Canceled/UserCancel"
    assert "exitCode" not in call.status
    assert stage.inside("find-pids", "of-endless") == ""
    with pytest.raises(Refused, match="cancel can be set from false to true only"):
        stage.team.change("toolcall", "endless", {"spec": {"cancel": False}})


def test_a_label_edit_starts_nothing_anew(stage: Stage) -> None:
    before = stage.ended("exit code 0 is a success").object

    name = before["metadata"]["name"]
    edited = stage.team.change("toolcall", name, {"metadata": {"labels": {"a": "b"}}})
    stage.team.ended(stage.team.a_call("later", "scratch", "tool", "echo", "a"))

    assert stage.team.get("toolcall", name) == edited
    assert edited["status"] == before["status"]


# What it costs, and who is told of it ---------------------------------------------------------------------------------
def test_a_short_call_costs_two_writes_and_no_read_and_no_exec_of_its_own(stage: Stage) -> None:
    stage.team.ready("scratch")
    stage.team.ended(stage.team.a_call("warmer", "scratch", "tool", "echo", "a"))
    audit = Audit.from_now()

    for name, env in (("short", {}), ("short-with-env", {"A": "b"})):
        stage.team.ended(stage.team.a_call(name, "scratch", "tool", "echo", "a", env=env))

    asked = [each for each in audit.about(stage.team.namespace) if each.agent]  # the team's own requests name none
    for name in ("short", "short-with-env"):
        assert [(each.verb, each.resource) for each in asked if each.name == name] == [
            *(("patch", "toolcalls/status"), ("patch", "toolcalls/status"))
        ]
    assert not [each for each in asked if each.resource in {"pods/exec", "spiceboxsessions", "spiceboxclasses"}]


def test_the_one_exec_of_a_sandbox_names_it_exactly(stage: Stage) -> None:
    pod = stage.team.ready("scratch")["status"]["podName"]

    execs = [
        each
        for each in stage.audit.about(stage.team.namespace)
        if (each.resource, each.name) == ("pods/exec", pod) and each.agent.startswith(AGENT)
    ]

    (asked,) = {each.url: each for each in execs}.values()
    streams = {name: ["true"] for name in ("stdin", "stdout", "stderr")}
    assert asked.query == {**streams, "container": ["sandbox"], "command": ["/opt/toolcall/supervisor", "connect"]}


def test_people_are_told_of_refusals_and_not_of_ordinary_success(stage: Stage) -> None:
    team, calls = stage.team, stage.calls
    for title in STORIES:
        stage.ended(title)

    until(lambda: team.warnings(calls["no such tool"]), lambda told: told == ["ToolUnknown"])
    until(lambda: team.warnings(calls["a variable that suggests a secret"]))
    until(lambda: team.warnings(calls["a spec that leaves no room for a status"]))
    assert not [title for title, story in STORIES.items() if story.code == 0 and team.warnings(calls[title])]


def test_columns_tell_what_became_of_a_call(stage: Stage) -> None:
    name, pod = stage.calls["another exit code is none"], stage.team.ready("scratch")["status"]["podName"]
    stage.ended("another exit code is none")

    header, row = (line.split() for line in stage.team.kubectl("get", "tc", name, "-o", "wide").splitlines())

    assert header == ["NAME", "SESSION", "TOOL", "STATUS", "EXIT", "AGE", "STARTED", "FINISHED", "POD"]
    assert row[:5] == [name, "scratch", "tool", "NonZeroExit", "7"]
    assert row[-1] == pod


# Sessions that take their time, or never come -------------------------------------------------------------------------
def test_a_call_whose_session_does_not_come_ends_with_its_trouble(stage: Stage) -> None:
    call = stage.team.ended("in-vain")

    assert call.end == "Failed/SessionNotActive"
    assert call.refused()
    assert "SpiceboxSession unpulled is not ready: " in call.message
    assert "its image cannot be pulled" in call.message


def test_an_image_with_a_shell_runs_scripts_and_finds_programs_on_its_path(stage: Stage) -> None:
    team = stage.team
    team.a_call("script", "busybox", "sh", "cat | tr a-z A-Z; exit 3", stdin="shout\n")
    team.a_class("busybox", BUSYBOX, a_tool("sh", "sh", "-c"), resources={**RESOURCES, "memory": "64Mi"})
    team.a_session("busybox", "busybox")

    call = team.ended("script")

    assert (call.end, call.status["exitCode"]) == ("Failed/NonZeroExit", 3)
    assert call.output() == b"SHOUT\n"
