"""The life of a call through the whole pipeline: manifest in, status out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.pipeline import Ended, a_call, ended

SLEEP = "2.000731"  # tells this module's sleepers from any other


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    return ended(
        tmp_path_factory.mktemp("lifecycle"),
        a_call("greeting", "sh", r"printf 'hello world\n'"),
        a_call("failing", "sh", r"printf 'boom\n' >&2; exit 7"),
        a_call("slow", "sh", f"sleep {SLEEP} & setsid sleep {SLEEP} & sleep {SLEEP}", timeout="200ms"),
        a_call("stubborn", "sh", f"trap '' TERM; sleep {SLEEP}", timeout="200ms"),
        a_call("homeless", "sh", "true", session="nowhere"),
        a_call("arguments", "echo", "a"),
        a_call("input", "cat", stdin="payload-under-test"),
        a_call("no-input", "cat"),
        a_call("silent", "sh", "true"),
        a_call("killed", "sh", "kill -USR1 $$"),
        a_call("unknown", "python"),
        a_call("absent", "absent"),
        a_call("leftover", "sh", f"setsid sleep {SLEEP} >/dev/null 2>&1 & echo done"),
        a_call("canceled", "sh", "true", cancel=True),
    )


def processes_of(word: str) -> list[str]:
    """The command lines of living processes that have this word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            argv = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        found += [" ".join(argv)] if word in argv else []
    return found


def test_a_tool_that_exits_0_succeeded_and_its_output_is_kept_to_the_byte(calls: dict[str, Ended]) -> None:
    call = calls["greeting"]

    assert call.end == "Succeeded/ProcessExited"
    assert call.status["exitCode"] == 0
    assert call.output() == b"hello world\n"
    assert call.status["result"]["text"] == "hello world\n"
    assert call.status["observedGeneration"] == call.object["metadata"]["generation"] == 1


def test_a_tool_that_exits_7_failed_with_that_code_and_its_error_output_is_kept(calls: dict[str, Ended]) -> None:
    call = calls["failing"]

    assert call.end == "Failed/NonZeroExit"
    assert call.status["exitCode"] == 7
    assert call.output("stderr") == b"boom\n"


@pytest.mark.parametrize("name", ("slow", "stubborn"))
def test_a_call_past_its_timeout_ends_with_no_exit_code(calls: dict[str, Ended], name: str) -> None:
    assert calls[name].end == "Timeout/DeadlineExceeded"
    assert "exitCode" not in calls[name].status


def test_no_process_outlives_its_call(calls: dict[str, Ended]) -> None:
    assert calls["leftover"].end == "Succeeded/ProcessExited"
    assert processes_of(SLEEP) == []


def test_a_call_of_a_session_that_is_not_there_is_refused_with_the_sessions_name(calls: dict[str, Ended]) -> None:
    call = calls["homeless"]

    assert call.end == "Failed/SessionGone"
    assert "nowhere" in call.message
    assert call.refused()


def test_the_arguments_are_the_command_the_default_arguments_and_the_calls_own(calls: dict[str, Ended]) -> None:
    assert calls["arguments"].output() == b"a"


def test_stdin_is_exactly_the_text_and_then_its_end(calls: dict[str, Ended]) -> None:
    assert calls["input"].output() == b"payload-under-test"


def test_without_stdin_a_tool_reads_the_end_of_file_at_once(calls: dict[str, Ended]) -> None:
    assert calls["no-input"].end == "Succeeded/ProcessExited"
    assert calls["no-input"].output() == b""


def test_a_stream_without_a_byte_has_no_artifact(calls: dict[str, Ended]) -> None:
    assert calls["silent"].end == "Succeeded/ProcessExited"
    assert not {"stdoutArtifactRef", "stderrArtifactRef"} & set(calls["silent"].status)


def test_a_signal_that_is_not_ours_is_told_apart(calls: dict[str, Ended]) -> None:
    assert calls["killed"].end == "Failed/Signaled"
    assert calls["killed"].status["exitCode"] == 128 + 10


def test_a_tool_the_class_does_not_declare_is_refused(calls: dict[str, Ended]) -> None:
    assert calls["unknown"].end == "Failed/ToolUnknown"
    assert calls["unknown"].refused()


def test_a_program_that_is_not_there_is_told_by_the_exec_error(calls: dict[str, Ended]) -> None:
    assert calls["absent"].end == "Failed/CommandNotFound"
    assert calls["absent"].status["exitCode"] == 127


def test_a_call_that_is_canceled_from_the_start_never_starts(calls: dict[str, Ended]) -> None:
    assert calls["canceled"].end == "Canceled/UserCancel"
    assert "startedAt" not in calls["canceled"].status
