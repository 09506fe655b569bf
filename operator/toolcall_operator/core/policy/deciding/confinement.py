"""What the sandbox keeps a call from, because the toolspec that allowed it says so: the kernel holds it to its word."""

from __future__ import annotations

from toolcall_operator.core.outcomes import Confinement
from toolcall_operator.core.policy.deciding import effectrules
from toolcall_operator.core.policy.deciding.decision import PATHS_UNDER, Judgement, Outcome, Step


def of(judgement: Judgement) -> Confinement:
    """How an allowed call is confined: without a network if it has no business there, and in the folders it may use.

    Raises:
        LookupError: the judgement does not allow the call.
    """
    if judgement.denial is not None or judgement.effects is None:
        raise LookupError("a call that is not allowed is not confined: it does not run")
    return Confinement(
        network=judgement.effects.described.uses_network,
        writable=_writable(judgement),
        trusted=True,
    )


def _writable(judgement: Judgement) -> tuple[str, ...] | None:
    """The folders of `pathsUnder`; None where it does not bind, or an exception lifted it."""
    folders = judgement.toolspec.spec.allow.filesystem.paths_under
    if folders is None or Step(PATHS_UNDER, Outcome.HELD) not in judgement.trace:
        return None
    return effectrules.folders_of(folders)
