"""The statuses of toolkits and toolspecs: whether they can be used, and why not."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit, SpiceboxToolkitStatus
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec, SpiceboxToolspecStatus
from toolcall_operator.core import conditions
from toolcall_operator.core.conditions import Look
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.policy.loading.toolspecs import Toolspec


class PolicyCondition(StrEnum):
    """What conditions tell of a toolkit or a toolspec."""

    VALID = "Valid"


def of_toolkit(toolkit: SpiceboxToolkit, judgement: Toolkit | Objection, now: datetime) -> SpiceboxToolkitStatus:
    """The status of a toolkit that was judged so; the same one if nothing is new."""
    status, look = toolkit.status or SpiceboxToolkitStatus(), Look(toolkit.metadata.generation, now)
    found = _valid(look, judgement, "toolspecs can build on it")
    kept = conditions.set_condition(status.conditions, found)
    return status.model_copy(update={"conditions": kept, "observed_generation": look.generation})


def of_toolspec(toolspec: SpiceboxToolspec, judgement: Toolspec | Objection, now: datetime) -> SpiceboxToolspecStatus:
    """The status of a toolspec that was judged so; the same one if nothing is new."""
    status, look = toolspec.status or SpiceboxToolspecStatus(), Look(toolspec.metadata.generation, now)
    resource = judgement.toolkit.resource if isinstance(judgement, Toolspec) else None
    found = _valid(look, judgement, f"it judges calls with SpiceboxToolkit {resource}")
    kept = conditions.set_condition(status.conditions, found)
    told = {"conditions": kept, "observed_generation": look.generation, "resolved_toolkit": resource}
    return status.model_copy(update=told)


def is_valid(toolspec: SpiceboxToolspec) -> bool:
    """Whether the status of a toolspec says of it, as it is now, that it can judge calls."""
    found = conditions.find(toolspec.status.conditions, PolicyCondition.VALID) if toolspec.status else None
    return found is not None and found.status == "True" and found.observed_generation == toolspec.metadata.generation


def _valid(look: Look, judgement: Toolkit | Toolspec | Objection, words: str) -> Condition:
    if isinstance(judgement, Objection):
        return look.condition(PolicyCondition.VALID, judgement.reason, judgement.message, holds=False)
    return look.condition(PolicyCondition.VALID, PolicyReason.RESOLVED, words, holds=True)
