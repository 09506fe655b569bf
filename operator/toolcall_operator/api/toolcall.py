"""ToolCall: one execution of one tool in a session. This is what is asked; ``toolcallstatus`` is what came of it."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from toolcall_operator.api.base import GROUP, Manifest, Model, ObjectMeta, camel
from toolcall_operator.api.credentials import Credential
from toolcall_operator.api.durations import Duration, UpToADay
from toolcall_operator.api.schema import RULES, all_unchanging, cel, cel_only, in_schema, list_map, rules, schema_only
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.api.types import (
    Argument,
    Arguments,
    ArtifactRef,
    Count32,
    Env,
    Name,
    Path,
    Sha256,
    ShortLabel,
    Stdin,
    ToolName,
    Uid,
    empty,
)

FINALIZER = f"{GROUP}/toolcall"
"""Holds the object of a call that runs until its end is written."""


class InputArtifact(Model):
    """A stored payload that is put into the sandbox before the tool starts."""

    artifact_ref: ArtifactRef = Field(description="Which artifact, by its reference; it has to be one of this session.")
    path: Path = Field(description="Where it is put: a relative path in the call's own input folder.")


class PreDispatchSnapshot(Model):
    """Asks for a snapshot of the workspace before the tool starts."""

    session_uid: Uid = Field(description="The UID of the AgentSession the snapshot is kept for.")
    turn_index: Count32 = Field(description="The turn of the agent this call belongs to.")
    sequence: Count32 = Field(description="The place of this call among the stateful calls of its turn, from 0.")


class CallWorkspace(Model):
    """The workspace the caller expects; it has to be the one the session's sandbox has."""

    mode: Literal["shared", "isolated"] = Field(
        default="shared", description="shared: a volume that several sandboxes mount. isolated: this sandbox's own."
    )
    shared_claim_name: Name | None = Field(
        default=None, description="The PersistentVolumeClaim that is mounted when shared."
    )


_STREAMS = cel_only(
    "self.mode == 'sync' || has(self.streamTokenHash)",
    "streamTokenHash is required when mode is stream or interactive",
    "streamTokenHash",
)
_INTERACTIVE_LIMITS = tuple(
    cel_only(
        f"self.mode == 'interactive' || !has(self.{name}) || duration(self.{name}) == duration('0s')",
        f"{name} can be set only when mode is interactive",
        name,
    )
    for name in ("maxDuration", "idleTimeout")
)
_CANCEL = {
    RULES: [
        cel("self || !oldSelf", "cancel can be set from false to true only: a call that was told to stop cannot go on")
    ]
}


_UNCHANGEABLE = "cannot be changed: what a ToolCall asks for is settled when it is made, but for cancel"


