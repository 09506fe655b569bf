"""`toolcall explain` as people and programs use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.pipeline import ROOT, a_call, a_class, a_session, toolcall, written
from toolcall_operator.local import expectations, manifests

LIBRARY = ("-f", "examples/policy", "-f", "examples/toolkits", "-f", "examples/toolspecs")


@pytest.fixture(scope="module")
def told() -> str:
    """What people are told of the examples."""
    return toolcall("explain", *LIBRARY, cwd=ROOT).stdout


def test_the_examples_are_decided_as_they_say() -> None:
    result = toolcall("explain", *LIBRARY, "-o", "json", cwd=ROOT)

    told = {each["call"]: each["allowed"] for each in json.loads(result.stdout)}
    wanted = {
        document.raw["metadata"]["name"]: document.raw["metadata"]["annotations"][expectations.ANNOTATION]
        for document in manifests.load([ROOT / "examples/policy/calls.yaml"])
    }
    assert told == {name: reason == "ProcessExited" for name, reason in wanted.items()}
    assert result.returncode == 1  # some are refused


def test_the_examples_end_as_they_say_when_they_run(tmp_path: Path) -> None:
    folders = ("examples/policy", "examples/toolkits", "examples/toolspecs")

    result = toolcall("run", "--expect", "--artifacts", str(tmp_path), *folders, cwd=ROOT)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "words",
    (
        "ToolCall default/dots would not run",
        "denies the call by allow.filesystem.pathsUnder",
        '"/workspace/../etc/shadow": positional files',
        "allow.filesystem.pathsUnder: Denied",
        "allowed by toolspec cat-workspace",
        "confined: network none",
        "confined: writes only below /workspace",
    ),
)
def test_people_are_told_which_rule_decides_how_the_line_is_read_and_what_is_confined(told: str, words: str) -> None:
    assert words in told


def test_a_refused_call_has_the_same_words_in_its_status(told: str, tmp_path: Path) -> None:
    folders = ("examples/policy", "examples/toolkits", "examples/toolspecs")

    ran = toolcall("run", "-o", "json", "--artifacts", str(tmp_path), *folders, cwd=ROOT)

    refused = [each for each in json.loads(ran.stdout)["items"] if "failures" in each["status"].get("toolspec", {})]
    assert refused
    for call in refused:
        for failure in call["status"]["toolspec"]["failures"]:
            assert failure["reason"] in told


def test_a_class_without_toolspecs_judges_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, [a_class(), a_session(), a_call("free", "sh", "true")])

    result = toolcall("explain", "-f", file, cwd=tmp_path)

    assert result.returncode == 0
    assert "not judged: the class declares no toolspecs" in result.stdout


def test_what_is_refused_before_any_toolspec_is_told_as_well(tmp_path: Path) -> None:
    file = written(tmp_path, [a_class(), a_session(), a_call("lost", "nothing-like-it", "true")])

    result = toolcall("explain", "-f", file, cwd=tmp_path)

    assert result.returncode == 1
    assert "refused: ToolUnknown" in result.stdout


def test_without_a_call_there_is_nothing_to_explain(tmp_path: Path) -> None:
    result = toolcall("explain", "-f", written(tmp_path, [a_class()]), cwd=tmp_path)

    assert result.returncode == 2
    assert "no ToolCall in any of the files" in result.stderr


def test_a_call_that_cannot_be_read_is_told_so(tmp_path: Path) -> None:
    broken = a_call("broken", "sh", "true")
    broken["spec"]["timeout"] = "soon"

    result = toolcall("explain", "-f", written(tmp_path, [broken]), cwd=tmp_path)

    assert result.returncode == 1
    assert "spec.timeout must be a duration" in result.stdout


def test_a_session_that_has_ended_in_its_cluster_takes_no_call(tmp_path: Path) -> None:
    told = {"type": "Terminated", "status": "True", "reason": "IdleTTL", "message": "it had no calls"}
    ended = {**a_session(), "status": {"conditions": [{**told, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}

    result = toolcall(
        "explain", "-f", written(tmp_path, [a_class(), ended, a_call("late", "sh", "true")]), cwd=tmp_path
    )

    assert result.returncode == 1
    assert "refused: SessionNotActive" in result.stdout
    assert "IdleTTL" in result.stdout


def test_a_session_that_is_being_deleted_takes_no_call(tmp_path: Path) -> None:
    leaving = a_session()
    leaving["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}

    result = toolcall(
        "explain", "-f", written(tmp_path, [a_class(), leaving, a_call("late", "sh", "true")]), cwd=tmp_path
    )

    assert result.returncode == 1
    assert "its session is being deleted" in result.stdout


def test_what_only_a_cluster_has_is_asked_for_with_a_cluster_only(tmp_path: Path) -> None:
    result = toolcall("explain", "-n", "other", "-f", written(tmp_path, [a_class()]), cwd=tmp_path)

    assert result.returncode == 2
    assert "--namespace means nothing without --cluster" in result.stderr
