"""What is said of AgentIdentities, as their Secrets come, change and go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.sessioncluster import settle
from tests.logged import logged
from tests.unit.api import manifests as api
from tests.unit.sessions.stage import BOT, SessionStage, agent
from toolcall_operator import errors
from toolcall_operator.api import times
from toolcall_operator.api.agentidentity import AgentIdentity, AgentIdentityStatus
from toolcall_operator.core.credentials.secrets import CONSENT
from toolcall_operator.sessions.secretreads import READS_AT_ONCE

VALUE = "hunter2-hunter2"
CONSENTED = {CONSENT: "true"}
OAUTH = {"name": "mail", "type": "oauth", "oauth": {"secretRef": {"name": "mail"}}}


@pytest.fixture(autouse=True)
def no_secret_shows(stage: SessionStage, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever is done, the values of Secrets are in no log, no status and no remark."""
    caplog.set_level(logging.DEBUG)
    yield
    assert VALUE not in f"{logged(caplog)} {stage.cluster.reported_agents} {stage.cluster.remarks}"


def bot(*credentials: dict[str, Any], **fields: Any) -> AgentIdentity:  # noqa: ANN401 (fields of an identity)
    """The AgentIdentity `bot` with these credentials, or with one that is static."""
    return agent(credentials=list(credentials or (api.static_credential(),)), **fields)


def keep(stage: SessionStage, name: str = "forge-token", **data: str) -> None:
    """A Secret is made or changed, by somebody who consents to its use."""
    stage.secrets.put(f"default/{name}", data or {"token": VALUE}, labels=CONSENTED)


async def never() -> None:
    """What is waited for does not come."""
    await asyncio.Event().wait()


def told(stage: SessionStage, name: str = "bot") -> list[str]:
    """What was written of an AgentIdentity, one status after the other."""
    found = [status.conditions for known, status in stage.cluster.reported_agents if known == name]
    return [f"{valid.status}/{valid.reason}" for (valid,) in found]


def reads(stage: SessionStage) -> int:
    """How many reads of Secrets there were."""
    return len(stage.secrets.reads)


async def test_one_whose_credentials_can_be_had_is_valid_and_says_it_once(stage: SessionStage) -> None:
    keep(stage)
    stage.cluster.apply_agent(bot(generation=3))
    await settle()
    stage.controller.touch_agent(BOT)
    await stage.passes(minutes=12)

    ((_, status),) = stage.cluster.reported_agents
    (valid,) = status.conditions
    assert (valid.status, valid.reason, valid.message) == (
        "True",
        "AllReferencesResolve",
        "every Secret and key is there, and may be used",
    )
    assert (status.observed_generation, valid.observed_generation) == (3, 3)
    assert stage.cluster.remarks == []


async def test_a_secret_that_comes_later_is_found_within_half_a_minute(stage: SessionStage) -> None:
    stage.cluster.apply_agent(bot())
    await stage.passes(seconds=20)
    keep(stage)
    await stage.passes(seconds=11)

    assert told(stage) == ["False/SecretMissing", "True/AllReferencesResolve"]
    ((reason, message),) = stage.cluster.remarks
    assert reason == "SecretMissing"
    assert "default/forge-token" in message


async def test_a_secret_that_goes_is_missed_within_five_minutes(stage: SessionStage) -> None:
    keep(stage)
    stage.cluster.apply_agent(bot())
    await settle()

    stage.secrets.remove("default/forge-token")
    await stage.passes(minutes=5, seconds=1)

    assert told(stage) == ["True/AllReferencesResolve", "False/SecretMissing"]


async def test_a_token_that_ends_is_noticed_when_it_does(stage: SessionStage) -> None:
    ends = stage.time.now().replace(microsecond=0).replace(minute=2)
    keep(stage, "mail", access_token=VALUE, expires_at=times.render(ends))
    stage.cluster.apply_agent(bot(OAUTH))
    await settle()

    await stage.passes(minutes=2, seconds=1)

    assert told(stage) == ["True/AllReferencesResolve", "False/AgentCredentialExpired"]


async def test_what_is_known_is_not_read_again_for_every_touch(stage: SessionStage) -> None:
    keep(stage)
    stage.cluster.apply_agent(bot())
    await settle()
    before = reads(stage)

    for _ in range(5):
        stage.controller.touch_agent(BOT)
        await settle()

    assert (before, reads(stage)) == (1, 1)


async def test_another_spec_is_judged_at_once(stage: SessionStage) -> None:
    keep(stage)
    stage.cluster.apply_agent(bot())
    await settle()

    stage.cluster.apply_agent(bot(OAUTH, generation=2))
    await settle()

    assert told(stage)[-1] == "False/SecretMissing"


async def test_secrets_are_read_in_the_namespace_of_the_identity(stage: SessionStage) -> None:
    keep(stage)
    stage.cluster.apply_agent(bot(namespace="other"))
    await settle()

    assert stage.secrets.reads == ["other/forge-token"]
    assert told(stage) == ["False/SecretMissing"]


