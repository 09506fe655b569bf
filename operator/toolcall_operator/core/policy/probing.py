"""Which program has to be asked for its version before a call can be decided, and what its answer means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolcall_operator.api.spiceboxtoolkit import Extract
from toolcall_operator.core.outcomes import Cause, ExecResult
from toolcall_operator.core.policy import extraction
from toolcall_operator.core.policy.deciding import gates

if TYPE_CHECKING:
    from toolcall_operator.core.policy.deciding.decision import Judgement
    from toolcall_operator.core.policy.loading.toolspecs import Toolspec

_SAYS_NOTHING = frozenset({Cause.KILLED, Cause.TERMINATING, Cause.LOST})
"""Somebody ended the process, or nobody knows who did: that is no answer of the program's."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A question for a version: the first word of a tool's command, the arguments, and where the answer stands."""

    program: str
    args: tuple[str, ...]
    extract: Extract

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line that asks."""
        return (self.program, *self.args)


@dataclass(frozen=True, slots=True)
class Version:
    """What came of a probe: the version, or `why` it is not known, as the end of a sentence that is fit to be shown."""

    text: str | None
    why: str = ""


Versions = Mapping[Probe, Version]
"""What came of the probes that were made."""


def of(toolspec: Toolspec, program: str) -> Probe | None:
    """How to ask `program` for the version that a toolspec requires; None if it requires none, or nobody says how.

    Where no version is required none is told, either, whoever else may have asked: a decision does not depend on that.
    """
    probe = toolspec.toolkit.spec.target.version_probe
    if probe is None or not toolspec.spec.require.verified_binary_version:
        return None
    return Probe(program, probe.args, probe.extract)


def missing(judgements: Iterable[Judgement]) -> Probe | None:
    """The first probe without which a toolspec denied: with the version known, the decision may be another."""
    for judgement in judgements:
        invocation = judgement.invocation
        denied = judgement.denial is not None and judgement.denial.path == gates.BINARY_VERSION
        unknown = invocation.binary_version is None and not invocation.version_trouble
        if denied and unknown and (probe := of(judgement.toolspec, invocation.program)):
            return probe
    return None


def answer(probe: Probe, result: ExecResult, stdout: bytes) -> Version | None:
    """What the program said; None if it did not come to an answer, and is to be asked anew."""
    if result.cause in _SAYS_NOTHING:
        return None
    if (result.cause, result.code) != (Cause.EXITED, 0):
        return Version(None, f"and when it was asked, it {_failed(result)}")
    if found := extraction.version(probe.extract, stdout):
        return Version(found)
    return Version(None, "and its answer holds none where the toolkit's target.versionProbe looks for it")


def _failed(result: ExecResult) -> str:
    match result.cause:
        case Cause.EXITED:
            return f"exited with code {result.code}"
        case Cause.NOT_STARTED:
            return f"could not be started ({result.step}: {result.error})"
        case Cause.DEADLINE:
            return "did not answer in time"
        case _:
            return f"did not come to an answer ({result.cause})"
