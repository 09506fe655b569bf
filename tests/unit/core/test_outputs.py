"""What a status says about output."""

from __future__ import annotations

import hashlib

import pytest

from toolcall_operator.core import outputs
from toolcall_operator.core.outcomes import Cause, Ended, ExecResult, Lost, Stored, StreamSize
from toolcall_operator.core.reasons import Reason

MIB = 1024 * 1024
EMPTY = StreamSize()
NOT_STORED = "stdout was not stored: the store is full"


def stored(body: bytes, name: str = "stdout") -> Stored:
    return Stored(f"file:///artifacts/{name}", hashlib.sha256(body).hexdigest(), len(body), body[:32_768])


def exited(stdout: StreamSize = EMPTY, stderr: StreamSize = EMPTY) -> ExecResult:
    return ExecResult(Cause.EXITED, code=0, stdout=stdout, stderr=stderr)


def test_a_stream_is_told_by_reference_size_and_digest() -> None:
    body = b"hello world\n"

    fields = outputs.fields(Ended(exited(StreamSize(12, 12)), stored(body)), is_error=False)

    assert fields["stdout_artifact_ref"] == "file:///artifacts/stdout"
    assert fields["stdout"].size == 12
    assert fields["stdout"].sha256 == hashlib.sha256(body).hexdigest()
    assert "stdout_truncated" not in fields


def test_an_empty_stream_has_no_reference_and_no_digest() -> None:
    fields = outputs.fields(Ended(exited()), is_error=False)

    assert fields["stdout"].to_manifest() == fields["stderr"].to_manifest() == {"size": 0}
    assert fields.keys() == {"stdout", "stderr", "result"}


def test_the_head_of_stdout_is_the_result() -> None:
    fields = outputs.fields(Ended(exited(StreamSize(12, 12)), stored(b"hello world\n")), is_error=True)

    assert fields["result"].to_manifest() == {
        "kind": "Exec",
        "isError": True,
        "text": "hello world\n",
        "truncated": False,
        "size": 12,
        "artifactRef": "file:///artifacts/stdout",
    }


def test_stdout_beyond_the_limit_is_truncated_and_stderr_is_counted_on_its_own() -> None:
    body = b"x" * MIB
    result = exited(StreamSize(MIB + 1024, MIB), StreamSize(1024, 1024))

    fields = outputs.fields(Ended(result, stored(body), stored(b"e" * 1024, "stderr")), is_error=False)

    assert fields["stdout_truncated"] is True
    assert fields["stdout"].size == 1_049_600
    assert "stderr_truncated" not in fields
    assert fields["result"].truncated is True
    assert fields["result"].size == 1_049_600


@pytest.mark.parametrize(
    ("size", "kept", "truncated"),
    (
        pytest.param(9, 9, False, id="below the limit"),
        pytest.param(10, 10, False, id="at the limit"),
        pytest.param(11, 10, True, id="above the limit"),
        pytest.param(10_000_000, 10, True, id="far above the limit"),
        pytest.param(1, 0, True, id="a limit of nothing"),
        pytest.param(0, 0, False, id="nothing written"),
    ),
)
def test_truncated_says_whether_something_written_was_not_kept(size: int, kept: int, *, truncated: bool) -> None:
    body = stored(b"x" * kept) if kept else Stored()

    fields = outputs.fields(Ended(exited(StreamSize(size, kept)), body), is_error=False)

    assert fields.get("stdout_truncated", False) is truncated
    assert ("stdout_artifact_ref" in fields) == (kept > 0)


def test_a_stream_the_store_did_not_take_is_named_and_counts_as_truncated() -> None:
    ended = Ended(exited(StreamSize(3, 3)), Stored(size=3, sha256="0" * 64, head=b"abc", problem="the store is full"))

    fields = outputs.fields(ended, is_error=False)

    assert list(outputs.problems(ended)) == [NOT_STORED]
    assert "stdout_artifact_ref" not in fields
    assert fields["stdout_truncated"] is True
    assert fields["stdout"].to_manifest() == {"size": 3}
    assert fields["result"].text == "abc"


@pytest.mark.parametrize(
    "outcome",
    (
        Lost(Reason.TRANSPORT_LOST, "gone", stored(b"abc")),
        Ended(ExecResult(Cause.LOST, stdout=StreamSize(3, 3)), stored(b"abc")),
    ),
)
def test_what_arrived_of_a_lost_call_is_kept_and_marked_truncated(outcome: Ended | Lost) -> None:
    fields = outputs.fields(outcome, is_error=True)

    assert fields["stdout_artifact_ref"] == "file:///artifacts/stdout"
    assert fields["stdout_truncated"] is True
    assert fields["result"].truncated is True
    assert "stderr_truncated" not in fields


def test_a_process_that_never_came_to_be_has_no_output() -> None:
    assert outputs.fields(Ended(ExecResult(Cause.NOT_STARTED, step="Exec", error="ENOENT")), is_error=True) == {}


@pytest.mark.parametrize(
    ("size", "kept", "told"),
    (
        (5, 5, []),
        (2 * MIB, MIB, []),
        (5, 0, ["stdout: the sandbox could keep only 0 of 5 bytes"]),
        (2 * MIB, 7, ["stdout: the sandbox could keep only 7 of 2097152 bytes"]),
    ),
    ids=["all of it", "cut at the limit", "a full disk", "a disk that filled up"],
)
def test_output_that_the_sandbox_was_to_keep_and_did_not_is_a_problem(size: int, kept: int, told: list[str]) -> None:
    ended = Ended(exited(StreamSize(size, kept)), output_bytes=MIB)

    assert list(outputs.problems(ended)) == told
