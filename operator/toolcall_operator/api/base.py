"""What every manifest has in common: the base of the models, metadata, and the way back to a manifest."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    StrictStr,
    model_validator,
)

from toolcall_operator.api.times import Time
from toolcall_operator.api.types import Count64, Name, empty, read_only

ApiVersion = Literal["agentprimitives.authzed.com/v1alpha1"]
API_VERSION: ApiVersion = "agentprimitives.authzed.com/v1alpha1"
GROUP, VERSION = API_VERSION.split("/")

_ACRONYMS = frozenset({"uid", "id", "url", "ttl", "abi"})


def camel(name: str) -> str:
    """The manifest's spelling of an attribute: ``session_uid`` is ``sessionUID``."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.upper() if word in _ACRONYMS else word.capitalize() for word in rest)


class Model(BaseModel):
    """A frozen piece of a manifest that knows all its fields: one it does not know is an error."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=camel,
        validate_by_name=True,
        validate_by_alias=True,
        hide_input_in_errors=True,  # an error's text is logged, and the input may be a secret
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: object) -> object:
        """As the API server does: a null where a value may be left out counts as left out."""
        if not isinstance(data, Mapping):
            return data
        return {key: value for key, value in data.items() if value is not None}

    def to_manifest(self) -> dict[str, Any]:
        """The fields that were set, as a manifest spells them; defaults nobody wrote and absent values are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)


class Observed(Model):
    """A piece of a status. A field unknown here is passed over: a newer operator may have written it."""

    model_config = ConfigDict(extra="ignore")


_Texts = Annotated[Mapping[StrictStr, StrictStr], AfterValidator(read_only), PlainSerializer(dict)]


class OwnerReference(Model):
    """Another object without which this one is not to be; Kubernetes collects it when they are all gone."""

    model_config = ConfigDict(extra="ignore")

    api_version: StrictStr = ""
    kind: StrictStr = ""
    name: StrictStr = ""
    uid: StrictStr = ""
    controller: StrictBool = False

    @property
    def is_agent_session(self) -> bool:
        """Whether it is an AgentSession of our group, of any version."""
        return self.kind == "AgentSession" and self.api_version.split("/")[0] == GROUP


class ObjectMeta(Model):
    """The metadata that this project reads; Kubernetes has more, which is passed over."""

    model_config = ConfigDict(extra="ignore")

    name: Name
    namespace: Name = "default"
    uid: StrictStr = ""
    generation: Count64 = 0
    labels: _Texts = Field(default_factory=empty)
    annotations: _Texts = Field(default_factory=empty)
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    finalizers: tuple[StrictStr, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Manifest(Model):
    """A whole object: its kind, its name, what is asked of it and what came of it."""

    api_version: ApiVersion = API_VERSION
    kind: str
    metadata: ObjectMeta

    def to_manifest(self) -> dict[str, Any]:
        """The object as a manifest, its kind first."""
        return {"apiVersion": self.api_version, "kind": self.kind} | super().to_manifest()