async def test_where_a_policy_watches_over_secrets_no_label_is_needed(stage: SessionStage) -> None:
    stage.secrets.put("default/forge-token", {"token": VALUE})
    stage.cluster.apply_agent(bot())
    await settle()
    await stage.another_leads(consent_required=False)

    assert told(stage) == ["False/CredentialSourceForbidden", "True/AllReferencesResolve"]


# Trouble --------------------------------------------------------------------------------------------------------------
async def test_a_read_that_fails_for_a_moment_is_not_worth_a_word(stage: SessionStage) -> None:
    keep(stage)
    stage.secrets.fail("read", "default/forge-token", *[errors.Unavailable("away")] * 3)
    stage.cluster.apply_agent(bot())

    await stage.passes(seconds=5)

    assert told(stage) == ["True/AllReferencesResolve"]


async def test_one_that_goes_on_failing_makes_the_verdict_unknown_until_it_does_not(stage: SessionStage) -> None:
    stage.secrets.forbidden.add(("read", "default/forge-token"))
    stage.cluster.apply_agent(bot())
    await stage.passes(seconds=20)
    stage.secrets.forbidden.clear()
    keep(stage)
    await stage.passes(seconds=30)

    assert told(stage) == ["Unknown/SecretUnreadable", "True/AllReferencesResolve"]
    ((_, first), _) = stage.cluster.reported_agents
    assert "may not read Secret default/forge-token" in first.conditions[0].message


async def test_a_secret_that_is_slow_delays_no_other_identity(stage: SessionStage) -> None:
    keep(stage)
    for number in range(READS_AT_ONCE - 1):
        stage.secrets.before("read", f"default/slow-{number}", never)
        stage.cluster.apply_agent(bot(_static(f"slow-{number}"), name=f"slow-{number}"))
    await settle()

    stage.cluster.apply_agent(bot())
    await settle()

    assert told(stage) == ["True/AllReferencesResolve"]


async def test_a_failing_one_delays_no_other_identity(stage: SessionStage) -> None:
    keep(stage)
    stage.secrets.forbidden.add(("read", "default/bad"))
    stage.cluster.apply_agent(bot(_static("bad"), name="bad"))
    stage.cluster.apply_agent(bot())
    await settle()

    assert (told(stage, "bad"), told(stage)) == ([], ["True/AllReferencesResolve"])


async def test_the_verdict_is_written_when_it_can_be(stage: SessionStage) -> None:
    keep(stage)
    stage.cluster.faults["report_judged"] = [errors.Unavailable("away"), errors.Rejected("not now")]
    stage.cluster.apply_agent(bot())

    await stage.passes(seconds=10)

    assert told(stage) == ["True/AllReferencesResolve"]


# Objects --------------------------------------------------------------------------------------------------------------
async def test_one_that_cannot_be_read_says_why_until_it_is_mended(stage: SessionStage) -> None:
    keep(stage)
    stage.cluster.apply_agent(bot())
    await settle()
    why = "spec.credentials[0].type is required"
    stage.cluster.garble_agent(BOT, why)
    await settle()
    stage.cluster.garble_agent(BOT)
    await settle()

    assert told(stage) == ["True/AllReferencesResolve", "False/SpecInvalid", "True/AllReferencesResolve"]
    assert stage.cluster.remarks == [("SpecInvalid", why)]


async def test_a_verdict_that_somebody_else_overwrites_is_written_again_without_a_read(stage: SessionStage) -> None:
    keep(stage)
    stage.cluster.apply_agent(bot())
    await settle()

    stage.cluster.apply_agent(bot().model_copy(update={"status": AgentIdentityStatus()}))
    await settle()

    assert told(stage) == ["True/AllReferencesResolve"] * 2
    assert reads(stage) == 1


async def test_one_that_is_deleted_is_not_looked_at_any_more_and_one_that_is_made_anew_is(stage: SessionStage) -> None:
    keep(stage)
    stage.cluster.apply_agent(bot())
    await settle()
    stage.cluster.remove_agent(BOT)
    await stage.passes(minutes=12)
    after_the_end = reads(stage)

    stage.cluster.apply_agent(bot())
    await settle()

    assert (after_the_end, reads(stage)) == (1, 2)
    assert told(stage) == ["True/AllReferencesResolve"] * 2


async def test_another_leader_writes_nothing_that_stands_there_already(stage: SessionStage) -> None:
    keep(stage)
    stage.cluster.apply_agent(bot())
    await settle()

    await stage.another_leads()

    assert told(stage) == ["True/AllReferencesResolve"]
    assert reads(stage) == 2


async def test_nothing_goes_on_after_the_end(stage: SessionStage) -> None:
    stage.cluster.apply_agent(bot())
    await settle()
    await stage.controller.stop()
    before = reads(stage)

    await stage.passes(minutes=10)
    stage.controller.touch_agent(BOT)
    await settle()

    assert reads(stage) == before


def _static(secret: str) -> dict[str, Any]:
    """A static credential that is kept in a Secret."""
    return api.static_credential(static={"secretRef": {"name": secret, "key": "token"}})
