"""What a session must have before a sandbox is made for it: our finalizer, a class it may use, nothing we cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum

from toolcall_operator.api.spiceboxsession import FINALIZER
from toolcall_operator.core import classes, conditions, selectors, support
from toolcall_operator.core.classes import ClassReason
from toolcall_operator.core.policy.loading import coverage
from toolcall_operator.core.policy.loading.coverage import NotInClass
from toolcall_operator.core.session import status as sessionstatus
from toolcall_operator.core.session.actions import Action, Hold, LookUpAgent, LookUpClass, ReadNamespace, Rest, Show
from toolcall_operator.core.session.known import Absent
from toolcall_operator.core.session.status import SessionCondition, SessionReason
from toolcall_operator.core.session.view import SessionView

CLASS_PATIENCE = timedelta(seconds=10)
"""`kubectl apply -R` may create a session before its class, and its agent."""

NAMESPACE_MEMORY = timedelta(minutes=1)
"""How long the labels of a namespace that may not use the class are believed."""


def is_read(view: SessionView, now: datetime) -> Iterator[Action]:
    """It can be read; nothing is made for one that cannot, and what was made stays until it can."""
    if view.unread:
        yield from _refused(view, SessionReason.MALFORMED_OBJECT, view.unread, now)


def is_held(view: SessionView, _now: datetime) -> Iterator[Action]:
    """It has our finalizer, before anything is made for it."""
    if FINALIZER not in view.session.metadata.finalizers and Hold() not in view.known.done:
        yield Hold()


def is_carried_out(view: SessionView, now: datetime) -> Iterator[Action]:
    """It asks for nothing that would silently be left undone."""
    for below in support.unsupported(view.session.spec, "SpiceboxSession spec"):
        message = f"spec{below} asks for something that is not supported here"
        yield from _refused(view, SessionReason.NOT_SUPPORTED, message, now)
        return


def class_is_there(view: SessionView, now: datetime) -> Iterator[Action]:
    """Its class is there; one that is not may still come, and is then asked for once more."""
    if view.is_bound or view.session_class:
        return
    name = f"SpiceboxClass {view.session.spec.class_}"
    if isinstance(absent := view.known.looked_up, Absent):
        reason = SessionReason.CLASS_INVALID if absent.problem else SessionReason.CLASS_MISSING
        message = f"{name} cannot be read: {absent.problem}" if absent.problem else f"there is no {name}"
        yield from _refused(view, reason, message, now)
    elif conditions.is_true(view.status.conditions, SessionCondition.FAILED):
        yield LookUpClass()
    elif since := _waiting_since(view):
        yield Rest(since + CLASS_PATIENCE) if now < since + CLASS_PATIENCE else LookUpClass()
    else:
        yield Show(sessionstatus.awaiting_class(view.session, f"there is no {name} yet", now))


def agent_is_there(view: SessionView, now: datetime) -> Iterator[Action]:
    """The AgentIdentity it names is there, be it valid or not; one that is not may still come, as a class may.

    What a session waited for before counts: it does not wait for one after the other.
    """
    if view.is_bound or view.has_agent or not view.session.spec.agent:
        return
    name = f"AgentIdentity {view.session.spec.agent} in namespace {view.session.metadata.namespace}"
    since = _waiting_since(view, SessionReason.WAITING_FOR_AGENT)
    if view.known.has_agent is False:
        yield from _refused(view, SessionReason.AGENT_MISSING, f"there is no {name}", now)
    elif conditions.is_true(view.status.conditions, SessionCondition.FAILED):
        yield LookUpAgent()
    elif since:
        yield Rest(since + CLASS_PATIENCE) if now < since + CLASS_PATIENCE else LookUpAgent()
    else:
        yield Show(sessionstatus.awaiting_agent(view.session, f"there is no {name} yet", now))


def class_is_valid(view: SessionView, now: datetime) -> Iterator[Action]:
    """Sandboxes can be made of its class; toolspecs that its tools lack may still come."""
    if view.session_class is None or view.is_bound:
        return
    judged = classes.judged(view.session_class, view.default_image, view.library)
    if judged.valid:
        return
    message = f"SpiceboxClass {view.session.spec.class_} is not valid: {judged.message}"
    if judged.reason is ClassReason.TOOLSPEC_COVERAGE_MISSING and _may_still_come(view, now):
        status = sessionstatus.awaiting_class(view.session, message, now)
        yield Show(status) if status != view.status else Rest((_waiting_since(view) or now) + CLASS_PATIENCE)
    else:
        known = judged.reason is ClassReason.NOT_SUPPORTED
        yield from _refused(view, judged.reason if known else SessionReason.CLASS_INVALID, message, now)


def toolspecs_are_of_its_class(view: SessionView, now: datetime) -> Iterator[Action]:
    """It is narrowed to toolspecs that its class has."""
    if view.session_class is None or view.is_bound:
        return
    found = coverage.effective(view.session.spec, view.session_class.spec)
    if isinstance(found, NotInClass):
        yield from _refused(view, SessionReason.TOOLSPEC_NOT_IN_CLASS, found.message(view.session_class), now)


def namespace_is_allowed(view: SessionView, now: datetime) -> Iterator[Action]:
    """Sessions of its class may be started in its namespace."""
    selector = view.session_class.spec.allowed_namespaces if view.session_class else None
    if selector is None or view.is_bound:
        return
    read = view.known.labels
    if read is None or now >= read.at + NAMESPACE_MEMORY:
        yield ReadNamespace()
    elif not selectors.matches(selector, read.labels):
        where = f"SpiceboxClass {view.session.spec.class_} spec.allowedNamespaces"
        message = f"{where} does not allow sessions in namespace {view.session.metadata.namespace}"
        yield from _refused(view, SessionReason.CLASS_NOT_ALLOWED, message, now)
        yield Rest(read.at + NAMESPACE_MEMORY)


def mounts_have_a_place(view: SessionView, now: datetime) -> Iterator[Action]:
    """Its own mounts can be made in a sandbox of its class."""
    of_class = view.session_class.spec if view.session_class else None
    spec = view.status.resolved_class if view.is_bound else of_class
    judged = classes.mounts_judged(view.session.spec.mounts, spec) if spec is not None else None
    if judged and not judged.valid:
        yield from _refused(view, judged.reason, judged.message, now)


def class_is_frozen(view: SessionView, now: datetime) -> Iterator[Action]:
    """It keeps its class and its toolspecs as they are now; a refusal that does not hold any more is taken back."""
    if not view.is_bound and view.session_class:
        spec = view.session_class.spec
        if not spec.image:
            spec = spec.model_copy(update={"image": view.default_image})
        toolspecs = coverage.effective(view.session.spec, spec)
        if not isinstance(toolspecs, NotInClass):
            yield Show(sessionstatus.bound(view.session, spec, toolspecs, now))
    elif conditions.is_true(view.status.conditions, SessionCondition.FAILED):
        yield Show(sessionstatus.being_made(view.session, None, now))


def _refused(view: SessionView, reason: StrEnum, message: str, now: datetime) -> Iterator[Action]:
    yield view.until_shown(sessionstatus.refused(view.session, reason, message, now))


def _may_still_come(view: SessionView, now: datetime) -> bool:
    """Whether what a session waits for is worth waiting for: nobody has been told that it is not there."""
    since, refused = _waiting_since(view), conditions.is_true(view.status.conditions, SessionCondition.FAILED)
    return not refused and (since is None or now < since + CLASS_PATIENCE)


def _waiting_since(view: SessionView, reason: SessionReason = SessionReason.WAITING_FOR_CLASS) -> datetime | None:
    ready = conditions.find(view.status.conditions, SessionCondition.READY)
    waits = ready is not None and ready.reason == reason
    return ready.last_transition_time if ready and waits else None
