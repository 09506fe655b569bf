"""Views of sessions, to be changed by tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.unit.core import examples
from tests.unit.core.examples import NOW
from toolcall_operator.api.spiceboxsession import FINALIZER, SpiceboxSession, SpiceboxSessionStatus
from toolcall_operator.core.pod.pods import Container, PodView
from toolcall_operator.core.session import status as sessionstatus
from toolcall_operator.core.session.actions import MakePolicy
from toolcall_operator.core.session.known import Greeted, Greeting, Known
from toolcall_operator.core.session.view import SessionView

AGO = NOW - timedelta(minutes=5)
GREETING = Greeting("boot-1", "0.1.0", 7, "Landlock", "Blocked")
CLASS = examples.session_class(image="tools:1")


def session(status: SpiceboxSessionStatus | None = None, *, held: bool = True, **spec: Any) -> SpiceboxSession:  # noqa: ANN401 (fields of a manifest)
    """Session `work`, which was made five minutes ago."""
    made = examples.session(**spec)
    finalizers = (FINALIZER,) if held else ()
    update = {"finalizers": finalizers, "creation_timestamp": AGO, "generation": 2}
    return made.model_copy(update={"metadata": made.metadata.model_copy(update=update), "status": status})


def deleted(view: SessionView) -> SessionView:
    """The view of a session that somebody has just deleted."""
    metadata = view.session.metadata.model_copy(update={"deletion_timestamp": NOW})
    return replace(view, session=view.session.model_copy(update={"metadata": metadata}))


def pod(number: int = 0, **changes: Any) -> PodView:  # noqa: ANN401 (fields of a pod)
    """The pod of the session after so many others, which runs."""
    name = f"work-pod-{number + 1}" if number else "work-pod"
    running = PodView(
        namespace="default",
        name=name,
        uid=f"uid-{number}",
        phase="Running",
        created_at=AGO,
        sandbox=Container("sandbox", is_running=True),
    )
    return replace(running, **changes)


def pending(number: int = 0, **changes: Any) -> PodView:  # noqa: ANN401 (fields of a pod)
    """The same, before it runs."""
    return pod(number, **{"phase": "Pending", "sandbox": None, **changes})


def ended(number: int = 0, **changes: Any) -> PodView:  # noqa: ANN401 (fields of a pod)
    """The same, after it ran."""
    over = Container("sandbox", ended=True, reason="OOMKilled", exit_code=137)
    return pod(number, **{"phase": "Failed", "sandbox": over, **changes})


def fresh(**changes: Any) -> SessionView:  # noqa: ANN401 (fields of a view)
    """A session that has its finalizer and its class, and nothing else yet."""
    view = SessionView(session=session(), known=Known(since=AGO), session_class=CLASS, default_image="default:1")
    return replace(view, **changes)


def bound(**changes: Any) -> SessionView:  # noqa: ANN401 (fields of a view)
    """A session whose class is frozen."""
    status = sessionstatus.bound(session(), CLASS.spec, (), AGO)
    return fresh(**{"session": session(status), **changes})


def ready(**changes: Any) -> SessionView:  # noqa: ANN401 (fields of a view)
    """A session whose sandbox is ready, and which has no chores."""
    status = sessionstatus.greeted(bound().session, pod(), GREETING, AGO)
    known = Known(
        since=AGO,
        greeted={"uid-0": Greeted(GREETING, AGO)},
        reclaimed=frozenset({"uid-0"}),
        done={MakePolicy("work-pod"): NOW},
    )
    return fresh(**{"session": session(status), "pods": (pod(),), "known": known, **changes})


def known(view: SessionView, **changes: Any) -> SessionView:  # noqa: ANN401 (fields of what is known)
    """The view with something else known."""
    return replace(view, known=replace(view.known, **changes))
