"""A condition: one observation about an object, as Kubernetes spells it."""

from typing import Annotated, Literal

from pydantic import Field, StrictStr

from toolcall_operator.api.base import Observed
from toolcall_operator.api.schema import Text
from toolcall_operator.api.times import Time
from toolcall_operator.api.types import Count64

TypeText = Annotated[
    StrictStr, Text("^([-a-z0-9.]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", 316, "one CamelCase word")
]
ReasonText = Annotated[StrictStr, Text("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", 1024, "one CamelCase word")]
Message = Annotated[StrictStr, Field(max_length=32768)]


class Condition(Observed):
    """One observation: what it is about, whether it holds, why, and since when."""

    type: TypeText = Field(description="What the observation is about, such as Running or Finished.")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it holds.")
    reason: ReasonText = Field(description="Why, in one word for programs.")
    message: Message = Field(description="Why, in a sentence for people. May be empty.")
    last_transition_time: Time = Field(description="Since when the status is what it is.")
    observed_generation: Count64 | None = Field(
        default=None,
        description="The metadata.generation that was looked at; a lower one than the object's is out of date.",
    )
