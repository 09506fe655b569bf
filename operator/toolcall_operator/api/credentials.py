"""How a call names the credentials it needs: where each is kept and where it goes, never what it is."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, PlainSerializer, StrictStr, model_validator

from toolcall_operator.api.base import Model
from toolcall_operator.api.schema import Text, cel, refused, rules
from toolcall_operator.api.types import (
    EnvName,
    HeaderName,
    HeaderPrefix,
    Label,
    Name,
    OneLine,
    SecretKey,
    Url,
    empty,
    read_only,
)

_ONE_PLACE = "needs exactly one of envVar and header"
_ONE_ORIGIN = "needs exactly one of source and identity"

CredentialName = Annotated[
    StrictStr,
    Text("^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$", 63, "made of letters, digits, '-', '_' and '.'"),
]
CredentialType = Literal["static", "oauth", "federated", "githubApp"]

Repository = Annotated[
    StrictStr,
    Text(r"^[A-Za-z0-9._-]+$", 100, "the name of a repository, without its owner: letters, digits, '-', '_', '.'"),
]
Repositories = Annotated[tuple[Repository, ...], Field(max_length=100)]
Permissions = Annotated[
    Mapping[StrictStr, Literal["read", "write", "admin"]],
    Field(max_length=64),
    AfterValidator(read_only),
    PlainSerializer(dict),
]


class HeaderInjection(Model):
    """A header of an HTTP tool's request that carries the credential."""

    name: HeaderName = Field(description="The header that carries the credential.")
    value_prefix: HeaderPrefix = Field(default="", description="Text put before the credential, such as 'Bearer '.")


class Injection(Model):
    """Where a credential goes: a variable of the process or a header of the request."""

    model_config = ConfigDict(
        json_schema_extra=rules(cel("has(self.envVar) != has(self.header)", f"inject {_ONE_PLACE}"))
    )

    env_var: EnvName | None = Field(default=None, description="The environment variable that carries the credential.")
    header: HeaderInjection | None = Field(
        default=None, description="The header that carries the credential; for HTTP tools."
    )

    @model_validator(mode="after")
    def _goes_to_one_place(self) -> Self:
        if (self.env_var is None) == (self.header is None):
            raise refused(_ONE_PLACE)
        return self


class CredentialSource(Model):
    """The Secret a credential is made from."""

    type: CredentialType = Field(description="How the Secret is read and when what it yields expires.")
    namespace: Label = Field(description="The Secret's namespace; it has to be the call's own.")
    name: Name = Field(
        description="The Secret's name. For federated it holds the identity that is exchanged for the credential."
    )
    key: SecretKey | None = Field(default=None, description="The key in the Secret's data; for static only.")
    resource: Url | None = Field(
        default=None, description="The resource the credential is asked for; for federated only."
    )
    resource_server_url: Url | None = Field(
        default=None, description="The address of the server that guards the resource; for federated only."
    )
    scopes: tuple[OneLine, ...] = Field(
        default=(), max_length=64, description="The scopes the credential is asked for; for federated only."
    )
    repositories: Repositories = Field(
        default=(),
        description="The repositories it is good for, of those that the installation has; for githubApp only.",
    )
    permissions: Permissions = Field(
        default_factory=empty,
        description="What it permits, of what the installation may, such as contents: read; for githubApp only.",
    )


class IdentityRef(Model):
    """One of the credentials that an AgentIdentity names."""

    name: Name = Field(description="The AgentIdentity; it has to be the one of the call's session.")
    credential: CredentialName = Field(description="The name of the credential in its spec.credentials.")


class Credential(Model):
    """A reference to a credential and the place it is put. It never holds the credential itself."""

    model_config = ConfigDict(
        json_schema_extra=rules(cel("has(self.source) != has(self.identity)", f"a credential {_ONE_ORIGIN}"))
    )

    inject: Injection = Field(description="Where the credential goes.")
    source: CredentialSource | None = Field(default=None, description="The Secret it comes from.")
    identity: IdentityRef | None = Field(default=None, description="The AgentIdentity that says where it comes from.")

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if (self.source is None) == (self.identity is None):
            raise refused(_ONE_ORIGIN)
        return self
