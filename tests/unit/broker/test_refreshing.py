"""What a token is renewed with, what the endpoint is sent, and what nobody is sent."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tests.unit.broker.desk import (
    CLIENT_SECRET,
    ENDPOINT,
    MARK,
    NEW,
    OLD,
    PLACE,
    REFRESH,
    ROTATED,
    SIBLING,
    Desk,
    answer,
    oauth,
    static,
)
from toolcall_operator.api import times
from toolcall_operator.broker.refreshing import MEMORY
from toolcall_operator.core.credentials.secrets import CONSENT, REFRESH_MATERIAL
from toolcall_operator.core.exchange import Answer, Request
from toolcall_operator.core.reasons import Reason
from toolcall_operator.errors import Denied, Unavailable

OTHER = "default/gitlab"


async def test_the_refresh_token_is_redeemed_and_what_came_is_written(desk: Desk) -> None:
    desk.keeps_expiring(unrelated="stays")
    desk.grants(access_token=NEW, refresh_token=ROTATED, expires_in=3600)

    assert await desk.value(oauth()) == NEW

    assert desk.forms == [{"grant_type": "refresh_token", "refresh_token": REFRESH, "client_id": "me"}]
    assert desk.secrets.text(PLACE) == {
        "access_token": NEW,
        "expires_at": "2026-01-31T13:00:00Z",
        "refresh_token": ROTATED,
        "token_endpoint": ENDPOINT,
        "client_id": "me",
        "unrelated": "stays",
    }


async def test_only_the_keys_that_change_are_written(desk: Desk) -> None:
    desk.keeps_expiring()
    desk.grants(access_token=NEW, expires_in=3600)

    await desk.value(oauth())

    ((place, data),) = desk.secrets.writes
    assert (place, set(data)) == (PLACE, {"access_token", "expires_at"})
    assert desk.secrets.text(PLACE)["refresh_token"] == REFRESH


async def test_a_statement_of_whose_tokens_they_are_is_kept_up_to_date_where_there_is_one(desk: Desk) -> None:
    desk.keeps_expiring(PLACE, id_token=f"old-{MARK}-id")
    desk.keeps_expiring(OTHER, client_id="another")
    desk.grants(access_token=NEW, id_token=f"new-{MARK}-id")

    await asyncio.gather(desk.value(oauth(PLACE)), desk.value(oauth(OTHER)))

    assert desk.secrets.text(PLACE)["id_token"] == f"new-{MARK}-id"
    assert "id_token" not in desk.secrets.text(OTHER)


async def test_a_refresh_token_that_stays_is_not_written(desk: Desk) -> None:
    desk.keeps(access_token=OLD, expires_at=times.render(desk.time))
    desk.keeps_material(token_endpoint=ENDPOINT, refresh_token=REFRESH, labels=(CONSENT, REFRESH_MATERIAL))
    desk.grants(access_token=NEW, refresh_token=REFRESH)

    assert await desk.value(oauth()) == NEW
    assert [place for place, _ in desk.secrets.writes] == [PLACE]


async def test_a_token_whose_end_is_not_told_has_none(desk: Desk) -> None:
    desk.keeps_expiring()
    desk.grants(access_token=NEW)

    await desk.value(oauth())

    assert "expires_at" not in desk.secrets.text(PLACE)


async def test_the_life_of_a_token_counts_from_before_it_was_asked_for(desk: Desk) -> None:
    desk.keeps_expiring()
    asked_at = desk.time

    def slow(_: object) -> Answer:
        desk.passes(MEMORY)
        return answer(access_token=NEW, expires_in=3600)

    desk.egress.script(ENDPOINT, slow)
    await desk.value(oauth())

    ends = times.parse(desk.secrets.text(PLACE)["expires_at"])
    assert (ends - asked_at).total_seconds() == 3600


@pytest.mark.parametrize(
    ("kept", "sent"),
    (
        ({}, {"client_id": "me"}),
        ({"client_secret": CLIENT_SECRET}, {"client_id": "me", "client_secret": CLIENT_SECRET}),
        ({"scope": "repo user"}, {"client_id": "me", "scope": "repo user"}),
        ({"client_id": ""}, {}),
    ),
    ids=("an id", "an id and a secret", "an id and a scope", "neither"),
)
async def test_the_form_has_what_the_secret_has_and_no_empty_field(
    desk: Desk, kept: dict[str, str], sent: dict[str, str]
) -> None:
    desk.keeps_expiring(PLACE, left=timedelta(), **kept)
    desk.grants(access_token=NEW)

    await desk.value(oauth())

    assert desk.forms == [{"grant_type": "refresh_token", "refresh_token": REFRESH} | sent]


@pytest.mark.parametrize("missing", ("refresh_token", "token_endpoint"))
async def test_a_token_that_nothing_can_renew_has_expired(desk: Desk, missing: str) -> None:
    desk.keeps_expiring(PLACE, left=timedelta(), **{missing: ""})

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_EXPIRED
    assert missing in refused.message
    assert "default/github" in refused.message
    assert desk.egress.sent == []


async def test_a_static_credential_is_never_renewed(desk: Desk) -> None:
    desk.keeps_expiring()

    assert await desk.value(static("access_token")) == OLD
    assert desk.egress.sent == []


@pytest.mark.parametrize("status", (400, 401, 403))
async def test_an_endpoint_that_refuses_leaves_the_secret_as_it_is(desk: Desk, status: int) -> None:
    before = desk.keeps_expiring()
    desk.egress.script(ENDPOINT, Answer(status, body=b'{"error": "s3cr3t"}'))

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_EXPIRED
    assert str(status) in refused.message
    assert desk.secrets.kept[PLACE] == before
    assert len(desk.forms) == 1


@pytest.mark.parametrize(
    ("trouble", "words"),
    (
        (Answer(500), "500"),
        (Answer(429), "429"),
        (Answer(302), "302"),
        (Answer(200, body=b"s3cr3t"), "nothing usable"),
        (Unavailable("idp.example refuses connections"), "as a whole: idp.example refuses connections"),
        (Denied("its address is private"), "may speak to: its address is private"),
    ),
    ids=str,
)
async def test_an_endpoint_in_trouble_is_told_by_name_and_status(
    desk: Desk, trouble: Answer | Unavailable | Denied, words: str
) -> None:
    before = desk.keeps_expiring()
    desk.egress.script(ENDPOINT, trouble)

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_UNRESOLVED
    assert words in refused.message
    assert "Secret default/github" in refused.message
    assert desk.secrets.kept[PLACE] == before


async def test_without_consent_nothing_is_sent(desk: Desk) -> None:
    lenient = Desk(consent_required=False, secrets=desk.secrets, egress=desk.egress, outcomes=desk.outcomes)
    lenient.keeps_expiring()
    lenient.secrets.put(PLACE, desk.secrets.kept[PLACE].data, labels={})

    refused = await lenient.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN
    assert CONSENT in refused.message
    assert desk.egress.sent == []


async def test_what_could_not_be_written_is_not_redeemed(desk: Desk) -> None:
    desk.keeps_expiring()
    desk.secrets.put(PLACE, desk.secrets.kept[PLACE].data, immutable=True)

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_EXPIRED
    assert "cannot be written to" in refused.message
    assert desk.egress.sent == []


async def test_two_secrets_with_one_refresh_token_cause_one_request_and_both_are_written(desk: Desk) -> None:
    for place in (PLACE, OTHER):
        desk.keeps_expiring(place)
    granted = answer(access_token=NEW, refresh_token=ROTATED, expires_in=3600)

    async def slow(_: Request) -> Answer:
        for _turn in range(20):
            await asyncio.sleep(0)
        return granted

    desk.egress.script(ENDPOINT, slow, Answer(400))

    outcomes = await asyncio.gather(desk.value(oauth(PLACE)), desk.value(oauth(OTHER)))

    assert list(outcomes) == [NEW, NEW]
    assert len(desk.forms) == 1
    for place in (PLACE, OTHER):
        assert desk.secrets.text(place)["access_token"] == NEW
        assert desk.secrets.text(place)["refresh_token"] == ROTATED
        assert desk.secrets.text(place)["expires_at"] == "2026-01-31T13:00:00Z"


async def test_one_that_comes_a_moment_later_gets_the_same_and_later_nothing_is_remembered(desk: Desk) -> None:
    for place in (PLACE, OTHER):
        desk.keeps_expiring(place)
    desk.egress.script(ENDPOINT, answer(access_token=NEW, refresh_token=ROTATED), Answer(400))

    assert [await desk.value(oauth(PLACE)), await desk.value(oauth(OTHER))] == [NEW, NEW]

    desk.keeps_expiring(OTHER)
    desk.passes(MEMORY)
    assert (await desk.refusal(oauth(OTHER))).reason == Reason.CREDENTIAL_EXPIRED


async def test_another_client_redeems_for_itself(desk: Desk) -> None:
    desk.keeps_expiring(PLACE)
    desk.keeps_expiring(OTHER, client_id="another")
    desk.grants(access_token=NEW)

    await asyncio.gather(desk.value(oauth(PLACE)), desk.value(oauth(OTHER)))

    assert len(desk.forms) == 2


async def test_a_labelled_sibling_holds_what_renews_the_token(desk: Desk) -> None:
    desk.keeps(access_token=OLD, expires_at=times.render(desk.time), refresh_token=REFRESH)
    desk.keeps_material(token_endpoint=ENDPOINT, client_id="theirs", client_secret=CLIENT_SECRET)
    desk.grants(access_token=NEW, refresh_token=ROTATED)

    assert await desk.value(oauth()) == NEW

    (sent,) = desk.forms
    assert (sent["client_id"], sent["client_secret"], sent["refresh_token"]) == ("theirs", CLIENT_SECRET, REFRESH)
    assert desk.secrets.text(PLACE) == {"access_token": NEW, "refresh_token": ROTATED}
    assert "refresh_token" not in desk.secrets.text(SIBLING)


async def test_a_refresh_token_goes_back_to_the_sibling_it_came_from(desk: Desk) -> None:
    desk.keeps(access_token=OLD, expires_at=times.render(desk.time))
    desk.keeps_material(token_endpoint=ENDPOINT, refresh_token=REFRESH)
    desk.grants(access_token=NEW, refresh_token=ROTATED)

    assert await desk.value(oauth()) == NEW

    assert desk.secrets.text(PLACE) == {"access_token": NEW}
    assert desk.secrets.text(SIBLING) == {"token_endpoint": ENDPOINT, "refresh_token": ROTATED}
    assert [place for place, _ in desk.secrets.writes] == [SIBLING, PLACE]


async def test_a_sibling_that_would_be_written_needs_consent_too(desk: Desk) -> None:
    desk.keeps(access_token=OLD, expires_at=times.render(desk.time))
    desk.keeps_material(token_endpoint=ENDPOINT, refresh_token=REFRESH, labels=(REFRESH_MATERIAL,))

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN
    assert "default/github-refresh" in refused.message
    assert desk.egress.sent == []


async def test_a_token_is_not_renewed_where_its_sibling_alone_may_be_written(desk: Desk) -> None:
    lenient = Desk(consent_required=False, secrets=desk.secrets, egress=desk.egress, outcomes=desk.outcomes)
    lenient.secrets.put(PLACE, {"access_token": OLD, "expires_at": times.render(desk.time)})
    lenient.keeps_material(token_endpoint=ENDPOINT, refresh_token=REFRESH)

    refused = await lenient.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN
    assert "Secret default/github does not carry" in refused.message
    assert desk.egress.sent == []


async def test_a_sibling_of_a_kind_that_is_never_used_is_refused(desk: Desk) -> None:
    desk.keeps_expiring(token_endpoint="")
    desk.keeps_material(token_endpoint=ENDPOINT, refresh_token=REFRESH)
    desk.secrets.put(SIBLING, desk.secrets.kept[SIBLING].data, type="helm.sh/release.v1")

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN
    assert desk.egress.sent == []


async def test_a_sibling_that_is_only_read_needs_none(desk: Desk) -> None:
    desk.keeps_expiring()
    desk.keeps_material(token_endpoint=ENDPOINT, client_id="theirs", labels=(REFRESH_MATERIAL,))
    desk.grants(access_token=NEW)

    assert await desk.value(oauth()) == NEW


async def test_a_sibling_without_the_label_is_passed_over(desk: Desk) -> None:
    desk.keeps_expiring()
    desk.keeps_material(token_endpoint="https://evil.example", client_id="theirs", labels=(CONSENT,))
    desk.grants(access_token=NEW)

    assert await desk.value(oauth()) == NEW
    assert desk.forms[0]["client_id"] == "me"


async def test_a_sibling_that_may_not_be_read_is_not_passed_over(desk: Desk) -> None:
    desk.keeps_expiring(token_endpoint="")
    desk.secrets.forbidden.add(("read", SIBLING))

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_UNRESOLVED
    assert "may not read Secret default/github-refresh" in refused.message
    assert desk.egress.sent == []


async def test_no_secret_of_one_is_sent_to_the_endpoint_of_the_other(desk: Desk) -> None:
    """Whoever may write one of the two would have what is in the other sent to himself."""
    desk.keeps_expiring(token_endpoint="https://evil.example", client_id="", refresh_token="")
    desk.keeps_material(refresh_token=REFRESH, client_id="theirs", client_secret=CLIENT_SECRET)

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_EXPIRED
    assert desk.egress.sent == []


async def test_beside_a_secret_that_is_whole_nobodys_sibling_counts(desk: Desk) -> None:
    """Whoever may make a Secret, and not read this one, would have its refresh token sent to himself."""
    desk.keeps_expiring()
    desk.keeps_material(token_endpoint="https://evil.example", labels=(REFRESH_MATERIAL, CONSENT))
    desk.grants(access_token=NEW)

    assert await desk.value(oauth()) == NEW
    assert {request.url for request in desk.egress.sent} == {ENDPOINT}


async def test_a_grant_is_not_remembered_for_another_scope_or_longer_than_it_is_good(desk: Desk) -> None:
    desk.keeps_expiring(scope="read")
    desk.grants(access_token=NEW, expires_in=5)
    await desk.resolve(oauth())
    asked = len(desk.egress.sent)
    desk.passes(timedelta(seconds=6))

    await desk.resolve(oauth())

    assert len(desk.egress.sent) > asked