def _spec_rules(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """The rules between fields, and the rule that every field but cancel stays as it was."""
    names = [camel(name) for name in model.model_fields if name != "cancel"]
    schema[RULES] = [_STREAMS, *_INTERACTIVE_LIMITS, all_unchanging(names, "spec", _UNCHANGEABLE)]


_DISPATCH_STAYS = cel(
    "!has(oldSelf.status) || !has(oldSelf.status.dispatch) || "
    "(has(self.status) && has(self.status.dispatch) && self.status.dispatch == oldSelf.status.dispatch)",
    "status.dispatch is written once: a call that was given to a sandbox cannot be given to another",
    "status.dispatch",
)
_FINISHED_STAYS = cel(
    "!has(oldSelf.status) || !has(oldSelf.status.finished) || !oldSelf.status.finished || "
    "(has(self.status) && has(self.status.finished) && self.status.finished)",
    "status.finished cannot be taken back: a call ends once",
    "status.finished",
)
# Nobody would see it, and the call's generation would never be observed: `kubectl wait` waits for that.
_CANCEL_COMES_BEFORE_THE_END = cel(
    "!has(oldSelf.status) || !has(oldSelf.status.finished) || !oldSelf.status.finished || "
    "self.spec.cancel == oldSelf.spec.cancel",
    "spec.cancel comes too late: the call has ended",
    "spec.cancel",
)


class ToolCallSpec(Model):
    """What to run, with what, and for how long. Nothing of it can change later, but for cancel."""

    # repr=False on what callers may put a secret into against all advice: a repr ends in logs.

    model_config = ConfigDict(json_schema_extra=_spec_rules)

    session: ShortLabel = Field(description="The SpiceboxSession, in the same namespace, whose sandbox runs the tool.")
    tool: ToolName = Field(description="The tool, by its name in the session's class.")
    args: tuple[Argument, ...] = Field(
        default=(),
        repr=False,
        max_length=1024,
        description=(
            "The arguments, put after the class's command and defaultArgs. No shell reads them. At most 131071 bytes "
            "each."
        ),
    )
    env: Env = Field(
        default_factory=empty,
        repr=False,
        description=(
            "Environment variables of the process. Never secrets: a name that looks like one is refused. Use "
            "credentials."
        ),
    )
    stdin: Stdin | None = Field(
        default=None,
        repr=False,
        description="Text for the tool's standard input, at most 1 MiB. For more, use inputArtifacts.",
    )
    timeout: UpToADay = Field(
        default=timedelta(seconds=60),
        description=(
            "How long the call may take, from the moment it is claimed; then its processes are killed. At most 24h."
        ),
    )
    mode: Literal["sync", "stream", "interactive"] = Field(
        default="sync",
        description=(
            "sync: the output is read when the call has ended. stream: it can be followed live. interactive: a "
            "terminal."
        ),
    )
    stream_token_hash: Sha256 | None = Field(
        default=None,
        description=(
            "The SHA-256, in hexadecimal, of the token that opens the live stream. Required for stream and interactive."
        ),
    )
    max_duration: Duration | None = Field(
        default=None, description="How long an interactive call may last in all. 0s or absent: 4h."
    )
    idle_timeout: Duration | None = Field(
        default=None,
        description="How long an interactive call may go without input and output. 0s or absent: the class's default.",
    )
    capture_outputs: tuple[Path, ...] = Field(
        default=(),
        max_length=64,
        description=(
            "Files to keep when the tool has ended: absolute paths, in which {{.callId}} and {{.sessionName}} are "
            "filled in."
        ),
    )
    input_artifacts: Annotated[tuple[InputArtifact, ...], schema_only(**list_map("path"))] = Field(
        default=(), max_length=256, description="Stored payloads to put into the sandbox before the tool starts."
    )
    credentials: tuple[Credential, ...] = Field(
        default=(),
        max_length=32,
        description="References to the credentials the tool gets. Never the credentials themselves.",
    )
    pre_dispatch_snapshot: PreDispatchSnapshot | None = Field(
        default=None, description="Asks for a snapshot of the workspace before the tool starts."
    )
    workspace: CallWorkspace | None = Field(
        default=None, description="The workspace the caller expects the session to have."
    )
    arguments: Arguments | None = Field(
        default=None,
        repr=False,
        description=(
            "The arguments of a service tool or HTTP tool, as one object of at most 128 KiB. Other tools take args."
        ),
    )
    cancel: Annotated[StrictBool, in_schema(**_CANCEL)] = Field(
        default=False, description="Set to true to stop the call without deleting it. It cannot be taken back."
    )
    ttl_seconds_after_finished: Count32 | None = Field(
        default=None,
        description=(
            "How long the finished call is kept; 0 deletes it at once. Absent: the class's or the operator's default."
        ),
    )


class ToolCall(Manifest):
    """One execution of one tool inside a SpiceboxSession. Its outcome stands on its status."""

    model_config = ConfigDict(json_schema_extra=rules(_DISPATCH_STAYS, _FINISHED_STAYS, _CANCEL_COMES_BEFORE_THE_END))

    kind: Literal["ToolCall"] = "ToolCall"
    metadata: ObjectMeta
    spec: ToolCallSpec = Field(description="What is asked for.")
    status: ToolCallStatus | None = Field(default=None, description="What came of it; written by the operator.")
