"""What is kept of a tool's output: the head up to the class's limit, and the whole size."""

from __future__ import annotations

import hashlib

import pytest

from tests.integration.pipeline import Ended, a_call, a_class, a_session, ended

LIMIT = 4096
SIZES = (0, 1, LIMIT - 1, LIMIT, LIMIT + 1, 50 * LIMIT + 17)
MIB = 1024 * 1024


def zeros(size: int, more: str = "") -> str:
    return f"head -c {size} /dev/zero {more}"


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    return ended(
        tmp_path_factory.mktemp("output"),
        a_class(),
        a_class("small", limits={"outputBytes": LIMIT}),
        a_class("none", limits={"outputBytes": 0}),
        a_session(),
        a_session("small", **{"class": "small"}),
        a_session("none", **{"class": "none"}),
        a_call("default", "sh", zeros(MIB + 1024) + "; echo short >&2"),
        *(a_call(f"bytes-{size}", "sh", zeros(size), session="small") for size in SIZES),
        a_call("nothing-kept", "sh", "echo some; echo more >&2", session="none"),
        a_call("straddling", "sh", f"{zeros(LIMIT - 10)}; {zeros(20)}", session="small"),
        a_call("no-text", "sh", r"printf 'a\377\000b\033[31mred'"),
    )


def test_by_default_the_first_mebibyte_is_kept_and_all_bytes_are_counted(calls: dict[str, Ended]) -> None:
    call = calls["default"]

    assert call.end == "Succeeded/ProcessExited"
    assert call.output() == bytes(MIB)
    assert call.status["stdoutTruncated"] is True
    assert call.status["stdout"]["size"] == MIB + 1024
    assert call.status["stdout"]["sha256"] == hashlib.sha256(bytes(MIB)).hexdigest()


def test_the_streams_are_counted_apart(calls: dict[str, Ended]) -> None:
    call = calls["default"]

    assert call.output("stderr") == b"short\n"
    assert call.status["stderr"]["size"] == 6
    assert not call.status.get("stderrTruncated", False)


@pytest.mark.parametrize("size", SIZES)
def test_the_head_is_kept_up_to_the_limit_and_only_beyond_it_is_output_truncated(
    calls: dict[str, Ended], size: int
) -> None:
    call = calls[f"bytes-{size}"]

    assert call.end == "Succeeded/ProcessExited"
    assert len(call.output()) == min(size, LIMIT)
    assert call.status.get("stdoutTruncated", False) is (size > LIMIT)


def test_a_write_across_the_limit_is_cut_at_it(calls: dict[str, Ended]) -> None:
    assert len(calls["straddling"].output()) == LIMIT
    assert calls["straddling"].status["stdout"]["size"] == LIMIT + 10


def test_with_a_limit_of_0_nothing_is_kept_and_the_tool_does_not_notice(calls: dict[str, Ended]) -> None:
    call = calls["nothing-kept"]

    assert call.end == "Succeeded/ProcessExited"
    assert "stdoutArtifactRef" not in call.status
    assert (call.status["stdoutTruncated"], call.status["stderrTruncated"]) == (True, True)
    assert call.status["stdout"]["size"] == 5


def test_bytes_that_are_no_text_are_kept_and_shown_harmlessly(calls: dict[str, Ended]) -> None:
    call = calls["no-text"]

    assert call.output() == b"a\xff\x00b\x1b[31mred"
    assert call.status["result"]["text"] == "a\ufffdb[31mred"
