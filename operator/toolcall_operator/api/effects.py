"""What a subcommand does to the world, as a toolkit describes it."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from toolcall_operator.api.base import Model
from toolcall_operator.api.types import EnvName, LongLine

Category = Literal["network", "filesystem"]
Categories = Annotated[tuple[Category, ...], Field(max_length=16)]
Template = LongLine
"""Text with parts in braces that stand for values of the call: {flag:output}, {positional:url|host}, {env:HOST}."""
EnvNames = Annotated[tuple[EnvName, ...], Field(max_length=64)]


class NetworkEffects(Model):
    """Where a subcommand connects to."""

    destinations: tuple[Template, ...] = Field(
        default=(), max_length=64, description="The hosts it connects to; parts in braces are filled in from the call."
    )


class FilesystemEffects(Model):
    """Which files a subcommand touches."""

    paths: tuple[Template, ...] = Field(
        default=(), max_length=64, description="The paths it touches; parts in braces are filled in from the call."
    )


class CredentialEffects(Model):
    """Which credentials a subcommand works with."""

    required: EnvNames = Field(default=(), description="Variables of env.allowed that carry the credentials it needs.")
    writes: EnvNames = Field(default=(), description="Variables of env.allowed whose credentials it changes.")


class Effects(Model):
    """Everything a subcommand does to the world."""

    destructive: StrictBool = Field(description="Whether it can destroy what cannot be had again.")
    reads: Categories = Field(description="What it reads from.")
    writes: Categories = Field(description="What it writes to.")
    network: NetworkEffects = Field(description="Where it connects to.")
    filesystem: FilesystemEffects = Field(description="Which files it touches.")
    creds: CredentialEffects = Field(description="Which credentials it works with.")

    @property
    def uses_network(self) -> bool:
        """Whether it has anything to do with a network."""
        return "network" in {*self.reads, *self.writes} or bool(self.network.destinations)
