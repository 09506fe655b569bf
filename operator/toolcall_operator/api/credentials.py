"""How a call names the credentials it needs: where each is kept and where it goes, never what it is."""

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from toolcall_operator.api.base import Model
from toolcall_operator.api.schema import cel, refused, rules
from toolcall_operator.api.types import EnvName, HeaderName, HeaderPrefix, Label, Name, OneLine, SecretKey, Url

_ONE_OF = "needs exactly one of envVar and header"


class HeaderInjection(Model):
    """A header of an HTTP tool's request that carries the credential."""

    name: HeaderName = Field(description="The header that carries the credential.")
    value_prefix: HeaderPrefix = Field(default="", description="Text put before the credential, such as 'Bearer '.")


class Injection(Model):
    """Where a credential goes: a variable of the process or a header of the request."""

    model_config = ConfigDict(json_schema_extra=rules(cel("has(self.envVar) != has(self.header)", f"inject {_ONE_OF}")))

    env_var: EnvName | None = Field(default=None, description="The environment variable that carries the credential.")
    header: HeaderInjection | None = Field(
        default=None, description="The header that carries the credential; for HTTP tools."
    )

    @model_validator(mode="after")
    def _goes_to_one_place(self) -> Self:
        if (self.env_var is None) == (self.header is None):
            raise refused(_ONE_OF)
        return self


class CredentialSource(Model):
    """The Secret a credential is made from."""

    type: Literal["static", "oauth", "federated", "githubApp"] = Field(
        description="How the Secret is read and when what it yields expires."
    )
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


class Credential(Model):
    """A reference to a credential and the place it is put. It never holds the credential itself."""

    inject: Injection = Field(description="Where the credential goes.")
    source: CredentialSource = Field(description="Where the credential comes from.")
