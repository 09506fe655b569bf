"""SpiceboxSession: one sandbox of a class, for one owner."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StrictBool, StrictStr, model_validator

from toolcall_operator.api.base import GROUP, Manifest, Model, ObjectMeta, Observed
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.durations import Duration
from toolcall_operator.api.sandbox import Mount
from toolcall_operator.api.schema import Distinct, KeyedBy, Text, cel, refused, rules, stays, unchanging
from toolcall_operator.api.spiceboxclass import SpiceboxClassSpec, ToolspecRef
from toolcall_operator.api.times import Time
from toolcall_operator.api.types import Count32, Count64, Env, FreeForm, Name, OneLine, ShortLabel, Uid, empty

FINALIZER = f"{GROUP}/session"
"""Holds the object of a session until its calls have ended and its sandbox is gone."""

_ONE_OF = "needs either app and user, or issuer and subject"
_ONE_OF_RULE = (
    "has(self.app) == has(self.user) && has(self.issuer) == has(self.subject) && has(self.app) != has(self.issuer)"
)
_OWNER_STAYS = "owner cannot be set, changed or taken away later: who owns a session is settled when it is made"
_NOT_BOUND = "!has(oldSelf.status) || !has(oldSelf.status.resolvedClass)"


def _stays_once_bound(field: str, why: str) -> dict[str, str]:
    """The rule that a field of the spec stays as it was since the session has a class of its own."""
    return cel(f"{_NOT_BOUND} || {stays(field)}", f"{field} cannot change any more: {why}", field)


# The API server compares free-form objects with a gap: where a top-level key of toolConfig was renamed and there are as
# many as before, it sees no change (unstructuredMap.Equal of k8s.io/apiserver 0.36 skips keys the other one lacks).
_BINDING_STAYS = (
    _stays_once_bound("spec.class", "the class is part of the session since its sandbox was made"),
    _stays_once_bound("spec.agent", "the session's calls use its credentials since its sandbox was made"),
    _stays_once_bound("spec.mounts", "the sandbox was made with them"),
    _stays_once_bound("spec.toolspecs", "they judge the session's calls since its sandbox was made"),
    _stays_once_bound("spec.toolConfig", "the session's calls are judged by it since its sandbox was made"),
)
_VISIBLE = Text(r"^[\x21-\x7e]+$", 255, "visible ASCII characters without blanks")

AppName = Annotated[
    StrictStr, Text("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 63, "made of lower-case letters, digits and '-'")
]
Issuer = Annotated[StrictStr, Text(r"^https://[\x21-\x7b\x7d\x7e]+$", 2048, "an https address without '|' and blanks")]
Visible = Annotated[StrictStr, _VISIBLE]


class Owner(Model):
    """On whose behalf the session's calls are made: a user of an application, or the subject of a token."""

    model_config = ConfigDict(json_schema_extra=rules(cel(_ONE_OF_RULE, f"owner {_ONE_OF}")))

    app: AppName | None = Field(default=None, description="The application the user is known to.")
    user: Visible | None = Field(default=None, description="The user, as the application names them.")
    issuer: Issuer | None = Field(default=None, description="Who issued the owner's token.")
    subject: Visible | None = Field(default=None, description="The subject of the owner's token.")

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Self:
        by_app, by_token = (self.app, self.user).count(None), (self.issuer, self.subject).count(None)
        if {by_app, by_token} != {0, 2}:
            raise refused(_ONE_OF)
        return self


class SessionWorkspace(Model):
    """The folder in which tools work, /workspace."""

    mode: Literal["shared", "isolated"] = Field(
        default="shared", description="shared: a volume that several sandboxes mount. isolated: this sandbox's own."
    )
    shared_claim_name: Name | None = Field(
        default=None, description="The PersistentVolumeClaim that is mounted when shared."
    )


