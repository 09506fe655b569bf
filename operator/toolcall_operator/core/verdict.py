"""What an outcome means: its reason, its exit code, and a sentence for people."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from datetime import timedelta

from toolcall_operator.api import durations
from toolcall_operator.core.outcomes import Cause, Ended, ExecResult, Outcome
from toolcall_operator.core.reasons import Reason, Terminal, terminal

_KILLED = "every process of the call was killed"
_SIGNAL_BASE = 128
_SIGNALS = {known.value: f" ({known.name})" for known in signal.Signals}

_NOT_EXECUTED = {
    ("Exec", "ENOENT"): (
        Reason.COMMAND_NOT_FOUND,
        127,
        "no such command: {} (it, or the interpreter it names, is not there)",
    ),
    ("Exec", "EACCES"): (Reason.NOT_EXECUTABLE, 126, "may not be executed: {}"),
    ("Exec", "ENOEXEC"): (Reason.NOT_EXECUTABLE, 126, "is not a program: {}"),
    ("Resolve", "EACCES"): (
        Reason.NOT_EXECUTABLE,
        126,
        "lies where tools may write; toolspecs trust no such program: {}",
    ),
    ("Exec", "E2BIG"): (
        Reason.ARGUMENTS_TOO_LONG,
        None,
        "arguments and environment together are longer than {} can be given",
    ),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a call ended, in one word and in one sentence; `exit_code` only if its process returned one."""

    reason: Reason
    message: str
    exit_code: int | None = None


_WITHOUT_CODE = {
    Cause.TERMINATING: Verdict(Reason.SANDBOX_TERMINATING, f"its sandbox was told to stop; {_KILLED}"),
    Cause.OUT_OF_MEMORY: Verdict(Reason.OOM_KILLED, f"used too much memory; {_KILLED}"),
    Cause.TOO_MANY_PROCESSES: Verdict(
        Reason.PIDS_LIMIT_EXCEEDED, f"had more processes than its class allows; {_KILLED}"
    ),
    Cause.LOST: Verdict(Reason.TRANSPORT_LOST, "the process that watched over it died; how it ended is not known"),
}


def verdict(outcome: Outcome, timeout: timedelta | None = None) -> Verdict:
    """What `outcome` means; `timeout` is told in the message of a call that was too slow.

    Only a process that exited by itself with code 0 can be a success, whatever reason comes in.
    """
    found = _ended(outcome, timeout) if isinstance(outcome, Ended) else Verdict(outcome.reason, outcome.message)
    if terminal(found.reason) is Terminal.SUCCEEDED and not _exited_well(outcome):
        return Verdict(Reason.RECONCILE_FAILED, "reported as a success, but no process exited with code 0")
    return found


def _exited_well(outcome: Outcome) -> bool:
    return isinstance(outcome, Ended) and outcome.result.cause is Cause.EXITED and outcome.result.code == 0


def _ended(outcome: Ended, timeout: timedelta | None) -> Verdict:
    result = outcome.result
    match result.cause:
        case Cause.EXITED:
            return _exited(result.code)
        case Cause.SIGNALED:
            return _signaled(result.signal)
        case Cause.NOT_STARTED:
            return _not_started(result, outcome.command)
        case Cause.DEADLINE:
            within = f"within {durations.render(timeout)}" if timeout else "in time"
            return Verdict(Reason.DEADLINE_EXCEEDED, f"did not end {within}; {_after(result.code)}", result.code)
        case Cause.KILLED:
            return _killed(outcome.stop, result.code)
        case other:
            return _WITHOUT_CODE[other]


def _exited(code: int | None) -> Verdict:
    if code is None:
        return Verdict(Reason.TRANSPORT_LOST, "its process ended, but the exit code was not told")
    return Verdict(Reason.NON_ZERO_EXIT if code else Reason.PROCESS_EXITED, f"exit code {code}", code)


def _signaled(number: int | None) -> Verdict:
    if number is None:
        return Verdict(Reason.SIGNALED, "killed by a signal that was not told")
    return Verdict(Reason.SIGNALED, f"killed by signal {number}{_SIGNALS.get(number, '')}", _SIGNAL_BASE + number)


def _not_started(result: ExecResult, command: str) -> Verdict:
    if found := _NOT_EXECUTED.get((result.step, result.error)):
        reason, code, words = found
        return Verdict(reason, words.format(command or "the tool's command"), code)
    return Verdict(Reason.START_FAILED, f"could not be started: {result.step or 'Start'} failed with {result.error}")


def _killed(stop: Reason | None, code: int | None) -> Verdict:
    """A kill nobody here asked for (another operator did, and its reason died with it) has an unknown cause."""
    if stop is None:
        return Verdict(Reason.TRANSPORT_LOST, f"was ended for a reason that was lost; {_after(code)}", code)
    return Verdict(stop, f"was canceled; {_after(code)}", code)


def _after(code: int | None) -> str:
    return _KILLED if code is None else f"it returned exit code {code} when it was told to end"
