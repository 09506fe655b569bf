"""What an outcome means."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core.outcomes import Cause, Ended, ExecResult, Lost, Outcome, Refused
from toolcall_operator.core.reasons import Reason, Terminal, terminal
from toolcall_operator.core.verdict import Verdict, verdict

KILLED = "every process of the call was killed"


def not_started(error: str, step: str = "Exec") -> Ended:
    return Ended(ExecResult(Cause.NOT_STARTED, step=step, error=error), command="foo")


TABLE = (
    (Ended(ExecResult(Cause.EXITED, code=0)), Verdict(Reason.PROCESS_EXITED, "exit code 0", 0)),
    (Ended(ExecResult(Cause.EXITED, code=7)), Verdict(Reason.NON_ZERO_EXIT, "exit code 7", 7)),
    (Ended(ExecResult(Cause.EXITED, code=127)), Verdict(Reason.NON_ZERO_EXIT, "exit code 127", 127)),
    (
        Ended(ExecResult(Cause.EXITED)),
        Verdict(Reason.TRANSPORT_LOST, "its process ended, but the exit code was not told"),
    ),
    (
        Ended(ExecResult(Cause.SIGNALED, signal=11)),
        Verdict(Reason.SIGNALED, "killed by signal 11 (SIGSEGV)", 139),
    ),
    (Ended(ExecResult(Cause.SIGNALED, signal=63)), Verdict(Reason.SIGNALED, "killed by signal 63", 191)),
    (Ended(ExecResult(Cause.SIGNALED)), Verdict(Reason.SIGNALED, "killed by a signal that was not told")),
    (
        not_started("ENOENT"),
        Verdict(Reason.COMMAND_NOT_FOUND, "no such command: foo (it, or the interpreter it names, is not there)", 127),
    ),
    (not_started("EACCES"), Verdict(Reason.NOT_EXECUTABLE, "may not be executed: foo", 126)),
    (
        not_started("EACCES", "Resolve"),
        Verdict(Reason.NOT_EXECUTABLE, "lies where tools may write; toolspecs trust no such program: foo", 126),
    ),
    (not_started("ENOEXEC"), Verdict(Reason.NOT_EXECUTABLE, "is not a program: foo", 126)),
    (
        not_started("E2BIG"),
        Verdict(Reason.ARGUMENTS_TOO_LONG, "arguments and environment together are longer than foo can be given"),
    ),
    (not_started("ENOMEM"), Verdict(Reason.START_FAILED, "could not be started: Exec failed with ENOMEM")),
    (not_started("EAGAIN", "Fork"), Verdict(Reason.START_FAILED, "could not be started: Fork failed with EAGAIN")),
    (
        not_started("EACCES", "Confine"),
        Verdict(Reason.START_FAILED, "could not be started: Confine failed with EACCES"),
    ),
    (
        Ended(ExecResult(Cause.DEADLINE)),
        Verdict(Reason.DEADLINE_EXCEEDED, f"did not end within 200ms; {KILLED}"),
    ),
    (
        Ended(ExecResult(Cause.DEADLINE, code=3)),
        Verdict(
            Reason.DEADLINE_EXCEEDED, "did not end within 200ms; it returned exit code 3 when it was told to end", 3
        ),
    ),
    (
        Ended(ExecResult(Cause.KILLED), stop=Reason.USER_CANCEL),
        Verdict(Reason.USER_CANCEL, f"was canceled; {KILLED}"),
    ),
    (
        Ended(ExecResult(Cause.KILLED, code=0), stop=Reason.USER_CANCEL),
        Verdict(Reason.USER_CANCEL, "was canceled; it returned exit code 0 when it was told to end", 0),
    ),
    (
        Ended(ExecResult(Cause.KILLED)),
        Verdict(Reason.TRANSPORT_LOST, f"was ended for a reason that was lost; {KILLED}"),
    ),
    (
        Ended(ExecResult(Cause.OUT_OF_MEMORY)),
        Verdict(Reason.OOM_KILLED, f"used too much memory; {KILLED}"),
    ),
    (
        Ended(ExecResult(Cause.TOO_MANY_PROCESSES)),
        Verdict(Reason.PIDS_LIMIT_EXCEEDED, f"had more processes than its class allows; {KILLED}"),
    ),
    (
        Ended(ExecResult(Cause.TERMINATING, code=143)),
        Verdict(Reason.SANDBOX_TERMINATING, f"its sandbox was told to stop; {KILLED}"),
    ),
    (
        Ended(ExecResult(Cause.LOST)),
        Verdict(Reason.TRANSPORT_LOST, "the process that watched over it died; how it ended is not known"),
    ),
    (Lost(Reason.SANDBOX_GONE, "gone"), Verdict(Reason.SANDBOX_GONE, "gone")),
    (Refused(Reason.TOOL_UNKNOWN, "unknown"), Verdict(Reason.TOOL_UNKNOWN, "unknown")),
)


@pytest.mark.parametrize(("outcome", "expected"), TABLE, ids=[f"{found.reason}-{found.message}" for _, found in TABLE])
def test_an_outcome_has_one_reason_one_message_and_only_a_true_exit_code(outcome: Outcome, expected: Verdict) -> None:
    assert verdict(outcome, timedelta(milliseconds=200)) == expected


def test_a_call_that_ended_by_itself_before_it_could_be_stopped_keeps_its_own_end() -> None:
    ended = Ended(ExecResult(Cause.EXITED, code=0), stop=Reason.USER_CANCEL)

    assert verdict(ended).reason is Reason.PROCESS_EXITED


def test_a_deadline_of_a_call_that_cannot_be_read_is_still_one() -> None:
    assert verdict(Ended(ExecResult(Cause.DEADLINE))).message == f"did not end in time; {KILLED}"


def test_a_command_that_is_not_told_is_spoken_of_all_the_same() -> None:
    ended = Ended(ExecResult(Cause.NOT_STARTED, step="Exec", error="EACCES"))

    assert verdict(ended).message == "may not be executed: the tool's command"


@given(
    st.sampled_from(Cause),
    st.none() | st.integers(0, 255),
    st.none() | st.integers(1, 64),
    st.none() | st.sampled_from(Reason),
)
def test_only_an_exit_with_code_0_is_a_success(
    cause: Cause, code: int | None, signal: int | None, stop: Reason | None
) -> None:
    found = verdict(Ended(ExecResult(cause, code=code, signal=signal), stop=stop))

    succeeded = terminal(found.reason) is Terminal.SUCCEEDED
    assert succeeded == (cause is Cause.EXITED and code == 0)


@pytest.mark.parametrize("reason", tuple(Reason))
def test_what_was_refused_or_lost_is_never_a_success(reason: Reason) -> None:
    for outcome in (Refused(reason, "why"), Lost(reason, "why")):
        assert terminal(verdict(outcome).reason) is not Terminal.SUCCEEDED
