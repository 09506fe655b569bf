"""The status of a class: whether sessions can be made of it, and by which toolspecs their calls are judged."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from toolcall_operator.api.spiceboxclass import SpiceboxClass, SpiceboxClassStatus
from toolcall_operator.core import conditions
from toolcall_operator.core.classes import Judgement
from toolcall_operator.core.conditions import Look


class ClassCondition(StrEnum):
    """What conditions tell of a class."""

    VALID = "Valid"


def judged(session_class: SpiceboxClass, judgement: Judgement, now: datetime) -> SpiceboxClassStatus:
    """The status of a class that was judged so; the same one if nothing is new."""
    status = session_class.status or SpiceboxClassStatus()
    look = Look(session_class.metadata.generation, now)
    found = look.condition(ClassCondition.VALID, judgement.reason, judgement.message, holds=judgement.valid)
    kept = conditions.set_condition(status.conditions, found)
    told = status.model_copy(update={"conditions": kept, "observed_generation": look.generation})
    if judgement.coverage is None or judgement.coverage == told.toolspec_coverage:
        return told
    return told.model_copy(update={"toolspec_coverage": judgement.coverage})
