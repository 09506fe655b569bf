"""SpiceboxToolspec: which uses of a toolkit are allowed."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from toolcall_operator.api.base import Manifest, Model, ObjectMeta, Observed
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.effects import Categories
from toolcall_operator.api.schema import KeyedBy
from toolcall_operator.api.spiceboxtoolkit import Revision
from toolcall_operator.api.types import Count64, EnvName, Expression, FreeForm, LongLine, OneLine, Paragraph, ToolName

Listed = Annotated[tuple[LongLine, ...], Field(max_length=256)]
Words = tuple[OneLine, ...]
"""Subcommands by their words, joined by single spaces; the bare program is the empty text."""


class ToolkitRef(Model):
    """The toolkit a toolspec speaks of."""

    name: ToolName = Field(description="The toolkit's spec.name.")
    revision: Revision = Field(description="Its spec.toolkitRevision.")


class Require(Model):
    """What must be known before a call is allowed."""

    verified_binary_version: StrictBool = Field(
        default=False, description="Whether the program's version must have been found to be in the toolkit's range."
    )


class DeniedCredentials(Model):
    """What calls may not do to credentials."""

    writes: StrictBool = Field(default=False, description="Whether subcommands that change credentials are refused.")


class DeniedEffects(Model):
    """Effects that calls may not have."""

    destructive: StrictBool = Field(default=False, description="Whether destructive subcommands are refused.")
    reads: Categories = Field(default=(), description="What calls may not read from.")
    writes: Categories = Field(default=(), description="What calls may not write to.")
    creds: DeniedCredentials = Field(
        default_factory=DeniedCredentials, description="What calls may not do to credentials."
    )


class Deny(Model):
    """What calls may not do."""

    effects: DeniedEffects = Field(default_factory=DeniedEffects, description="Effects that calls may not have.")


class AllowedNetwork(Model):
    """Where calls may connect to."""

    destinations: Listed | None = Field(
        default=None, description="The only hosts. An empty list allows none; absent: not judged."
    )


class AllowedFilesystem(Model):
    """Which files calls may touch."""

    paths_under: Listed | None = Field(
        default=None,
        description="The only folders, with all below them. An empty list allows none; absent: not judged.",
    )


class AllowedCredentials(Model):
    """Which credentials calls may work with."""

    required: Annotated[tuple[EnvName, ...], Field(max_length=256)] | None = Field(
        default=None, description="The only variables. An empty list allows none; absent: not judged."
    )


class Allow(Model):
    """What calls may do at most. A list that is there binds, an empty one, too."""

    network: AllowedNetwork = Field(default_factory=AllowedNetwork, description="Where calls may connect to.")
    filesystem: AllowedFilesystem = Field(default_factory=AllowedFilesystem, description="Which files they may touch.")
    creds: AllowedCredentials = Field(default_factory=AllowedCredentials, description="Which credentials they may use.")
    stdin: StrictBool = Field(
        default=False, description="Whether a program that runs what it reads on standard input may be given any."
    )


class PolicyException(Model):
    """A condition under which some rules do not count."""

    overrides: tuple[OneLine, ...] = Field(
        default=(), max_length=16, description="The paths of the rules that do not count, such as deny.effects.writes."
    )
    when: Expression | None = Field(default=None, description="The condition, an expression over call and config.")
    message: Paragraph | None = Field(default=None, description="Why, for people.")


class Constraint(Model):
    """A condition that every call must meet."""

    cel: Expression | None = Field(default=None, description="The condition, an expression over call and config.")
    message: Paragraph | None = Field(default=None, description="What to tell when a call does not meet it.")


class Sensitive(Model):
    """Values that must not be shown, besides those the toolkit names."""

    env: Listed = Field(default=(), description="Variables.")
    flags: Listed = Field(default=(), description="Flags.")
    positional: Listed = Field(default=(), description="Positional arguments.")


class SecretOutput(Model):
    """A secret that a call brings forth; for the runner."""

    name: OneLine = Field(description="Its name.")
    source: OneLine = Field(description="stdout, or file: and an absolute path.")
    description: Paragraph | None = Field(default=None, description="What it is.")


class SpiceboxToolspecSpec(Model):
    """Which uses of a toolkit are allowed."""

    name: OneLine | None = Field(default=None, description="Its name, as reports give it.")
    version: OneLine | None = Field(default=None, description="Its version.")
    intent: Paragraph | None = Field(default=None, description="What it is meant to allow, for people.")
    toolkit: ToolkitRef = Field(description="The toolkit it speaks of.")
    require: Require = Field(default_factory=Require, description="What must be known before a call is allowed.")
    allow_subcommands: Words = Field(
        max_length=512, description="The subcommands that may be used, such as pr view. An empty list allows nothing."
    )
    deny: Deny = Field(default_factory=Deny, description="What calls may not do.")
    allow: Allow = Field(default_factory=Allow, description="What calls may do at most.")
    exceptions: tuple[PolicyException, ...] = Field(
        default=(), max_length=64, description="Conditions under which some rules do not count."
    )
    constraints: tuple[Constraint, ...] = Field(
        default=(), max_length=64, description="Conditions that every call must meet."
    )
    sensitive: Sensitive = Field(default_factory=Sensitive, description="Values that must not be shown.")
    secret_output: SecretOutput | None = Field(default=None, description="A secret that a call brings forth.")
    observes: tuple[FreeForm, ...] = Field(
        default=(), max_length=32, description="What a successful call proves: facts about subjects; for the runner."
    )
    writes_relationships: tuple[FreeForm, ...] = Field(
        default=(), max_length=32, description="What a successful call brings about; for the runner."
    )


class SpiceboxToolspecStatus(Observed):
    """What was found out about the toolspec. Only the operator writes it."""

    conditions: Annotated[tuple[Condition, ...], KeyedBy("type")] = Field(
        default=(), max_length=16, description="Valid: whether it can judge calls."
    )
    observed_generation: Count64 | None = Field(
        default=None, description="The metadata.generation this status speaks of."
    )
    resolved_toolkit: OneLine | None = Field(default=None, description="The SpiceboxToolkit that it was read with.")


class SpiceboxToolspec(Manifest):
    """Which uses of a toolkit are allowed, and under which conditions. Classes and sessions name it."""

    kind: Literal["SpiceboxToolspec"] = "SpiceboxToolspec"
    metadata: ObjectMeta
    spec: SpiceboxToolspecSpec = Field(description="Which uses are allowed.")
    status: SpiceboxToolspecStatus | None = Field(
        default=None, description="What was found out; written by the operator."
    )
