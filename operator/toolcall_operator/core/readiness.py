"""Whether the session of a call can take it: it is there, the call may use it, its sandbox is ready."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from toolcall_operator.api.base import GROUP
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import conditions
from toolcall_operator.core.outcomes import Refused, Wait
from toolcall_operator.core.policy.loading import coverage
from toolcall_operator.core.policy.loading.coverage import NotInClass
from toolcall_operator.core.reasons import Reason, Waiting
from toolcall_operator.core.world import World

AGENT_SESSION_LABEL = f"{GROUP}/agentsession"
"""On a session: the AgentSession to which its calls must belong."""

ABSENT_PATIENCE = timedelta(seconds=10)
"""`kubectl apply -R` may create a call before its session."""

Objection = Refused | Wait


def session_exists(call: ToolCall, world: World) -> Iterator[Objection]:
    """The session is there and can be read, and stays."""
    name, where = f"SpiceboxSession {call.spec.session}", f"in namespace {call.metadata.namespace}"
    if world.session is None and world.unread:
        message = f"spec.session names {name}, which is {where} and cannot be read: {world.unread}"
        yield Refused(Reason.SESSION_NOT_ACTIVE, message, "spec.session")
    elif world.session is None:
        absent = Refused(Reason.SESSION_GONE, f"spec.session names {name}, which is not {where}", "spec.session")
        yield absent if world.on_demand else Wait(Waiting.SESSION, ABSENT_PATIENCE, absent)
    elif world.session.metadata.deletion_timestamp and not world.on_demand:
        message = f"spec.session names {name}, which is being deleted"
        yield Refused(Reason.SESSION_GONE, message, "spec.session")


def call_belongs_to_session(call: ToolCall, world: World) -> Iterator[Objection]:
    """A session of an AgentSession, which its label names, takes only calls that are owned by that AgentSession."""
    if world.session is None:
        return
    label = world.session.metadata.labels.get(AGENT_SESSION_LABEL)
    owners = [owner.name for owner in call.metadata.owner_references if owner.is_agent_session]
    if label is not None and (not label or label not in owners):
        session = f"SpiceboxSession {world.session.metadata.name}"
        owned = f"is owned by AgentSession {', '.join(owners)}" if owners else "has no such owner"
        wanted = f"{session} takes only calls of AgentSession {label or '(its label is empty)'}"
        yield Refused(Reason.SESSION_BINDING_MISMATCH, f"{wanted}; this call {owned}")


def session_is_ready(call: ToolCall, world: World) -> Iterator[Objection]:
    """The session's sandbox has been heard of, or is made on demand, where nobody else looks at its toolspecs."""
    if world.session is None:
        return
    if world.on_demand:
        yield from _narrowed_beyond_its_class(call, world)
        return
    session = world.session
    found = session.status.conditions if session.status else ()
    for ended in ("Terminated", "Failed"):
        if (told := conditions.find(found, ended)) and told.status == "True":
            message = f"SpiceboxSession {call.spec.session} cannot run calls: {told.reason}: {told.message}"
            yield Refused(Reason.SESSION_NOT_ACTIVE, message)
            return
    if not (conditions.is_true(found, "Ready") and world.session_class):
        message = f"SpiceboxSession {call.spec.session} is not ready{_progress(session)}"
        yield Wait(Waiting.SESSION, world.patience, Refused(Reason.SESSION_NOT_ACTIVE, message))


def _narrowed_beyond_its_class(call: ToolCall, world: World) -> Iterator[Refused]:
    """What a session controller would hold against a session, which it then gives no sandbox."""
    if world.session and world.session_class:
        found = coverage.effective(world.session.spec, world.session_class.spec)
        if isinstance(found, NotInClass):
            message = f"SpiceboxSession {call.spec.session} cannot run calls: {found.message(world.session_class)}"
            yield Refused(Reason.SESSION_NOT_ACTIVE, message)


def _progress(session: SpiceboxSession) -> str:
    """What its controller says holds the session up."""
    found = session.status.conditions if session.status else ()
    told = conditions.find(found, "Progressing") or conditions.find(found, "Ready")
    return f": {told.message}" if told and told.message else ""
