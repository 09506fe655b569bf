"""The status of a ToolCall: everything that is known about how it went."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictStr

from toolcall_operator.api.base import Observed
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.schema import KeyedBy
from toolcall_operator.api.times import MicroTime, Time
from toolcall_operator.api.types import (
    ArtifactRef,
    Count32,
    Count64,
    Int32,
    Name,
    OneLine,
    Paragraph,
    Path,
    ResultText,
    Sha256,
    Uid,
    Url,
)


class StreamStatus(Observed):
    """One of the two output streams of a process."""

    size: Count64 = Field(
        description="How many bytes the tool wrote; more than is stored when the stream was truncated."
    )
    sha256: Sha256 | None = Field(default=None, description="The SHA-256 of what is stored, in hexadecimal.")


class SkippedOutput(Observed):
    """A file that was asked for and could not be kept."""

    path: Path = Field(description="The file, by its absolute path in the sandbox.")
    reason: Literal["Missing", "TooLarge", "NotRegular", "Unreadable", "Forbidden", "QuotaExceeded"] = Field(
        description="Why it was not kept."
    )


class OutputArtifact(Observed):
    """A file that was kept when the tool had ended."""

    path: Path = Field(description="The file, by its absolute path in the sandbox.")
    artifact_ref: ArtifactRef = Field(description="The reference under which it is stored.")
    size: Count64 = Field(description="Its size in bytes.")
    sha256: Sha256 | None = Field(default=None, description="The SHA-256 of its bytes, in hexadecimal.")
    media_type: OneLine | None = Field(
        default=None, description="What kind of data it is taken for, such as text/plain."
    )


class Streaming(Observed):
    """Where the live output of a stream or interactive call can be read."""

    available: StrictBool = Field(description="Whether the stream can be opened now.")
    gateway_endpoint: Url | None = Field(default=None, description="The address at which it is opened.")


class Injected(Observed):
    """A variable or header that carried a credential."""

    key: OneLine = Field(description="The name of the variable or header.")
    masked: OneLine = Field(description="The value, masked: enough to tell two apart, not enough to use.")


class Agent(Observed):
    """The credentials that the call was given."""

    injected: Annotated[tuple[Injected, ...], KeyedBy("key")] = Field(
        max_length=64, description="The variables and headers that carried credentials, sorted by name."
    )


class FailedRule(Observed):
    """The rule of a toolspec that refused a call."""

    path: Paragraph = Field(description="Where the rule stands in the toolspec.")
    message: Paragraph | None = Field(default=None, description="What the rule itself says about its refusal.")


class ToolspecFailure(Observed):
    """A toolspec that refused the call."""

    spec_name: Annotated[StrictStr, Field(max_length=253)] = Field(
        description="The SpiceboxToolspec; empty when there is none that speaks of the tool."
    )
    reason: Paragraph | None = Field(default=None, description="Why it refused; fit to be shown to the agent.")
    failed_on: FailedRule | None = Field(default=None, description="The rule that refused, when it was one rule.")


class ToolspecDecision(Observed):
    """What the toolspecs of the session said about the call: one accepted it, or all refused."""

    accepted_by: Name | None = Field(default=None, description="The SpiceboxToolspec that accepted the call.")
    failures: tuple[ToolspecFailure, ...] = Field(
        default=(),
        max_length=64,
        description=(
            "The SpiceboxToolspecs that refused the call, when none accepted it: the first 64, with texts cut where "
            "there is not room for all. The message of Finished tells how many there are."
        ),
    )


class Confinement(Observed):
    """What the sandbox itself keeps the call from, because the toolspec that accepted it says so."""

    network: Literal["Sandbox", "None"] = Field(
        description="None: it can open no connection. Sandbox: what its sandbox can reach."
    )
    writable: tuple[Path, ...] | None = Field(
        default=None,
        max_length=256,
        description="It can write to nothing but what is below these folders, as far as its sandbox lets tools write.",
    )


class Result(Observed):
    """What the tool answered, in a form that can be shown."""

    kind: Literal["Exec", "Service", "HTTP"] = Field(description="What kind of tool answered.")
    is_error: StrictBool | None = Field(default=None, description="Whether the answer tells of a failure.")
    text: ResultText | None = Field(
        default=None, description="The beginning of the answer (of stdout, for a process), at most 32 KiB."
    )
    content_type: OneLine | None = Field(default=None, description="The content type of an HTTP answer.")
    http_status: Int32 | None = Field(default=None, description="The status code of an HTTP answer.")
    truncated: StrictBool | None = Field(default=None, description="Whether the answer is longer than text.")
    size: Count64 | None = Field(default=None, description="The size of the whole answer in bytes.")
    artifact_ref: ArtifactRef | None = Field(default=None, description="Where the whole answer is stored.")


class Dispatch(Observed):
    """The claim: which process in which sandbox the call was given to. It is written once and never changes."""

    pod_name: Name | None = Field(default=None, description="The sandbox's pod, where it is one.")
    pod_uid: Uid | None = Field(default=None, description="The UID of that pod.")
    boot_id: Uid = Field(description="The start of the sandbox's supervisor that took the call.")
    operator: OneLine = Field(description="The operator process that claimed the call.")
    epoch: Count64 = Field(description="The term of office of that operator as the leader.")
    at: MicroTime = Field(description="When the call was claimed.")


class Attempt(Observed):
    """One try of an HTTP request."""

    at: MicroTime = Field(description="When it was sent.")
    http_status: Int32 | None = Field(default=None, description="The status code that came back.")
    outcome: OneLine = Field(description="How it ended, in one word.")
    retry_after: OneLine | None = Field(
        default=None, description="How long the server asked to wait before the next try."
    )


class Snapshot(Observed):
    """The snapshot of the workspace that was taken before the tool started."""

    handle: ArtifactRef = Field(description="The name under which the snapshot is found again.")
    session_uid: Uid = Field(description="The UID of the AgentSession it is kept for.")
    turn_index: Count32 = Field(description="The turn it was taken in.")
    sequence: Count32 = Field(description="The place of the call among the stateful calls of that turn.")


class ToolCallStatus(Observed):
    """What is known about a call. Only the operator writes it."""

    finished: StrictBool | None = Field(
        default=None, description="true once the call has ended, however it ended. Lists can be filtered by it."
    )
    conditions: Annotated[tuple[Condition, ...], KeyedBy("type")] = Field(
        default=(),
        max_length=32,
        description=(
            "What was observed: Validated, Running, exactly one of Succeeded, Failed, Timeout and Canceled, and "
            "Finished."
        ),
    )
    observed_generation: Count64 | None = Field(
        default=None, description="The metadata.generation this status speaks of."
    )
    started_at: Time | None = Field(default=None, description="When the call was claimed for its sandbox.")
    finished_at: Time | None = Field(default=None, description="When the call had ended.")
    exit_code: Int32 | None = Field(
        default=None,
        description="The exit code the process returned, 128+n after signal n. Absent when it returned none.",
    )
    stdout_artifact_ref: ArtifactRef | None = Field(
        default=None, description="Where stdout is stored, if there was any."
    )
    stderr_artifact_ref: ArtifactRef | None = Field(
        default=None, description="Where stderr is stored, if there was any."
    )
    stdout_truncated: StrictBool | None = Field(
        default=None, description="Whether only the beginning of stdout is stored."
    )
    stderr_truncated: StrictBool | None = Field(
        default=None, description="Whether only the beginning of stderr is stored."
    )
    skipped_outputs: tuple[SkippedOutput, ...] = Field(
        default=(), max_length=100, description="Files of captureOutputs that could not be kept."
    )
    stdout: StreamStatus | None = Field(default=None, description="Size and digest of stdout.")
    stderr: StreamStatus | None = Field(default=None, description="Size and digest of stderr.")
    output_artifacts: tuple[OutputArtifact, ...] = Field(
        default=(), max_length=10000, description="Files of captureOutputs that were kept."
    )
    streaming: Streaming | None = Field(default=None, description="Where live output can be read.")
    agent: Agent | None = Field(default=None, description="The credentials the call was given, masked.")
    confinement: Confinement | None = Field(
        default=None, description="What the sandbox keeps the call from, when a toolspec accepted it."
    )
    toolspec: ToolspecDecision | None = Field(
        default=None, description="What the toolspecs said. Absent when the class declares none."
    )
    result: Result | None = Field(default=None, description="What the tool answered.")
    dispatch: Dispatch | None = Field(default=None, description="Which sandbox the call was given to, and by whom.")
    attempts: tuple[Attempt, ...] = Field(default=(), max_length=10, description="The last tries of an HTTP request.")
    snapshot: Snapshot | None = Field(default=None, description="The snapshot taken before the tool started.")
