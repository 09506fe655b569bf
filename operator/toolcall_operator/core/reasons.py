"""Every reason a call can end for, each with the one condition it makes true."""

from __future__ import annotations

from enum import StrEnum


class Terminal(StrEnum):
    """The condition that is true when a call has ended; exactly one of them is."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    TIMEOUT = "Timeout"
    CANCELED = "Canceled"


class Reason(StrEnum):
    """One cause, one reason."""

    PROCESS_EXITED = "ProcessExited"

    NON_ZERO_EXIT = "NonZeroExit"
    SIGNALED = "Signaled"
    COMMAND_NOT_FOUND = "CommandNotFound"
    NOT_EXECUTABLE = "NotExecutable"
    ARGUMENTS_TOO_LONG = "ArgumentsTooLong"
    START_FAILED = "StartFailed"
    OOM_KILLED = "OOMKilled"
    PIDS_LIMIT_EXCEEDED = "PidsLimitExceeded"

    SANDBOX_GONE = "SandboxGone"
    SANDBOX_RESTARTED = "SandboxRestarted"
    SANDBOX_TERMINATING = "SandboxTerminating"
    SANDBOX_OOM_KILLED = "SandboxOOMKilled"
    SANDBOX_UNREACHABLE = "SandboxUnreachable"
    EVICTED = "Evicted"
    TRANSPORT_LOST = "TransportLost"

    SESSION_GONE = "SessionGone"
    SESSION_NOT_ACTIVE = "SessionNotActive"
    SESSION_BINDING_MISMATCH = "SessionBindingMismatch"
    TOOL_UNKNOWN = "ToolUnknown"
    UNSUPPORTED_FOR_TOOL = "UnsupportedForTool"
    NOT_SUPPORTED = "NotSupported"
    ENV_NAME_INVALID = "EnvNameInvalid"
    ENV_NAME_FORBIDDEN = "EnvNameForbidden"
    ENV_SECRET_LIKE = "ToolCallEnvSecretLike"  # noqa: S105 (the name of a reason)
    ENV_SHADOWS_AGENT = "ToolCallEnvShadowsAgent"
    CREDENTIAL_SOURCE_FORBIDDEN = "CredentialSourceForbidden"
    CREDENTIAL_UNRESOLVED = "AgentCredentialUnresolved"
    CREDENTIAL_INVALID = "CredentialInvalid"
    CREDENTIAL_EXPIRED = "AgentCredentialExpired"
    CREDENTIAL_CONFLICT = "CredentialConflict"
    TOOLSPEC_DENIED = "ToolspecDenied"
    MALFORMED_OBJECT = "MalformedObject"
    RECONCILE_FAILED = "ReconcileFailed"

    DEADLINE_EXCEEDED = "DeadlineExceeded"

    USER_CANCEL = "UserCancel"
    USER_DELETE = "UserDelete"
    SESSION_TERMINATED = "SessionTerminated"


class Waiting(StrEnum):
    """What a call that may run still waits for."""

    QUEUED = "Queued"
    SESSION = "WaitingForSession"
    POLICY = "WaitingForPolicy"


_OTHER_THAN_FAILED = {
    Reason.PROCESS_EXITED: Terminal.SUCCEEDED,
    Reason.DEADLINE_EXCEEDED: Terminal.TIMEOUT,
    Reason.USER_CANCEL: Terminal.CANCELED,
    Reason.USER_DELETE: Terminal.CANCELED,
    Reason.SESSION_TERMINATED: Terminal.CANCELED,
}


def terminal(reason: Reason) -> Terminal:
    """The terminal condition that `reason` belongs to."""
    return _OTHER_THAN_FAILED.get(reason, Terminal.FAILED)
