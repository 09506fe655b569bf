"""AgentIdentity: credentials of an agent under names of their own, each a reference to where it is kept."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StrictStr, model_validator

from toolcall_operator.api.base import Manifest, Model, ObjectMeta, Observed
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.credentials import CredentialName, Permissions, Repositories
from toolcall_operator.api.durations import UpToAWeek
from toolcall_operator.api.schema import Distinct, KeyedBy, Text, cel, refused, rules
from toolcall_operator.api.types import Count64, Name, OneLine, SecretKey, empty

_ONE_BLOCK = "needs exactly one of static, oauth and githubApp, the one its type names"
_ONE_BLOCK_RULE = (
    "has(self.static) == (self.type == 'static') && has(self.oauth) == (self.type == 'oauth') && "
    "has(self.githubApp) == (self.type == 'githubApp')"
)

HostPattern = Annotated[
    StrictStr,
    Text(
        r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(:[0-9]{1,5})?$",
        261,
        "a host in lower-case letters, with '*.' before it for all below it and ':' and a port behind it if need be",
    ),
]


class SecretRef(Model):
    """A Secret of the same namespace."""

    name: Name = Field(description="The Secret's name.")


class SecretKeyRef(Model):
    """One key of a Secret of the same namespace."""

    name: Name = Field(description="The Secret's name.")
    key: SecretKey = Field(description="The key in the Secret's data.")


class StaticCredential(Model):
    """A value that is kept as it is."""

    secret_ref: SecretKeyRef = Field(description="Where it is kept.")


class OAuthCredential(Model):
    """An access token that expires, and is renewed with the refresh token beside it."""

    secret_ref: SecretRef = Field(description="The Secret of access_token, expires_at and refresh_token.")


class GitHubAppCredential(Model):
    """A token of a GitHub App's installation, made when it is needed."""

    secret_ref: SecretRef = Field(description="The Secret of app-id, private-key and installation-id.")
    repositories: Repositories = Field(
        default=(), description="The repositories it is good for, of those that the installation has. None: all."
    )
    permissions: Permissions = Field(
        default_factory=empty, description="What it permits, of what the installation may. None: all."
    )


class AgentCredential(Model):
    """One credential under its name."""

    model_config = ConfigDict(json_schema_extra=rules(cel(_ONE_BLOCK_RULE, f"a credential {_ONE_BLOCK}")))

    name: CredentialName = Field(description="By this name calls ask for it.")
    type: Literal["static", "oauth", "githubApp"] = Field(
        description="How the Secret is read and when what it yields expires."
    )
    static: StaticCredential | None = Field(default=None, description="For static.")
    oauth: OAuthCredential | None = Field(default=None, description="For oauth.")
    github_app: GitHubAppCredential | None = Field(default=None, description="For githubApp.")
    allowed_hosts: Annotated[tuple[HostPattern, ...], Distinct()] = Field(
        default=(), max_length=64, description="The hosts it may be sent to; for HTTP tools. None: any."
    )

    @model_validator(mode="after")
    def _has_the_block_of_its_type(self) -> Self:
        blocks = {"static": self.static, "oauth": self.oauth, "githubApp": self.github_app}
        if [kind for kind, block in blocks.items() if block is not None] != [self.type]:
            raise refused(_ONE_BLOCK)
        return self


class AgentIdentitySpec(Model):
    """The credentials, and when those that expire are renewed."""

    credentials: Annotated[tuple[AgentCredential, ...], KeyedBy("name")] = Field(
        default=(), max_length=64, description="The credentials, each by its name."
    )
    description: OneLine | None = Field(default=None, description="Whose identity it is; for people.")
    refresh_threshold: UpToAWeek | None = Field(
        default=None,
        description="How long before its end an access token is renewed. Absent: the operator's default.",
    )


class AgentIdentityStatus(Observed):
    """What was found out about the identity. Only the operator writes it."""

    conditions: Annotated[tuple[Condition, ...], KeyedBy("type")] = Field(
        default=(), max_length=16, description="Valid: whether every credential can be had."
    )
    observed_generation: Count64 | None = Field(
        default=None, description="The metadata.generation this status speaks of."
    )


class AgentIdentity(Manifest):
    """Credentials of an agent under names of their own. Its sessions name it, and their calls name its credentials."""

    kind: Literal["AgentIdentity"] = "AgentIdentity"
    metadata: ObjectMeta
    spec: AgentIdentitySpec = Field(description="The credentials.")
    status: AgentIdentityStatus | None = Field(default=None, description="What was found out; written by the operator.")
