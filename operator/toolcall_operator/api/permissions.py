"""What a runner may ask an authorisation system before a call; here it only names the resource that a call is about."""

from typing import Annotated

from pydantic import Field, StrictStr

from toolcall_operator.api.base import Model
from toolcall_operator.api.schema import Text
from toolcall_operator.api.types import OneLine, Paragraph

CelText = Annotated[StrictStr, Field(min_length=1, max_length=4096)]
"""An expression in the Common Expression Language."""


class PermissionCheck(Model):
    """Which permission on which resource is asked for."""

    resource_type: Annotated[
        StrictStr, Text(r"^[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)*$", 256, "lower-case words, joined by '/'")
    ] = Field(description="The type of the resource.")
    permission: Annotated[StrictStr, Text("^[a-z][a-z0-9_]*$", 64, "one lower-case word")] = Field(
        description="The permission that is asked for."
    )
    resource_id_template: Annotated[StrictStr, Field(min_length=1, max_length=1024)] | None = Field(
        default=None, description="The resource's id: text with names of flags and positionals in braces."
    )
    resource_id_expr: CelText | None = Field(
        default=None, description="The resource's id: an expression over args, which holds the flags and positionals."
    )
    resource_id_hint: Paragraph | None = Field(
        default=None, description="What to tell the agent when the id cannot be found out."
    )
    resource_id_transforms: tuple[OneLine, ...] = Field(
        default=(), max_length=16, description="What is done to the id, in this order: lowercase, remove_spaces, …"
    )


class Permission(Model):
    """What a subcommand needs to be permitted."""

    state_impact: OneLine = Field(description="How it changes what it works on.")
    check: PermissionCheck | None = Field(default=None, description="What is asked before it runs.")


class PermissionVariant(Model):
    """A permission that counts instead under a condition."""

    when: CelText = Field(description="The condition, an expression over args.")
    check: PermissionCheck = Field(description="What is asked before it runs.")
