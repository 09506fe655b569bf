"""What a runner may ask an authorisation system before a call; here it only names the resource that a call is about."""

from typing import Annotated

from pydantic import Field, StrictStr

from toolcall_operator.api.base import Model
from toolcall_operator.api.schema import Text
from toolcall_operator.api.types import Expression, LongLine, OneLine, Paragraph, Prose


class PermissionCheck(Model):
    """Which permission on which resource is asked for."""

    resource_type: Annotated[
        StrictStr, Text(r"^[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)*$", 256, "lower-case words, joined by '/'")
    ] = Field(description="The type of the resource.")
    permission: Annotated[StrictStr, Text("^[a-z][a-z0-9_]*$", 64, "one lower-case word")] = Field(
        description="The permission that is asked for."
    )
    resource_id_template: LongLine | None = Field(
        default=None, description="The resource's id: text with names of flags and positionals in braces."
    )
    resource_id_expr: Expression | None = Field(
        default=None, description="The resource's id: an expression over args, which holds the flags and positionals."
    )
    resource_id_hint: Paragraph | None = Field(
        default=None, description="What to tell the agent when the id cannot be found out."
    )
    resource_id_transforms: tuple[OneLine, ...] = Field(
        default=(),
        max_length=16,
        description=(
            "What is done to the id, in this order: lowercase, remove_spaces, basename, normalize_url, sha256 or "
            "spicedb_object_id."
        ),
    )
    extraction_prompt: Prose | None = Field(default=None, description="How the runner finds the resource; for it.")
    enforce_mode: OneLine | None = Field(default=None, description="How final a refusal is; for the runner.")
    grant_binds_args: tuple[OneLine, ...] = Field(
        default=(), max_length=64, description="The arguments that a grant is bound to; for the runner."
    )


class Permission(Model):
    """What a subcommand needs to be permitted."""

    state_impact: OneLine = Field(
        description=(
            "How it changes what it works on: readonly, readwrite or external, which need a check, or stateless or "
            "passthrough, which are granted without one; in upper or lower case."
        )
    )
    check: PermissionCheck | None = Field(default=None, description="What is asked before it runs.")
    tool_name: OneLine | None = Field(default=None, description="The tool that is asked about; for the runner.")


class PermissionVariant(Model):
    """A permission that counts instead under a condition."""

    when: Expression = Field(description="The condition, an expression over args.")
    check: Permission = Field(description="The permission that counts under it.")
