"""The sandbox suite on the fake, which plays the test tool's parts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ClassVar

import pytest

from tests.contract import harness
from tests.contract.confining import NO_NETWORK, ConfineSuite
from tests.contract.credentials import CredentialSuite
from tests.contract.harness import Harness
from tests.contract.sandbox import SandboxSuite
from tests.fakes.sandbox import Behaviour, FakeSandbox, Script
from toolcall_operator.core.outcomes import Cause, ExecRequest

_NO_PROCESSES = "the fake has no processes that could start others"
_NO_KERNEL = "the fake has no kernel that could refuse its processes something"
_NO_SUPERVISOR = "the fake has no supervisor"
_TOO_LONG = 1_000_000


def _exec_error(error: str) -> Script:
    return Script(code=None, cause=Cause.NOT_STARTED, step="Exec", error=error)


def _write(streams: str, size: str, _chunk: str) -> Script:
    text = harness.pattern(int(size))
    return Script(stdout=text if streams != "stderr" else b"", stderr=text if streams != "stdout" else b"")


def _args(*words: str) -> Script:
    return Script(json.dumps(words).encode()) if sum(map(len, words)) < _TOO_LONG else _exec_error("E2BIG")


def _environment(request: ExecRequest) -> dict[str, str]:
    """What a process is given: its own variables, and places if it carries credentials."""
    carried = request.credentials.env if request.credentials else {}
    places = {"HOME": "/home", "TMPDIR": "/private"} if request.credentials else {}
    return {**request.env, **places, **{name: value.reveal() for name, value in carried.items()}}


class Tool:
    """What the test tool would do, told without doing it; ledgers are remembered."""

    def __init__(self) -> None:
        self._ledgers: dict[str, bytes] = {}
        self._parts: dict[str, Callable[..., Script]] = {
            "write": _write,
            "echo": lambda text: Script(f"{text}\n".encode()),
            "fail": lambda code, *text: Script(stderr="".join(f"{line}\n" for line in text).encode(), code=int(code)),
            "bytes": lambda: Script(bytes(range(256)) * 4),
            "args": _args,
            "raise": lambda number: Script(code=None, cause=Cause.SIGNALED, signal=int(number)),
            "on-term": lambda code: Script(b"ready\n", lasts=None, on_term=int(code)),
            "ignore-term": lambda _: Script(b"ready\n", lasts=None),
            "cwd": lambda: Script(b"/workspace\n"),
            "ledger": self._ledger,
            "open": lambda path: Script(self._ledgers[path]),
        }

    def __call__(self, request: ExecRequest) -> Script:
        match request.argv[1:]:
            case ["cat"]:
                return Script(request.stdin)
            case ["env"]:
                return Script(json.dumps(_environment(request)).encode())
            case [name, *arguments]:
                return self._parts[name](*arguments)
        raise AssertionError("the tool is told what to do")

    def _ledger(self, path: str) -> Script:
        self._ledgers[path] = self._ledgers.get(path, b"") + b"ran as process 1\n"
        return Script()


class TestFakeSandbox(SandboxSuite, ConfineSuite, CredentialSuite):
    DIFFERENCES: ClassVar = {
        **dict.fromkeys(
            (
                "test_the_deadline_ends_the_whole_tree",
                "test_kill_ends_the_whole_tree",
                "test_what_a_process_leaves_behind_dies_with_it",
                "test_orphans_that_end_are_reaped",
                "test_more_processes_than_allowed_end_the_call",
                "test_the_biggest_call_dies_when_memory_runs_out",
                "test_a_process_that_ignores_term_is_killed_after_its_grace",
            ),
            _NO_PROCESSES,
        ),
        **dict.fromkeys((name for name in vars(ConfineSuite) if name.startswith("test_")), _NO_KERNEL),
        **dict.fromkeys(
            (
                "test_its_folders_are_its_own_empty_and_closed_to_others",
                "test_a_sibling_that_knows_where_they_are_can_do_nothing_there",
                "test_they_stay_writable_to_a_call_that_may_write_nothing_else",
                "test_a_workspace_to_read_is_read_and_not_written",
                "test_without_a_workspace_a_call_sees_none_and_begins_in_its_home",
                "test_calls_that_are_alone_follow_one_another_at_once",
                "test_its_value_stands_in_no_command_line_no_list_and_no_file_but_its_own",
                "test_no_file_of_the_sandbox_holds_a_variable",
            ),
            "the fake has no files",
        ),
        **dict.fromkeys(
            (
                "test_200_megabytes_in_tiny_writes_cost_no_memory",
                "test_a_supervisor_without_means_starts_nothing_and_works_again",
                "test_a_process_sees_nothing_of_our_environment",
                "test_what_is_written_of_it_is_redacted_unless_it_is_not_to_be",
                "test_credentials_that_break_a_bound_start_nothing",
            ),
            _NO_SUPERVISOR,
        ),
    }

    @pytest.fixture
    async def box(self) -> Harness:
        behaviours: dict[str, Behaviour] = {
            "tool": Tool(),
            "printf": lambda request: Script(request.argv[1].encode()),
            "/workspace": lambda _: _exec_error("EACCES"),
            "/workspace/plain": lambda _: _exec_error("EACCES"),
            "/workspace/text": lambda _: _exec_error("ENOEXEC"),
        }
        return Harness(FakeSandbox(behaviours), "tool", "/workspace")

    async def test_what_a_call_is_confined_to_is_remembered(self, box: Harness) -> None:
        await box.run("echo", "x", confinement=NO_NETWORK)

        assert isinstance(box.sandbox, FakeSandbox)
        assert [request.confinement for request in box.sandbox.started] == [NO_NETWORK]
