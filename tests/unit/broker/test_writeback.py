"""What a refresh token was redeemed for is written, unless somebody else was faster; and nothing is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.unit.broker.desk import (
    ENDPOINT,
    MINUTE,
    NEW,
    OLD,
    PEERS,
    PLACE,
    REFRESH,
    ROTATED,
    SIBLING,
    Desk,
    answer,
    oauth,
)
from toolcall_operator import errors
from toolcall_operator.api import times
from toolcall_operator.broker import writeback
from toolcall_operator.broker.reading import Reading
from toolcall_operator.broker.writeback import WriteBack, Writing
from toolcall_operator.core.credentials.secrets import CONSENT
from toolcall_operator.core.exchange import Answer
from toolcall_operator.core.reasons import Reason

GRANTED = answer(access_token=NEW, refresh_token=ROTATED, expires_in=3600)
SECOND = timedelta(seconds=1)
THEIRS = f"theirs-{REFRESH}"


def changes(desk: Desk, place: str = PLACE, **data: str) -> Callable[[], None]:
    """Somebody else changes these keys."""

    def change() -> None:
        desk.secrets.put(place, desk.secrets.text(place) | data)

    return change


@pytest.fixture
def expired(desk: Desk) -> Desk:
    """A token that has expired, and an endpoint that takes its refresh token once."""
    desk.keeps_expiring()
    desk.egress.script(ENDPOINT, GRANTED, Answer(400))
    return desk


async def test_a_change_of_something_else_is_no_matter(expired: Desk) -> None:
    expired.secrets.before("write", PLACE, changes(expired, unrelated="1"))

    assert await expired.value(oauth()) == NEW

    kept = expired.secrets.text(PLACE)
    assert (kept["access_token"], kept["refresh_token"], kept["unrelated"]) == (NEW, ROTATED, "1")


async def test_a_peer_that_renewed_the_token_first_keeps_it(expired: Desk) -> None:
    peer = changes(
        expired, access_token=PEERS, refresh_token=THEIRS, expires_at=times.render(expired.time + 10 * MINUTE)
    )
    expired.secrets.before("write", PLACE, peer)

    assert await expired.value(oauth()) == PEERS

    kept = expired.secrets.text(PLACE)
    assert (kept["access_token"], kept["refresh_token"]) == (PEERS, THEIRS)
    assert len(expired.secrets.writes) == 1


async def test_a_token_of_somebody_who_left_the_used_up_one_is_kept_with_the_one_that_took_its_place(
    expired: Desk,
) -> None:
    peer = changes(expired, access_token=PEERS, expires_at=times.render(expired.time + 10 * MINUTE))
    expired.secrets.before("write", PLACE, peer)

    assert await expired.value(oauth()) == PEERS

    kept = expired.secrets.text(PLACE)
    assert (kept["access_token"], kept["refresh_token"]) == (PEERS, ROTATED)


async def test_a_token_of_a_peer_that_has_expired_too_is_renewed(expired: Desk) -> None:
    expired.egress.script(ENDPOINT, GRANTED, answer(access_token=f"{NEW}-2", expires_in=3600))
    expired.secrets.before("write", PLACE, changes(expired, access_token=PEERS, refresh_token=THEIRS))

    assert await expired.value(oauth()) == f"{NEW}-2"

    assert [form["refresh_token"] for form in expired.forms] == [REFRESH, THEIRS]


async def test_a_second_conflict_refuses_and_the_next_call_writes_first(expired: Desk) -> None:
    expired.secrets.before("write", PLACE, changes(expired, n="1"), changes(expired, n="2"))

    refused = await expired.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_UNRESOLVED
    assert "Secret default/github" in refused.message
    assert expired.secrets.text(PLACE)["refresh_token"] == REFRESH

    assert await expired.value(oauth()) == NEW
    assert expired.secrets.text(PLACE)["refresh_token"] == ROTATED
    assert len(expired.forms) == 1


async def test_a_write_that_fails_is_made_up_for_by_the_next_call(expired: Desk) -> None:
    expired.secrets.fail("write", PLACE, errors.Unavailable("the API server is down"))

    with pytest.raises(errors.Unavailable):
        await expired.resolve(oauth())

    assert await expired.value(oauth()) == NEW
    assert expired.secrets.text(PLACE)["refresh_token"] == ROTATED
    assert len(expired.forms) == 1


async def test_fifty_calls_after_a_write_that_failed_write_once(expired: Desk) -> None:
    expired.secrets.fail("write", PLACE, errors.Unavailable("the API server is down"))
    with pytest.raises(errors.Unavailable):
        await expired.resolve(oauth())
    expired.secrets.writes.clear()

    assert await asyncio.gather(*(expired.value(oauth()) for _ in range(50))) == [NEW] * 50
    assert len(expired.secrets.writes) == 1


async def test_a_write_whose_answer_was_lost_is_recognised(expired: Desk) -> None:
    expired.secrets.lose_answer(PLACE)

    with pytest.raises(errors.Unavailable):
        await expired.resolve(oauth())

    assert await expired.value(oauth()) == NEW
    assert expired.secrets.text(PLACE)["refresh_token"] == ROTATED
    assert len(expired.forms) == 1


async def test_a_secret_that_may_not_be_written_is_named_and_nothing_is_lost(expired: Desk) -> None:
    expired.secrets.forbidden.add(("write", PLACE))

    for _ in range(2):
        refused = await expired.refusal(oauth())
        assert refused.reason == Reason.CREDENTIAL_UNRESOLVED
        assert "may not write Secret default/github" in refused.message

    expired.secrets.forbidden.clear()
    assert await expired.value(oauth()) == NEW
    assert expired.secrets.text(PLACE)["refresh_token"] == ROTATED
    assert len(expired.forms) == 1


async def test_what_is_owed_is_given_up_when_somebody_else_stored_other_tokens(expired: Desk) -> None:
    expired.secrets.fail("write", PLACE, errors.Unavailable("the API server is down"))
    with pytest.raises(errors.Unavailable):
        await expired.resolve(oauth())

    expired.keeps(access_token=PEERS, refresh_token=THEIRS, token_endpoint=ENDPOINT)

    assert await expired.value(oauth()) == PEERS
    assert expired.secrets.text(PLACE)["refresh_token"] == THEIRS


async def test_another_secret_of_the_same_name_is_owed_nothing(expired: Desk) -> None:
    expired.secrets.fail("write", PLACE, errors.Unavailable("the API server is down"))
    with pytest.raises(errors.Unavailable):
        await expired.resolve(oauth())

    expired.secrets.remove(PLACE)
    expired.keeps(access_token=PEERS)

    assert await expired.value(oauth()) == PEERS
    assert expired.secrets.text(PLACE) == {"access_token": PEERS}


async def test_a_secret_that_is_replaced_meanwhile_is_used_as_it_is_then(expired: Desk) -> None:
    def replaced() -> None:
        expired.secrets.remove(PLACE)
        expired.keeps(access_token=PEERS)

    expired.keeps_expiring(left=SECOND)
    expired.secrets.before("write", PLACE, replaced)

    assert await expired.value(oauth()) == PEERS
    assert expired.secrets.text(PLACE) == {"access_token": PEERS}


async def test_a_secret_that_is_replaced_after_a_conflict_is_left_as_it_is(expired: Desk) -> None:
    def replaced() -> None:
        expired.secrets.remove(PLACE)
        expired.keeps(access_token=OLD, refresh_token=REFRESH)

    expired.secrets.before("write", PLACE, changes(expired, unrelated="1"))
    expired.secrets.before("read", PLACE, lambda: None, lambda: None, replaced)

    assert await expired.value(oauth()) == OLD
    assert expired.secrets.text(PLACE) == {"access_token": OLD, "refresh_token": REFRESH}


async def test_a_secret_that_may_not_be_used_any_more_is_not_written(expired: Desk) -> None:
    def withdrawn() -> None:
        expired.secrets.put(PLACE, expired.secrets.text(PLACE), labels={})

    expired.secrets.before("write", PLACE, withdrawn)

    assert (await expired.refusal(oauth())).reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN
    assert expired.secrets.text(PLACE)["refresh_token"] == REFRESH

    expired.secrets.put(PLACE, expired.secrets.text(PLACE), labels={CONSENT: "true"})
    assert await expired.value(oauth()) == NEW
    assert expired.secrets.text(PLACE)["refresh_token"] == ROTATED


async def test_a_token_of_somebody_who_does_not_let_it_be_used_is_not_used(expired: Desk) -> None:
    def withdrawn() -> None:
        theirs = {"access_token": PEERS, "refresh_token": THEIRS}
        expired.secrets.put(PLACE, theirs, labels={})

    expired.secrets.before("write", PLACE, withdrawn)

    assert (await expired.refusal(oauth())).reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN
    assert expired.secrets.text(PLACE) == {"access_token": PEERS, "refresh_token": THEIRS}


async def test_what_is_owed_is_written_also_when_the_token_in_the_secret_is_good_enough(expired: Desk) -> None:
    expired.keeps_expiring(left=5 * MINUTE)
    expired.secrets.fail("write", PLACE, errors.Unavailable("the API server is down"))
    with pytest.raises(errors.Unavailable):
        await expired.resolve(oauth(early=10 * MINUTE))

    assert await expired.value(oauth(early=MINUTE)) == NEW
    assert expired.secrets.text(PLACE)["refresh_token"] == ROTATED


async def test_of_two_writes_the_one_that_failed_is_made_up_for(desk: Desk) -> None:
    desk.keeps(access_token=OLD, expires_at=times.render(desk.time))
    desk.keeps_material(token_endpoint=ENDPOINT, refresh_token=REFRESH)
    desk.egress.script(ENDPOINT, GRANTED, Answer(400))
    desk.secrets.fail("write", PLACE, errors.Unavailable("the API server is down"))

    with pytest.raises(errors.Unavailable):
        await desk.resolve(oauth())
    assert desk.secrets.text(SIBLING)["refresh_token"] == ROTATED

    assert await desk.value(oauth()) == NEW
    assert desk.secrets.text(PLACE)["access_token"] == NEW
    assert [place for place, _ in desk.secrets.writes] == [SIBLING, PLACE, PLACE]


async def test_a_sibling_that_is_gone_is_not_missed(desk: Desk) -> None:
    desk.keeps(access_token=OLD, expires_at=times.render(desk.time))
    desk.keeps_material(token_endpoint=ENDPOINT, refresh_token=REFRESH)
    desk.egress.script(ENDPOINT, GRANTED)
    desk.secrets.before("write", SIBLING, lambda: desk.secrets.remove(SIBLING))

    assert await desk.value(oauth()) == NEW
    assert desk.secrets.text(PLACE)["access_token"] == NEW


async def test_what_is_owed_is_written_when_the_broker_closes(expired: Desk) -> None:
    expired.secrets.fail("write", PLACE, errors.Unavailable("the API server is down"))
    with pytest.raises(errors.Unavailable):
        await expired.resolve(oauth())

    await expired.broker.aclose()

    assert expired.secrets.text(PLACE)["refresh_token"] == ROTATED


async def test_a_broker_closes_although_nothing_can_be_written(expired: Desk) -> None:
    expired.secrets.fail("write", PLACE, *[errors.Unavailable("the API server is down")] * 2)
    with pytest.raises(errors.Unavailable):
        await expired.resolve(oauth())

    await expired.broker.aclose()

    assert expired.secrets.text(PLACE)["refresh_token"] == REFRESH


async def test_what_is_owed_does_not_pile_up_and_what_is_given_up_is_told(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writeback, "ROOM", 2)
    owing = WriteBack(desk.secrets, Reading(desk.secrets))
    kept = [desk.keeps(f"default/{number}", access_token=OLD) for number in range(3)]

    for secret in kept:
        owing.owe(secret, [Writing(secret, {"access_token": NEW.encode()})])

    assert [owing.owes(secret) for secret in kept] == [False, True, True]
    (line,) = (record.getMessage() for record in caplog.records if record.levelno == logging.ERROR)
    assert "default/0" in line
