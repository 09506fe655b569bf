"""Which program has to be asked for its version, and what its answer means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.core import examples, policies
from toolcall_operator.api.spiceboxtoolkit import Extract
from toolcall_operator.core import validation
from toolcall_operator.core.outcomes import Cause, ExecResult, Refused, Wait
from toolcall_operator.core.policy import probing
from toolcall_operator.core.policy.deciding.candidates import Candidate, Pending
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.core.policy.probing import Probe, Version
from toolcall_operator.core.validation import Plan, Unprobed

EXTRACT = {"kind": "regex", "pattern": r"echo (\S+)"}
TARGET = {"binary": "echo", "versionRange": ">=9.0", "versionProbe": {"args": ["--version"], "extract": EXTRACT}}
PROBE = Probe("/bin/echo", ("--version",), Extract.model_validate(EXTRACT))
LATER = replace(PROBE, args=("-V",))


def verified(name: str = "verified", args: tuple[str, ...] = PROBE.args, **spec: Any) -> Toolspec:  # noqa: ANN401 (fields of a manifest)
    """A toolspec that requires a verified version, and says how to ask for it."""
    target = {**TARGET, "versionProbe": {"args": args, "extract": EXTRACT}}
    return policies.toolspec(name, of=policies.toolkit(target=target), require={"verifiedBinaryVersion": True}, **spec)


def considered(
    *candidates: Candidate,
    versions: probing.Versions | None = None,
    **spec: Any,  # noqa: ANN401 (fields of a manifest)
) -> Plan | Refused | Wait | Unprobed:
    return validation.considered(examples.call(**spec), policies.world(*candidates), examples.NOW, versions or {})


def denied(*candidates: Candidate, versions: probing.Versions | None = None) -> tuple[str, str]:
    """The path and the reason of the one failure."""
    found = considered(*candidates, versions=versions)
    assert isinstance(found, Refused), found
    (failure,) = found.failures
    assert failure.failed_on
    return failure.failed_on.path, failure.reason or ""


def test_a_program_is_asked_when_a_toolspec_requires_its_version() -> None:
    found = considered(verified())

    assert isinstance(found, Unprobed)
    assert (found.probe, found.probe.argv) == (PROBE, ("/bin/echo", "--version"))


def test_a_call_runs_when_the_version_is_in_the_range() -> None:
    found = considered(verified(), versions={PROBE: Version("9.4")})

    assert isinstance(found, Plan)
    assert found.accepted_by == "verified"


def test_a_version_out_of_the_range_is_denied() -> None:
    path, reason = denied(verified(), versions={PROBE: Version("8.32")})

    assert (path, reason) == (
        "binaryVersion",
        'version "8.32" of the program is not in the range ">=9.0" of its toolkit',
    )


def test_a_version_that_could_not_be_found_out_is_denied_and_not_asked_for_again() -> None:
    path, reason = denied(verified(), versions={PROBE: Version(None, "and when it was asked, it exited with code 2")})

    assert path == "binaryVersion"
    assert reason.endswith("must have been verified, and when it was asked, it exited with code 2")


def test_a_toolkit_that_does_not_say_how_to_ask_denies_at_once() -> None:
    silent = policies.toolspec(require={"verifiedBinaryVersion": True})

    assert denied(silent) == (
        "binaryVersion",
        "the version of the program must have been verified, and its toolkit has no target.versionProbe to ask it by",
    )


@pytest.mark.parametrize(
    "spec", ({"args": ["-x"]}, {"args": ["--version"]}, {"env": {"API_TOKEN": "x"}}), ids=["parse", "flag", "check"]
)
def test_nobody_is_asked_for_a_call_that_no_version_would_help(spec: dict[str, Any]) -> None:
    assert isinstance(considered(verified(), **spec), Refused)


def test_a_tool_that_starts_another_program_asks_nobody() -> None:
    world = policies.world(verified(), tool={"command": ["sh", "-c", "echo"]})

    assert isinstance(validation.considered(examples.call(), world, examples.NOW), Refused)


def test_a_toolspec_that_requires_no_version_is_not_told_one() -> None:
    """Or a call of it would be decided by whether another call happened to have the program asked."""
    free = policies.toolspec(of=policies.toolkit(target=TARGET), constraints=[{"cel": "call.binaryVersion == ''"}])

    assert isinstance(considered(free, versions={PROBE: Version("1.0")}), Plan)


def test_a_constraint_sees_the_version_that_was_verified() -> None:
    asks = verified(constraints=[{"cel": "call.binaryVersion == '9.4'"}])

    assert isinstance(considered(asks, versions={PROBE: Version("9.4")}), Plan)
    assert isinstance(considered(asks, versions={PROBE: Version("9.5")}), Refused)


def test_a_toolspec_that_comes_first_is_asked_for_first_whoever_else_would_allow() -> None:
    free = policies.toolspec("free")

    found = considered(verified(), free)

    assert isinstance(found, Unprobed)
    assert isinstance(found.otherwise, Plan)
    assert found.otherwise.accepted_by == "free"
    assert isinstance(considered(free, verified()), Plan)


def test_a_version_is_asked_for_while_another_toolspec_is_not_judged_and_that_one_waited_for_after() -> None:
    late = Pending("late", "echo")

    assert isinstance(considered(late, verified()), Unprobed)
    assert isinstance(considered(late, verified(), versions={PROBE: Version("9.4")}), Plan)
    assert isinstance(considered(late, verified(), versions={PROBE: Version("8.0")}), Wait)


def test_toolkits_that_ask_differently_are_asked_one_after_the_other() -> None:
    both = (verified(), verified("later", LATER.args))

    found = considered(*both, versions={PROBE: Version("8.0")})

    assert isinstance(found, Unprobed)
    assert found.probe == LATER
    assert isinstance(considered(*both, versions={PROBE: Version("8.0"), LATER: Version("9.0")}), Plan)


def test_where_nobody_can_ask_the_call_is_denied_and_told_why() -> None:
    found = validation.plan(examples.call(), policies.world(verified()), examples.NOW)

    assert isinstance(found, Refused)
    assert "it is asked only in its sandbox, when a call is about to run" in found.message


def test_a_version_that_is_not_known_yet_is_no_objection_to_a_manifest() -> None:
    assert not [*validation.objections(examples.call(), policies.world(verified()))]
    assert [*validation.objections(examples.call(args=["-x"]), policies.world(verified()))]


@pytest.mark.parametrize(
    ("result", "says"),
    (
        (ExecResult(Cause.EXITED, 2), "exited with code 2"),
        (ExecResult(Cause.DEADLINE), "did not answer in time"),
        (ExecResult(Cause.NOT_STARTED, step="Exec", error="ENOENT"), "could not be started (Exec: ENOENT)"),
        (ExecResult(Cause.SIGNALED, signal=11), "did not come to an answer (Signaled)"),
        (ExecResult(Cause.OUT_OF_MEMORY), "did not come to an answer (OutOfMemory)"),
    ),
    ids=["code", "deadline", "not started", "signal", "memory"],
)
def test_a_probe_that_failed_leaves_the_version_unknown_whatever_it_printed(result: ExecResult, says: str) -> None:
    assert probing.answer(PROBE, result, b"echo 9.4\n") == Version(None, f"and when it was asked, it {says}")


@pytest.mark.parametrize("cause", (Cause.KILLED, Cause.TERMINATING, Cause.LOST))
def test_a_probe_that_somebody_ended_is_no_answer(cause: Cause) -> None:
    assert probing.answer(PROBE, ExecResult(cause), b"echo 9.4\n") is None


def test_a_probe_that_went_well_gives_what_it_printed_or_says_where_nothing_was_found() -> None:
    assert probing.answer(PROBE, ExecResult(Cause.EXITED, 0), b"echo 9.4\n") == Version("9.4")
    found = probing.answer(PROBE, ExecResult(Cause.EXITED, 0), b"usage: ...\n")
    assert found
    assert found.text is None
    assert "target.versionProbe" in found.why
