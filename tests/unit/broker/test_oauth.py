"""An access token is used until its end is near, and renewed once, however many need it."""

from __future__ import annotations

import asyncio
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
from tests.unit.stage import until
from toolcall_operator import errors
from toolcall_operator.core.credentials.secrets import REFRESH_MATERIAL
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Request
from toolcall_operator.core.reasons import Reason

SECOND = timedelta(seconds=1)


async def test_a_token_without_an_end_is_used_as_it_is(desk: Desk) -> None:
    desk.keeps(access_token=OLD)

    assert await desk.value(oauth()) == OLD
    assert desk.secrets.reads == [PLACE]
    assert desk.egress.sent == []


@pytest.mark.parametrize(
    ("left", "token"),
    (
        (MINUTE + SECOND, OLD),
        (MINUTE, NEW),
        (SECOND, NEW),
        (timedelta(), NEW),
        (-MINUTE, NEW),
    ),
    ids=("more than a minute left", "a minute left", "a second left", "it ends now", "it ended"),
)
async def test_a_token_counts_as_expired_a_minute_before_its_end(desk: Desk, left: timedelta, token: str) -> None:
    desk.keeps_expiring(left=left)
    desk.grants(access_token=NEW, expires_in=3600)

    assert await desk.value(oauth()) == token


async def test_an_identity_says_how_early_its_tokens_are_renewed(desk: Desk) -> None:
    desk.keeps_expiring(left=10 * MINUTE)
    desk.grants(access_token=NEW, expires_in=3600)

    assert await desk.value(oauth(early=timedelta())) == OLD
    assert await desk.value(oauth(early=10 * MINUTE)) == NEW


async def test_who_renews_early_and_who_renews_late_share_a_renewal(desk: Desk) -> None:
    desk.keeps_expiring(left=MINUTE)
    desk.grants(access_token=NEW, refresh_token=ROTATED, expires_in=3600)

    outcomes = await asyncio.gather(*(desk.value(oauth(early=early * MINUTE)) for early in range(1, 11)))

    assert list(outcomes) == [NEW] * 10
    assert len(desk.forms) == 1
    assert len(desk.secrets.writes) == 1


async def test_a_renewed_token_is_used_by_the_next_call(desk: Desk) -> None:
    desk.keeps_expiring()
    desk.grants(access_token=NEW, expires_in=3600)

    assert [await desk.value(oauth()), await desk.value(oauth())] == [NEW, NEW]
    assert len(desk.forms) == 1


async def test_fifty_calls_at_the_instant_of_expiry_cause_one_request_and_one_write(desk: Desk) -> None:
    desk.keeps_expiring()
    desk.grants(access_token=NEW, refresh_token=ROTATED, expires_in=3600)

    outcomes = await asyncio.gather(*(desk.resolve(oauth()) for _ in range(50)))

    assert outcomes == [(Hidden(NEW),)] * 50
    assert len(desk.forms) == 1
    assert len(desk.secrets.writes) == 1


async def test_calls_that_come_while_a_renewal_is_under_way_cause_no_other(desk: Desk) -> None:
    desk.keeps_expiring()
    desk.grants(access_token=NEW, refresh_token=ROTATED, expires_in=3600)

    async def late(turns: int) -> str:
        for _ in range(turns):
            await asyncio.sleep(0)
        return await desk.value(oauth())

    assert await asyncio.gather(*(late(turns) for turns in range(50))) == [NEW] * 50
    assert len(desk.forms) == 1
    assert len(desk.secrets.writes) == 1


async def test_the_first_who_asked_may_be_canceled_and_the_others_get_theirs(desk: Desk) -> None:
    desk.keeps_expiring()
    go = asyncio.Event()

    async def slow(_: Request) -> Answer:
        await go.wait()
        return answer(access_token=NEW, expires_in=3600)

    desk.egress.script(ENDPOINT, slow)
    first, second = (asyncio.create_task(desk.value(oauth())) for _ in range(2))
    await until(lambda: desk.egress.sent)

    first.cancel()
    await asyncio.sleep(0)
    go.set()

    assert await second == NEW
    assert len(desk.forms) == 1


async def test_a_renewal_whose_askers_are_all_gone_is_written(desk: Desk) -> None:
    desk.keeps_expiring()
    go = asyncio.Event()

    async def slow(_: Request) -> Answer:
        await go.wait()
        return answer(access_token=NEW, refresh_token=ROTATED, expires_in=3600)

    desk.egress.script(ENDPOINT, slow)
    only = asyncio.create_task(desk.value(oauth()))
    await until(lambda: desk.egress.sent)
    only.cancel()
    await asyncio.sleep(0)

    go.set()
    await desk.broker.aclose()

    assert desk.secrets.text(PLACE)["refresh_token"] == ROTATED


@pytest.mark.parametrize(
    "trouble",
    (Answer(401), Answer(503), Answer(200), errors.Unavailable("idp.example does not answer"), errors.Denied("no")),
    ids=str,
)
async def test_a_token_that_is_still_good_is_used_when_it_cannot_be_renewed(
    desk: Desk, trouble: Answer | errors.OperatorError
) -> None:
    desk.keeps_expiring(left=SECOND)
    desk.egress.script(ENDPOINT, trouble)

    assert await desk.value(oauth()) == OLD
    assert desk.secrets.writes == []


