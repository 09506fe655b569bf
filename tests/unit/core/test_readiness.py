"""Whether a call's session can take it: what is waited for, for how long, and what is refused at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.core import examples
from toolcall_operator.api.base import OwnerReference
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import readiness, validation
from toolcall_operator.core.outcomes import Refused, Wait
from toolcall_operator.core.reasons import Reason, Waiting
from toolcall_operator.core.validation import Plan
from toolcall_operator.core.world import World

GROUP = "agentprimitives.authzed.com"
READY = ("Ready", True, "")


def owned(*owners: tuple[str, str, str]) -> ToolCall:
    call = examples.call()
    references = tuple(OwnerReference(kind=kind, api_version=group, name=name) for kind, group, name in owners)
    return call.model_copy(update={"metadata": call.metadata.model_copy(update={"owner_references": references})})


def test_a_ready_session_takes_its_calls() -> None:
    assert isinstance(validation.plan(examples.call(), examples.in_cluster(READY)), Plan)


def test_in_a_cluster_an_absent_session_may_still_come() -> None:
    found = validation.plan(examples.call(), World(None, None, on_demand=False))

    assert isinstance(found, Wait)
    assert (found.waiting, found.patience) == (Waiting.SESSION, timedelta(seconds=10))
    assert (found.refusal.reason, found.refusal.path) == (Reason.SESSION_GONE, "spec.session")
    assert "work" in found.refusal.message


@pytest.mark.parametrize(
    "world",
    (
        examples.in_cluster(),
        examples.in_cluster(("Progressing", True, "the image cannot be pulled")),
        examples.in_cluster(("Ready", False, "")),
        replace(examples.in_cluster(READY), session_class=None),
    ),
    ids=["nothing said yet", "in progress", "not ready", "not bound"],
)
def test_a_session_that_starts_is_waited_for(world: World) -> None:
    found = validation.plan(examples.call(), world)

    assert isinstance(found, Wait)
    assert (found.waiting, found.patience) == (Waiting.SESSION, timedelta(minutes=2))
    assert found.refusal.reason is Reason.SESSION_NOT_ACTIVE
    assert "SpiceboxSession work" in found.refusal.message


def test_how_long_it_is_waited_for_is_a_matter_of_the_place() -> None:
    found = validation.plan(examples.call(), replace(examples.in_cluster(), patience=timedelta(seconds=7)))

    assert isinstance(found, Wait)
    assert found.patience == timedelta(seconds=7)


def test_what_holds_a_session_up_shows_on_its_calls() -> None:
    world = examples.in_cluster(("Progressing", True, "the image cannot be pulled"))

    found = validation.plan(examples.call(), world)

    assert isinstance(found, Wait)
    assert "the image cannot be pulled" in found.refusal.message


@pytest.mark.parametrize("ended", ("Failed", "Terminated"))
def test_a_session_that_has_ended_refuses_at_once(ended: str) -> None:
    found = validation.plan(examples.call(), examples.in_cluster(READY, (ended, True, "for a reason")))

    assert isinstance(found, Refused)
    assert found.reason is Reason.SESSION_NOT_ACTIVE
    assert "for a reason" in found.message


def test_a_session_that_is_being_deleted_is_gone() -> None:
    found = validation.plan(examples.call(), examples.in_cluster(READY, deleting=True))

    assert isinstance(found, Refused)
    assert found.reason is Reason.SESSION_GONE


@pytest.mark.parametrize(
    ("label", "owners", "fits"),
    (
        (None, (), True),
        (None, (("AgentSession", f"{GROUP}/v1alpha1", "attacker"),), True),
        ("victim", (("AgentSession", f"{GROUP}/v1alpha1", "victim"),), True),
        ("victim", (("AgentSession", f"{GROUP}/v1alpha1", "attacker"),), False),
        ("victim", (("AgentSession", "example.com/v1", "victim"),), False),
        ("victim", (("Job", f"{GROUP}/v1alpha1", "victim"),), False),
        ("victim", (), False),
        ("", (), False),
        ("", (("AgentSession", f"{GROUP}/v1alpha1", ""),), False),
    ),
)
def test_only_the_label_of_a_session_binds_its_calls(
    label: str | None, owners: tuple[tuple[str, str, str], ...], *, fits: bool
) -> None:
    session = examples.session() if label is None else examples.labelled(label)

    found = validation.plan(owned(*owners), World(session, examples.session_class()))

    assert isinstance(found, Plan) == fits
    if isinstance(found, Refused):
        assert found.reason is Reason.SESSION_BINDING_MISMATCH


def test_a_mismatch_names_both_sides() -> None:
    call = owned(("AgentSession", f"{GROUP}/v1alpha1", "attacker"))

    found = validation.plan(call, World(examples.labelled("victim"), examples.session_class()))

    assert isinstance(found, Refused)
    assert "attacker" in found.message
    assert "victim" in found.message


def test_what_a_claimed_call_runs_is_not_judged_again() -> None:
    ended = examples.in_cluster(("Failed", True, ""), deleting=True)

    found = validation.resumed(examples.call(env={"API_KEY": "x"}), ended)

    assert found is not None
    assert found.request.argv == ("/bin/echo", "-n")
    assert validation.resumed(examples.call(), World(None, None, on_demand=False)) is None


def test_a_sandbox_is_made_on_demand_only_for_a_session_that_its_class_has_the_toolspecs_of() -> None:
    session = examples.session(toolspecs=[{"name": "all"}, {"name": "none"}])
    world = World(session, examples.session_class(toolspecs=[{"name": "all"}]))

    (found,) = readiness.session_is_ready(examples.call(), world)

    assert isinstance(found, Refused)
    assert found.reason is Reason.SESSION_NOT_ACTIVE
    assert "does not have: none" in found.message
