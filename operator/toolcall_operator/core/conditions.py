"""The conditions of a status: at most one of each type, with the time since when its status is what it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from toolcall_operator.api.conditions import Condition
from toolcall_operator.core import plaintext


class ConditionType(StrEnum):
    """What conditions tell of a call, besides the four ways in which one ends (`reasons.Terminal`)."""

    VALIDATED = "Validated"
    RUNNING = "Running"
    FINISHED = "Finished"
    RECONCILE_RETRYING = "ReconcileRetrying"
    ENV_HIGH_ENTROPY = "EnvHighEntropy"
    OUTPUTS_HARVESTED = "OutputsHarvested"


@dataclass(frozen=True, slots=True)
class Look:
    """One look at an object: which generation was seen, and when."""

    generation: int
    at: datetime

    def condition(self, kind: StrEnum, reason: StrEnum | str, message: str, *, holds: bool) -> Condition:
        """What this look found about `kind`; the message is made fit to be shown."""
        return Condition(
            type=str(kind),
            status="True" if holds else "False",
            reason=str(reason),
            message=plaintext.message(message),
            last_transition_time=self.at,
            observed_generation=self.generation,
        )


def find(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """The condition of this type, if there is one."""
    return next((condition for condition in conditions if condition.type == kind), None)


def is_true(conditions: Iterable[Condition], kind: str) -> bool:
    """Whether there is a condition of this type, and it holds."""
    found = find(conditions, kind)
    return found is not None and found.status == "True"


def set_condition(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """The conditions with `new` in its type's place, or last; its transition time is the old one's if the status is."""
    old = find(conditions, new.type)
    if old is None:
        return (*conditions, new)
    if old.status == new.status:
        new = new.model_copy(update={"last_transition_time": old.last_transition_time})
    return tuple(new if condition is old else condition for condition in conditions)


def without(conditions: tuple[Condition, ...], kinds: Iterable[str]) -> tuple[Condition, ...]:
    """The conditions that are of none of these types."""
    dropped = frozenset(kinds)
    return tuple(condition for condition in conditions if condition.type not in dropped)
