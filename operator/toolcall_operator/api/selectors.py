"""Which objects are meant, by their labels."""

from typing import Literal

from pydantic import Field

from toolcall_operator.api.base import Model
from toolcall_operator.api.types import Labels, OneLine, empty


class Requirement(Model):
    """One demand on a label."""

    key: OneLine = Field(description="The label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(
        description="How the label is compared with values."
    )
    values: tuple[OneLine, ...] = Field(default=(), max_length=64, description="The values, for In and NotIn.")


class LabelSelector(Model):
    """Objects whose labels meet every demand. Without a demand: all objects."""

    match_labels: Labels = Field(default_factory=empty, description="Labels that have to be there with these values.")
    match_expressions: tuple[Requirement, ...] = Field(
        default=(), max_length=16, description="Further demands on labels."
    )
