"""`toolcall lint` as people and programs use it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integration.pipeline import ROOT, a_call, a_class, a_session, toolcall, written

WRONG = """\
apiVersion: agentprimitives.authzed.com/v1alpha1
kind: ToolCall
metadata:
  name: wrong
spec:
  session: here
  tool: sh
  timeout: 10 minutes
  argz: [x]
"""
REFUSED = """\
apiVersion: agentprimitives.authzed.com/v1alpha1
kind: ToolCall
metadata:
  name: refused
spec:
  session: here
  tool: sh
  maxDuration: 1h
  captureOutputs: [/work/out/a]
  env:
    API_KEY: a
    DB_PASSWORD: b
    9X: c
    A-B: d
"""


def fields(told: str) -> list[str]:
    """The fields that errors were told of."""
    return [line.split(": error: ")[1].split(" ")[0] for line in told.splitlines()]


def test_every_problem_is_told_with_file_line_and_field(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(WRONG)

    result = toolcall("lint", "wrong.yaml", cwd=tmp_path)

    assert result.returncode == 1
    first, second = result.stdout.splitlines()
    assert first.startswith("wrong.yaml:8: error: spec.timeout must be a duration")
    assert second.startswith("wrong.yaml:9: error: spec.argz is not a known field; did you mean args?")


def test_programs_get_the_same_as_a_list(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(WRONG)

    result = toolcall("lint", "-o", "json", "wrong.yaml", cwd=tmp_path)

    found = [(each["source"], each["line"], each["path"], each["level"]) for each in json.loads(result.stdout)]
    assert found == [("wrong.yaml", 8, "spec.timeout", "error"), ("wrong.yaml", 9, "spec.argz", "error")]


def test_manifests_without_a_fault_are_silent(tmp_path: Path) -> None:
    generated = a_call("x", "sh", "true") | {"metadata": {"generateName": "step-"}}

    result = toolcall(
        "lint", written(tmp_path, [a_class(), a_session(), a_call("fine", "sh", "true"), generated]), cwd=tmp_path
    )

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_what_a_cluster_would_refuse_is_an_error_at_its_field(tmp_path: Path) -> None:
    calls = (
        a_call("secret", "sh", env={"API_KEY": "x"}),
        a_call("stream", "sh", credentials=[]),
        a_call("unknown", "python"),
    )

    result = toolcall("lint", written(tmp_path, [a_class(), a_session(), *calls]), cwd=tmp_path)

    assert result.returncode == 1
    assert fields(result.stdout) == ["spec.env.API_KEY", "spec.tool"]


def test_every_problem_of_a_call_that_can_be_read_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "call.yaml").write_text(REFUSED)
    world = written(tmp_path, [a_class(), a_session()])

    result = toolcall("lint", "call.yaml", world.name, cwd=tmp_path)

    assert result.returncode == 1
    unsupported = "asks for something that is not supported here"
    unfit = "has a name that no process can be given: at most 256 letters, digits and _, no digit first"
    telling = (
        "has a name that suggests a secret; secrets do not belong in a ToolCall; "
        "if it is none, its class can list it in allowedEnvNames"
    )
    assert result.stdout.splitlines() == [
        f"call.yaml:8: error: spec.maxDuration {unsupported}",
        f"call.yaml:9: error: spec.captureOutputs {unsupported}",
        f"call.yaml:11: error: spec.env.API_KEY {telling}",
        f"call.yaml:12: error: spec.env.DB_PASSWORD {telling}",
        f'call.yaml:13: error: spec.env["9X"] {unfit}',
        f"call.yaml:14: error: spec.env.A-B {unfit}",
    ]


def test_an_object_that_is_in_no_file_may_be_in_the_cluster(tmp_path: Path) -> None:
    result = toolcall("lint", written(tmp_path, [a_call("alone", "sh")]), cwd=tmp_path)

    assert result.returncode == 0
    assert ": warning: spec.session " in result.stdout


def test_a_file_that_cannot_be_read_does_not_hide_the_faults_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(WRONG)

    result = toolcall("lint", "no-such-file.yaml", "wrong.yaml", cwd=tmp_path)

    assert result.returncode == 1
    assert len(result.stdout.splitlines()) == 3


def test_the_quickstart_has_only_the_two_faults_it_shows(tmp_path: Path) -> None:
    result = toolcall("lint", ROOT / "examples" / "quickstart", cwd=tmp_path)

    assert fields(result.stdout) == ["spec.env.API_KEY", "spec.tool"]