async def test_a_token_that_is_still_good_is_used_when_nothing_can_renew_it(desk: Desk) -> None:
    desk.keeps_expiring(left=SECOND, refresh_token="")

    assert await desk.value(oauth()) == OLD


async def test_calls_do_not_wait_again_and_again_for_an_endpoint_in_trouble_while_the_token_is_good(
    desk: Desk,
) -> None:
    desk.keeps_expiring(left=MINUTE)
    desk.egress.script(ENDPOINT, Answer(401))

    assert [await desk.value(oauth()) for _ in range(3)] == [OLD] * 3
    assert len(desk.forms) == 1

    desk.passes(15 * SECOND)
    assert await desk.value(oauth()) == OLD
    assert len(desk.forms) == 2


async def test_a_secret_that_was_changed_is_tried_at_once(desk: Desk) -> None:
    desk.keeps_expiring(left=MINUTE)
    desk.egress.script(ENDPOINT, Answer(401), answer(access_token=NEW))
    assert await desk.value(oauth()) == OLD

    desk.keeps_expiring(left=MINUTE, refresh_token=ROTATED)

    assert await desk.value(oauth()) == NEW


async def test_a_token_that_ends_while_its_endpoint_rests_is_not_used(desk: Desk) -> None:
    desk.keeps_expiring(left=SECOND)
    desk.egress.script(ENDPOINT, Answer(401))
    assert await desk.value(oauth()) == OLD

    desk.passes(SECOND)

    assert (await desk.refusal(oauth())).reason == Reason.CREDENTIAL_EXPIRED


async def test_a_new_token_is_used_however_short_its_life_is(desk: Desk) -> None:
    desk.keeps_expiring()
    desk.grants(access_token=NEW, expires_in=30)

    assert await desk.value(oauth()) == NEW
    assert len(desk.forms) == 1


async def test_an_endpoint_whose_tokens_never_last_long_enough_is_not_asked_by_every_call(desk: Desk) -> None:
    desk.keeps_expiring()
    desk.egress.script(ENDPOINT, *(answer(access_token=f"{NEW}-{number}", expires_in=30) for number in range(3)))

    assert await desk.value(oauth()) == f"{NEW}-0"
    desk.passes(12 * SECOND)
    assert await desk.value(oauth()) == f"{NEW}-0"
    desk.passes(3 * SECOND)
    assert await desk.value(oauth()) == f"{NEW}-1"


async def test_an_end_that_is_no_time_is_refused_and_not_repeated(desk: Desk) -> None:
    desk.keeps_expiring(expires_at="s3cr3t o'clock")

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_INVALID
    assert "expires_at" in refused.message
    assert desk.egress.sent == []


async def test_a_secret_without_an_access_token_is_refused(desk: Desk) -> None:
    desk.keeps(refresh_token=REFRESH)

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_UNRESOLVED
    assert "access_token" in refused.message


async def test_what_is_let_be_used_by_others_meanwhile_is_judged_anew(desk: Desk) -> None:
    """The Secret is read again before it is renewed; whoever keeps it has withdrawn it by then."""
    desk.keeps_expiring()
    desk.grants(access_token=NEW)

    def withdrawn() -> None:
        desk.secrets.put(PLACE, {"access_token": PEERS}, labels={})

    desk.secrets.before("read", PLACE, lambda: None, withdrawn)

    assert (await desk.refusal(oauth())).reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN
    assert desk.egress.sent == []


async def test_another_secret_of_the_same_name_is_judged_anew(desk: Desk) -> None:
    desk.keeps_expiring()

    def replaced() -> None:
        desk.secrets.remove(PLACE)
        desk.secrets.put(PLACE, {"access_token": PEERS})

    desk.secrets.before("read", PLACE, lambda: None, replaced)

    assert (await desk.refusal(oauth())).reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN


async def test_trouble_with_the_api_server_is_for_the_caller_to_try_again(desk: Desk) -> None:
    desk.keeps_expiring(token_endpoint="")
    desk.keeps_material(token_endpoint=ENDPOINT, labels=(REFRESH_MATERIAL,))
    desk.secrets.fail("read", SIBLING, errors.Unavailable("the API server is down"))
    desk.grants(access_token=NEW)

    with pytest.raises(errors.Unavailable):
        await desk.resolve(oauth())

    assert desk.egress.sent == []
    assert await desk.value(oauth()) == NEW


async def test_a_secret_that_is_deleted_while_its_token_is_renewed_is_missed(desk: Desk) -> None:
    desk.keeps_expiring()

    def deleted(_: Request) -> Answer:
        desk.secrets.remove(PLACE)
        return answer(access_token=NEW, refresh_token=ROTATED)

    desk.egress.script(ENDPOINT, deleted)

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_UNRESOLVED
    assert "Secret default/github is not there" in refused.message
