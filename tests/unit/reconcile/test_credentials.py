"""A call that asks for credentials gets them in its process, and nowhere else; or it does not run, and says why."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.fakes.broker import FakeBroker
from tests.logged import logged
from tests.unit.core import examples
from tests.unit.stage import Stage, ending, says
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch
from toolcall_operator.core import status, validation
from toolcall_operator.core.outcomes import ExecRequest
from toolcall_operator.core.validation import Plan
from toolcall_operator.core.world import World
from toolcall_operator.errors import Unavailable
from toolcall_operator.reconcile import equipping

TOKEN = "ghp_ThisIsNoToken1234567890"
SOURCE = {"type": "static", "namespace": "default", "name": "github", "key": "token"}
GITHUB = {"inject": {"envVar": "GH_TOKEN"}, "source": SOURCE}


def asking(**spec: Any) -> ToolCall:  # noqa: ANN401 (fields of a manifest)
    """A call that asks for the token."""
    return examples.call(credentials=[GITHUB], **spec)


def having(world: World | None = None) -> Stage:
    """A stage where the token is to be had."""
    broker = FakeBroker({"default/github/token": TOKEN})
    return Stage(world=world or examples.world(), broker=broker).runs(says())


@pytest.fixture(autouse=True)
def _told_nobody(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No line of a log shows the token."""
    caplog.set_level(logging.DEBUG)
    yield
    assert TOKEN not in logged(caplog)


async def test_the_process_gets_the_credential_besides_its_environment() -> None:
    stage = having()

    call = await stage.carry(asking(env={"LANG": "C"}))

    assert ending(call) == ("Succeeded", "ProcessExited", 0)
    (request,) = stage.sandbox.started
    assert request.credentials is not None
    assert {name: value.reveal() for name, value in request.credentials.env.items()} == {"GH_TOKEN": TOKEN}
    assert dict(request.env) == {"LANG": "C"}
    assert TOKEN not in repr(request)


async def test_the_claim_tells_what_was_injected_masked() -> None:
    stage = having()

    call = await stage.carry(asking())

    claim, end = stage.cluster.reported
    for each in (claim, end):
        assert each.agent is not None
        assert [(told.key, told.masked) for told in each.agent.injected] == [("GH_TOKEN", "ghp_****7890")]
        assert TOKEN not in str(each.to_manifest())
    assert call.status is not None


async def test_a_call_without_credentials_asks_nobody_and_tells_of_no_agent() -> None:
    stage = having()

    call = await stage.carry()

    assert stage.broker.asked == []
    assert call.status is not None
    assert call.status.agent is None


async def test_the_broker_is_told_for_which_session_it_is_asked() -> None:
    stage = having()

    await stage.carry(asking())

    (((reference,), requester),) = stage.broker.asked
    assert (reference.path, reference.env_var) == ("spec.credentials[0]", "GH_TOKEN")
    assert (requester.namespace, requester.session, requester.session_uid) == (
        "default",
        "work",
        examples.session().metadata.uid,
    )


async def test_a_credential_that_is_not_to_be_had_ends_the_call_before_its_claim() -> None:
    stage = Stage().runs(says())

    call = await stage.carry(asking())

    assert ending(call) == ("Failed", "AgentCredentialUnresolved", None)
    assert call.status is not None
    assert call.status.started_at is None
    assert stage.sandbox.started == []
    assert stage.sandboxes.opened == []


async def test_a_broker_that_cannot_say_is_asked_again() -> None:
    stage = having()
    troubles = [Unavailable("the API server does not answer")]

    def first() -> None:
        if troubles:
            raise troubles.pop()

    stage.broker.before = first

    assert ending(await stage.carry(asking())) == ("Succeeded", "ProcessExited", 0)


async def test_a_broker_that_can_never_say_ends_the_call_when_the_budget_is_spent() -> None:
    stage = having()
    stage.ports = replace(stage.ports, fault_budget=timedelta(milliseconds=10))

    def ever() -> None:
        raise Unavailable("the API server does not answer")

    stage.broker.before = ever

    call = await stage.carry(asking())

    assert ending(call) == ("Failed", "ReconcileFailed", None)
    assert stage.sandbox.started == []


async def test_a_call_that_waited_is_given_what_the_secret_holds_when_it_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(equipping, "FRESH_SECONDS", -1.0)
    stage = having()

    def changes() -> None:
        stage.broker.values["default/github/token"] = TOKEN[::-1] if len(stage.broker.asked) > 1 else TOKEN

    stage.broker.before = changes

    await stage.carry(asking())

    (request,) = stage.sandbox.started
    assert request.credentials is not None
    assert request.credentials.env["GH_TOKEN"].reveal() == TOKEN[::-1]


async def test_a_call_that_need_not_wait_asks_once() -> None:
    stage = having()

    await stage.carry(asking())

    assert len(stage.broker.asked) == 1


async def test_the_class_says_how_calls_with_credentials_are_kept_from_others() -> None:
    told = examples.session_class(credentials={"workspace": "ReadOnly", "exclusive": True}, redaction="Off")
    stage = having(world=World(examples.session(), told))

    await stage.carry(asking())

    carried = stage.sandbox.started[0].credentials
    assert carried is not None
    assert (carried.workspace, carried.exclusive, carried.redacted) == ("ReadOnly", True, False)


async def test_a_variable_of_the_session_gives_way_to_the_credential() -> None:
    world = World(examples.session(defaultEnv={"GH_TOKEN": "none", "LANG": "C"}), examples.session_class())
    stage = having(world=world)

    await stage.carry(asking())

    assert dict(stage.sandbox.started[0].env) == {"LANG": "C"}


# Taken over -----------------------------------------------------------------------------------------------------------
def claimed(stage: Stage) -> ToolCall:
    """The call as an operator leaves it that dies after the claim."""
    call = asking()
    found = validation.plan(call, stage.world)
    assert isinstance(found, Plan)
    dispatch = Dispatch(boot_id=stage.sandbox.boot_id, operator="another", epoch=0, at=stage.now)
    return examples.call(status.started(call, found, dispatch, stage.now), credentials=[GITHUB])


async def test_a_claimed_call_that_nobody_started_is_started_with_its_credentials() -> None:
    stage = having()

    call = await stage.carry(claimed(stage))

    assert ending(call) == ("Succeeded", "ProcessExited", 0)
    (request,) = stage.sandbox.started
    assert request.credentials is not None


async def test_a_claimed_call_that_runs_needs_no_credentials_any_more() -> None:
    stage = having()
    call = claimed(stage)
    async with stage.sandbox.start(requested(stage)):
        pass
    stage.broker.values.clear()

    assert ending(await stage.carry(call)) == ("Succeeded", "ProcessExited", 0)
    assert stage.broker.asked == []
    assert len(stage.sandbox.started) == 1


async def test_a_claimed_call_is_never_started_without_its_credentials() -> None:
    stage = having()
    call = claimed(stage)
    stage.broker.values.clear()

    assert ending(await stage.carry(call)) == ("Failed", "TransportLost", None)
    assert stage.sandbox.started == []


def requested(stage: Stage) -> ExecRequest:
    found = validation.plan(asking(), stage.world)
    assert isinstance(found, Plan)
    return found.request
