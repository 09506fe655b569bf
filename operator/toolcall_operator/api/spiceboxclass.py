"""SpiceboxClass: the template of a sandbox, and the catalogue of its tools."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PlainSerializer, StrictBool, StrictStr

from toolcall_operator.api.base import Manifest, Model, ObjectMeta, Observed
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.durations import Duration, UpToAWeek, UpToTenMinutes
from toolcall_operator.api.quantities import AtMost, Bytes
from toolcall_operator.api.sandbox import GiB, MiB, Mount, Network, PodSettings, PrivateVolume, Resources, Sandbox
from toolcall_operator.api.schema import Distinct, KeyedBy, in_schema
from toolcall_operator.api.selectors import LabelSelector
from toolcall_operator.api.tools import Tool
from toolcall_operator.api.types import (
    AbsolutePath,
    Count32,
    Count64,
    Env,
    EnvName,
    Name,
    Positive32,
    ShortLabel,
    empty,
    read_only,
)

_SECTION = in_schema(default={})
"""On a part whose fields all have defaults: the API server fills them in also where the part itself is left out."""


class ToolspecRef(Model):
    """A SpiceboxToolspec, by its name."""

    name: Name = Field(description="The SpiceboxToolspec's name.")


class SessionDefaults(Model):
    """How long sessions live that do not say so themselves."""

    idle_ttl: Duration = Field(
        default=timedelta(minutes=30), description="How long a session may go without calls. 0s: for ever."
    )
    max_duration: Duration = Field(
        default=timedelta(hours=4), description="How long a session may live in all. 0s: for ever."
    )


class Limits(Model):
    """How much calls may produce and take in."""

    output_bytes: Annotated[Bytes, AtMost(64 * MiB)] = Field(
        default=MiB, description="How much of stdout and of stderr is stored, each. What comes after is counted only."
    )
    max_concurrent_calls: Positive32 = Field(default=64, description="How many calls of one session run at a time.")
    output_file_bytes: Bytes = Field(default=GiB, description="The largest file that captureOutputs keeps.")
    output_total_bytes: Bytes = Field(default=4 * GiB, description="How much captureOutputs keeps of one call.")
    output_files: Count32 = Field(default=10_000, description="How many files captureOutputs keeps of one call.")
    input_bytes: Bytes = Field(
        default=GiB, description="How much inputArtifacts may put into the sandbox for one call."
    )
    artifact_bytes_per_session: Bytes = Field(
        default=10 * GiB, description="How much is stored for one session in all."
    )


class CredentialSettings(Model):
    """How calls that carry credentials are kept from others."""

    workspace: Literal["Shared", "ReadOnly", "None"] = Field(
        default="Shared",
        description="What a call with credentials sees of /workspace: all, all but unable to write, or nothing.",
    )
    exclusive: StrictBool = Field(
        default=False, description="Whether a call with credentials runs only while no other call runs in its sandbox."
    )


class HTTPToolsPolicy(Model):
    """Which HTTPTools, the ones users make at run time, calls of the class may use."""

    from_: Literal["None", "Same", "Selector"] = Field(
        default="None",
        description="None: no HTTPTools. Same: those of the session's namespace. Selector: those that selector names.",
    )
    selector: LabelSelector | None = Field(
        default=None, description="The labels of HTTPTools that may be used, for Selector."
    )


class SpiceboxClassSpec(Model):
    """How sandboxes of the class are made, what they offer, and what calls may do in them."""

    image: Annotated[StrictStr, Field(max_length=1024)] | None = Field(
        default=None, description="The image of the sandbox. Absent: the operator's default."
    )
    runtime_class_name: Name | None = Field(default=None, description="The RuntimeClass of the pod.")
    network: Annotated[Network, _SECTION] = Field(default_factory=Network, description="What the sandbox may reach.")
    resources: Resources = Field(description="What the sandbox may use of its node.")
    env_defaults: Env = Field(
        default_factory=empty, repr=False, description="Environment variables of every process in the sandbox."
    )
    mounts: Annotated[tuple[Mount, ...], KeyedBy("name")] = Field(
        default=(), max_length=64, description="Files that are put read-only into the sandbox."
    )
    private_volumes: Annotated[tuple[PrivateVolume, ...], KeyedBy("name")] = Field(
        default=(), max_length=32, description="Volumes that only one sandbox sees and that end with it."
    )
    sandbox: Annotated[Sandbox, _SECTION] = Field(default_factory=Sandbox, description="What carries the sandbox.")
    tools: Annotated[tuple[Tool, ...], KeyedBy("name")] = Field(
        default=(), max_length=256, description="The tools that calls can ask for."
    )
    toolspecs: Annotated[tuple[ToolspecRef, ...], KeyedBy("name")] = Field(
        default=(),
        min_length=1,
        max_length=256,
        description=(
            "The SpiceboxToolspecs that judge calls: every call needs one that accepts it. Absent: calls are not "
            "judged; an empty list is refused, since it could be meant either way."
        ),
    )
    session_defaults: Annotated[SessionDefaults, _SECTION] = Field(
        default_factory=SessionDefaults, description="How long sessions live that do not say so themselves."
    )
    limits: Annotated[Limits, _SECTION] = Field(
        default_factory=Limits, description="How much calls may produce and take in."
    )
    allowed_env_names: Annotated[tuple[EnvName, ...], Distinct()] = Field(
        default=(), max_length=256, description="Names of variables that calls may set although they look like secrets."
    )
    termination_grace_period: UpToAWeek = Field(
        default=timedelta(seconds=5),
        description="How long processes have between being asked to stop and being killed. At most 168h.",
    )
    allowed_namespaces: LabelSelector | None = Field(
        default=None,
        description="The labels of namespaces that may start sessions of the class. Absent: all namespaces.",
    )
    writable_paths: Annotated[tuple[AbsolutePath, ...], Distinct()] = Field(
        default=(),
        max_length=64,
        description="Folders that tools may write to, besides /workspace, /work/out, /tmp and the private volumes.",
    )
    credentials: Annotated[CredentialSettings, _SECTION] = Field(
        default_factory=CredentialSettings, description="How calls that carry credentials are kept from others."
    )
    pod: PodSettings | None = Field(default=None, description="What the platform team sets on the pods of the class.")
    ttl_seconds_after_finished: Count32 | None = Field(
        default=None,
        description="How long finished calls are kept that do not say so themselves. Absent: the operator's default.",
    )
    redaction: Literal["On", "Off"] = Field(
        default="On", description="On: credentials that show up in what a tool writes are replaced before it is stored."
    )
    tool_timeout: UpToTenMinutes = Field(
        default=timedelta(seconds=30), description="How long services and HTTP endpoints may take to answer."
    )
    http_tools: Annotated[HTTPToolsPolicy, _SECTION] = Field(
        default_factory=HTTPToolsPolicy, description="Which HTTPTools calls may use."
    )
    transient_retry_budget: Count32 = Field(
        default=8, description="How many times one call may be sent again after a passing failure of an HTTP endpoint."
    )


class SpiceboxClassStatus(Observed):
    """What was found out about the class. Only the operator writes it."""

    conditions: Annotated[tuple[Condition, ...], KeyedBy("type")] = Field(
        default=(), max_length=16, description="Valid: whether sessions can be made of the class."
    )
    observed_generation: Count64 | None = Field(
        default=None, description="The metadata.generation this status speaks of."
    )
    toolspec_coverage: Annotated[
        Mapping[StrictStr, Annotated[tuple[Name, ...], Field(max_length=256)]],
        Field(max_length=256),
        AfterValidator(read_only),
        PlainSerializer(dict),
    ] = Field(default_factory=empty, description="For every tool, the SpiceboxToolspecs that judge its calls.")


class ClassMeta(ObjectMeta):
    """The metadata of a class: its name also serves as a label value."""

    name: ShortLabel


class SpiceboxClass(Manifest):
    """The template of a sandbox: image, limits, network, and the tools it offers. Sessions are made from it."""

    kind: Literal["SpiceboxClass"] = "SpiceboxClass"
    metadata: ClassMeta
    spec: SpiceboxClassSpec = Field(description="How sandboxes of the class are made and what they offer.")
    status: SpiceboxClassStatus | None = Field(default=None, description="What was found out; written by the operator.")
