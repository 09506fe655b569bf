"""A session, its class and a call, as small as they can be, to be changed by tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession, SpiceboxSessionStatus
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import ToolCallStatus
from toolcall_operator.core.world import World

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)

RESOURCES = {"cpu": "1", "memory": "1Gi", "ephemeralStorage": "1Gi"}
ECHO = {"name": "echo", "command": ["/bin/echo"], "defaultArgs": ["-n"]}


def call(status: ToolCallStatus | None = None, **spec: Any) -> ToolCall:  # noqa: ANN401 (fields of a manifest)
    """A call of `echo` in session `work`."""
    metadata = {"name": "one", "uid": "4f1c1a1e-0000-4000-8000-000000000001", "generation": 3}
    made = ToolCall.model_validate({"metadata": metadata, "spec": {"session": "work", "tool": "echo", **spec}})
    return made.model_copy(update={"status": status})


def session_class(tool: dict[str, Any] | None = None, **spec: Any) -> SpiceboxClass:  # noqa: ANN401 (fields of a manifest)
    """Class `plain`, whose tool `echo` can be given more fields."""
    tools = [{**ECHO, **(tool or {})}, {"name": "cat", "command": ["cat"]}]
    full = {"resources": RESOURCES, "tools": tools, **spec}
    return SpiceboxClass.model_validate({"metadata": {"name": "plain"}, "spec": full})


def session(**spec: Any) -> SpiceboxSession:  # noqa: ANN401 (fields of a manifest)
    """Session `work` of class `plain`."""
    metadata = {"name": "work", "uid": "4f1c1a1e-0000-4000-8000-000000000002"}
    return SpiceboxSession.model_validate({"metadata": metadata, "spec": {"class": "plain", **spec}})


def labelled(agent_session: str) -> SpiceboxSession:
    """The session, of an AgentSession."""
    made = session()
    labels = {"agentprimitives.authzed.com/agentsession": agent_session}
    return made.model_copy(update={"metadata": made.metadata.model_copy(update={"labels": labels})})


def in_cluster(*conditions: tuple[str, bool, str], deleting: bool = False) -> World:
    """A cluster's world, whose session's status has these conditions: type, whether it holds, message."""
    told = tuple(
        Condition(type=kind, status=str(holds), reason="Told", message=message, last_transition_time=NOW)
        for kind, holds, message in conditions
    )
    made = session().model_copy(update={"status": SpiceboxSessionStatus(conditions=told)})
    if deleting:
        made = made.model_copy(update={"metadata": made.metadata.model_copy(update={"deletion_timestamp": NOW})})
    return World(made, session_class(), on_demand=False)


def world() -> World:
    """The world in which an ordinary call runs."""
    return World(session(), session_class())