class SpiceboxSessionSpec(Model):
    """Which class the sandbox is of, and how it differs."""

    model_config = ConfigDict(json_schema_extra=rules(unchanging("owner", _OWNER_STAYS)))

    class_: ShortLabel = Field(description="The SpiceboxClass the sandbox is made from.")
    agent: Name | None = Field(default=None, description="The AgentIdentity whose credentials its calls may use.")
    default_env: Env = Field(
        default_factory=empty, repr=False, description="Environment variables of its calls, unless a call sets them."
    )
    idle_ttl: Duration | None = Field(
        default=None, description="How long it may go without calls. 0s: for ever. Absent: the class's default."
    )
    max_duration: Duration | None = Field(
        default=None, description="How long it may live in all. 0s: for ever. Absent: the class's default."
    )
    mounts: Annotated[tuple[Mount, ...], KeyedBy("name")] = Field(
        default=(),
        max_length=64,
        description="Files that are put read-only into the sandbox, besides those of the class.",
    )
    tool_config: FreeForm | None = Field(default=None, description="Values for the rules of toolspecs.")
    toolspecs: Annotated[tuple[ToolspecRef, ...], Field(max_length=256), KeyedBy("name")] | None = Field(
        default=None,
        description="Which of the class's toolspecs judge its calls. Absent: all. An empty list allows nothing.",
    )
    workspace: SessionWorkspace | None = Field(default=None, description="The folder in which its tools work.")
    owner: Owner | None = Field(default=None, description="On whose behalf its calls are made. It cannot change.")
    scopes: Annotated[tuple[OneLine, ...], Distinct()] = Field(
        default=(), max_length=64, description="The scopes it was granted; tools may demand one."
    )


class SessionSandbox(Observed):
    """The sandbox that was made."""

    kind: OneLine = Field(description="What carries it.")
    ref: OneLine = Field(description="Where it is: <namespace>/<name>.")
    prewarmed: StrictBool | None = Field(default=None, description="Whether it had been waiting in a warm pool.")
    pod_uid: Uid | None = Field(default=None, description="The UID of its pod.")
    boot_id: Uid | None = Field(default=None, description="The start of its supervisor.")
    supervisor_version: OneLine | None = Field(default=None, description="The version of its supervisor.")
    landlock_abi: Count32 | None = Field(
        default=None, description="What its kernel offers to keep calls apart; 0 is nothing."
    )
    isolation: Literal["Landlock", "Exclusive"] | None = Field(
        default=None, description="How calls are kept apart. Exclusive: one with credentials runs alone."
    )


class SpiceboxSessionStatus(Observed):
    """What is known about the session. Only the operator writes it."""

    conditions: Annotated[tuple[Condition, ...], KeyedBy("type")] = Field(
        default=(),
        max_length=16,
        description="What was observed: Ready, Progressing, Failed, Terminated, NetworkEnforced.",
    )
    observed_generation: Count64 | None = Field(
        default=None, description="The metadata.generation this status speaks of."
    )
    call_count: Count64 | None = Field(default=None, description="How many calls were started.")
    last_activity_at: Time | None = Field(default=None, description="When a call last started or ended.")
    effective_toolspecs: tuple[Name, ...] = Field(
        default=(), max_length=256, description="The toolspecs that judge its calls."
    )
    resolved_class: SpiceboxClassSpec | None = Field(
        default=None, description="The class as it was when the sandbox was made; later changes do not reach it."
    )
    resolved_tool_config: FreeForm | None = Field(
        default=None, description="spec.toolConfig as it was then; rules of toolspecs go by it."
    )
    resolved_agent: Name | None = Field(default=None, description="The AgentIdentity its calls use.")
    pod_name: Name | None = Field(default=None, description="The sandbox's pod.")
    sandbox: SessionSandbox | None = Field(default=None, description="The sandbox that was made.")
    restarts: Count32 | None = Field(default=None, description="How many times a lost sandbox was replaced.")


class SessionMeta(ObjectMeta):
    """The metadata of a session: its name also serves as a label value and begins the names of its pods."""

    name: ShortLabel


class SpiceboxSession(Manifest):
    """One sandbox of a SpiceboxClass, in which ToolCalls run one beside the other."""

    model_config = ConfigDict(json_schema_extra=rules(*_BINDING_STAYS))

    kind: Literal["SpiceboxSession"] = "SpiceboxSession"
    metadata: SessionMeta
    spec: SpiceboxSessionSpec = Field(description="Which class the sandbox is of, and how it differs.")
    status: SpiceboxSessionStatus | None = Field(
        default=None, description="What is known about it; written by the operator."
    )
