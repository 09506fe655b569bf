"""Each reference of a call becomes a credential as it is now, or the call learns why not."""

from __future__ import annotations

import asyncio
import copy
import pickle

import pytest

from tests.fakes.secrets import owned_by_session
from tests.unit.broker.desk import (
    ENDPOINT,
    MARK,
    NEW,
    OLD,
    PLACE,
    REQUESTER,
    ROTATED,
    SIBLING,
    Desk,
    answer,
    oauth,
    static,
)
from tests.unit.stage import until
from toolcall_operator import errors
from toolcall_operator.broker.broker import CLOSING_SECONDS
from toolcall_operator.core.credentials import injection
from toolcall_operator.core.credentials.references import Reference, Requester
from toolcall_operator.core.credentials.secrets import CONSENT
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Request
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason

TOKEN = f"ghp_{MARK}AbCdEf"
OTHER = "default/gitlab"


async def test_a_static_credential_is_what_stands_under_its_key(desk: Desk) -> None:
    desk.keeps(token=TOKEN)

    (value,) = _values(await desk.resolve(static()))

    reference = Reference("spec.credentials[0]", static(), env_var="GH_TOKEN")
    assert injection.environment([reference], [value]) == {"GH_TOKEN": Hidden(TOKEN)}


async def test_an_access_token_in_a_header_has_what_is_put_before_it(desk: Desk) -> None:
    desk.keeps(access_token=OLD)

    (value,) = _values(await desk.resolve(oauth()))

    reference = Reference("spec.credentials[0]", oauth(), header="Authorization", value_prefix="Bearer ")
    assert injection.headers([reference], [value]) == {"Authorization": Hidden(f"Bearer {OLD}")}


async def test_a_secret_that_was_changed_is_used_as_it_is_since(desk: Desk) -> None:
    desk.keeps(token=TOKEN)
    assert await desk.value(static()) == TOKEN

    desk.keeps(token=f"{TOKEN}-2")

    assert await desk.value(static()) == f"{TOKEN}-2"


async def test_a_line_feed_at_the_end_is_not_part_of_the_value(desk: Desk) -> None:
    desk.keeps(token=f"{TOKEN}\n")

    assert await desk.value(static()) == TOKEN


async def test_several_credentials_come_in_the_order_they_were_asked_for(desk: Desk) -> None:
    desk.keeps(a="1", b="2")
    desk.keeps(OTHER, c="3")

    found = _values(await desk.resolve(static("b"), static("c", OTHER), static("a")))

    assert [value.reveal() for value in found] == ["2", "3", "1"]


async def test_several_credentials_of_one_secret_read_it_once(desk: Desk) -> None:
    desk.keeps(a="1", b="2", c="3")

    await desk.resolve(*(static(key) for key in "abc"))

    assert desk.secrets.reads == [PLACE]


async def test_credentials_are_had_at_the_same_time(desk: Desk) -> None:
    met = asyncio.Barrier(2)

    async def meet() -> None:
        await met.wait()

    for place in (PLACE, OTHER):
        desk.keeps(place, token=TOKEN)
        desk.secrets.before("read", place, meet)

    async with asyncio.timeout(10):
        assert len(_values(await desk.resolve(static(), static("token", OTHER)))) == 2


async def test_no_credentials_are_none(desk: Desk) -> None:
    assert await desk.resolve() == ()


async def test_of_several_refusals_the_first_in_the_order_of_the_call_is_told(desk: Desk) -> None:
    desk.keeps(token=TOKEN)
    desk.keeps_expiring(OTHER)
    desk.egress.script(ENDPOINT, Answer(401))

    outcome = await desk.resolve(static(), oauth(OTHER), static("missing"))

    assert isinstance(outcome, Refused)
    assert outcome.path == "spec.credentials[1]"
    assert outcome.reason == Reason.CREDENTIAL_EXPIRED
    assert outcome.message.startswith("spec.credentials[1]: ")


@pytest.mark.parametrize(
    ("data", "reason", "words"),
    (
        ({"other": TOKEN}, Reason.CREDENTIAL_UNRESOLVED, "has no key token"),
        ({"token": ""}, Reason.CREDENTIAL_INVALID, "key token is empty"),
        ({"token": "\n"}, Reason.CREDENTIAL_INVALID, "key token is empty"),
        ({"token": f"{TOKEN}\n{TOKEN}"}, Reason.CREDENTIAL_INVALID, "control characters"),
        ({"token": TOKEN * 5000}, Reason.CREDENTIAL_INVALID, "bytes"),
    ),
    ids=("no such key", "empty", "a line feed alone", "two lines", "too long"),
)
async def test_a_value_that_cannot_be_used_is_told_by_secret_and_key(
    desk: Desk, data: dict[str, str], reason: Reason, words: str
) -> None:
    desk.keeps(PLACE, **data)

    refused = await desk.refusal(static())

    assert refused.reason == reason
    assert words in refused.message
    assert "default/github" in refused.message


async def test_a_secret_that_is_not_there_is_told(desk: Desk) -> None:
    refused = await desk.refusal(static())

    assert refused == Refused(
        Reason.CREDENTIAL_UNRESOLVED,
        "spec.credentials[0]: Secret default/github is not there",
        "spec.credentials[0]",
    )


async def test_a_secret_the_operator_may_not_read_is_told(desk: Desk) -> None:
    desk.keeps(token=TOKEN)
    desk.secrets.forbidden.add(("read", PLACE))

    refused = await desk.refusal(static())

    assert refused.reason == Reason.CREDENTIAL_UNRESOLVED
    assert "the operator may not read Secret default/github" in refused.message


async def test_trouble_with_the_api_server_is_for_the_caller_to_try_again(desk: Desk) -> None:
    desk.keeps(token=TOKEN)
    desk.secrets.fail("read", PLACE, errors.Unavailable("the API server is down"))

    with pytest.raises(errors.Unavailable):
        await desk.resolve(static())

    assert await desk.value(static()) == TOKEN


async def test_a_secret_of_another_namespace_is_not_even_read(desk: Desk) -> None:
    desk.keeps("other/github", token=TOKEN)

    refused = await desk.refusal(static("token", "other/github"))

    assert refused.reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN
    assert desk.secrets.reads == []


async def test_a_secret_whose_keeper_does_not_consent_is_refused(desk: Desk) -> None:
    desk.secrets.put(PLACE, {"token": TOKEN})

    refused = await desk.refusal(static())

    assert refused.reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN
    assert CONSENT in refused.message


async def test_where_an_admission_policy_has_judged_no_label_is_needed(desk: Desk) -> None:
    judged = Desk(consent_required=False, secrets=desk.secrets, outcomes=desk.outcomes)
    judged.secrets.put(PLACE, {"token": TOKEN})

    assert await judged.value(static()) == TOKEN


@pytest.mark.parametrize("consent_required", (True, False))
@pytest.mark.parametrize(
    ("name", "fields"),
    (
        ("github", {"type": "kubernetes.io/service-account-token"}),
        ("github", {"type": "helm.sh/release.v1"}),
        ("github", {"type": "bootstrap.kubernetes.io/token"}),
        ("github", {"owners": owned_by_session("build", "uid-of-another")}),
        ("github", {"owners": owned_by_session("another", REQUESTER.session_uid)}),
        ("another-passthrough-creds", {}),
        ("toolcall-operator-key", {}),
    ),
)
async def test_some_secrets_are_never_used(
    desk: Desk, name: str, fields: dict[str, object], *, consent_required: bool
) -> None:
    asked = Desk(consent_required=consent_required, secrets=desk.secrets, outcomes=desk.outcomes)
    asked.secrets.put(f"default/{name}", {"token": TOKEN}, labels={CONSENT: "true"}, **fields)

    refused = await asked.refusal(static("token", f"default/{name}"))

    assert refused.reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN


async def test_a_secret_of_a_session_is_for_its_own_calls(desk: Desk) -> None:
    place = "default/build-passthrough-creds"
    owners = owned_by_session("build", REQUESTER.session_uid)
    desk.secrets.put(place, {"token": TOKEN}, labels={CONSENT: "true"}, owners=owners)

    assert await desk.value(static("token", place)) == TOKEN

    outcome = await desk.resolve(static("token", place), requester=Requester("default", "another", "uid-of-another"))
    assert isinstance(outcome, Refused)
    assert outcome.reason == Reason.CREDENTIAL_SOURCE_FORBIDDEN


async def test_what_somebody_may_use_is_not_given_to_who_may_not(desk: Desk) -> None:
    """They ask at the same time, and share the read."""
    owners = owned_by_session("build", REQUESTER.session_uid)
    desk.secrets.put(PLACE, {"token": TOKEN}, labels={CONSENT: "true"}, owners=owners)

    theirs, ours = await asyncio.gather(
        desk.resolve(static(), requester=Requester("default", "another", "uid-of-another")), desk.resolve(static())
    )

    assert isinstance(theirs, Refused)
    assert ours == (Hidden(TOKEN),)
    assert len(desk.secrets.reads) == 1


async def test_a_secret_that_changes_again_and_again_is_told(desk: Desk) -> None:
    desk.keeps_expiring()
    numbers = iter(range(3))

    def change() -> None:
        number = next(numbers)
        changed = {"access_token": f"{OLD}-{number}", "refresh_token": f"{ROTATED}-{number}"}
        desk.secrets.put(PLACE, desk.secrets.text(PLACE) | changed)

    desk.secrets.before("write", PLACE, change, change, change)
    desk.grants(access_token=NEW, refresh_token=ROTATED)

    refused = await desk.refusal(oauth())

    assert refused.reason == Reason.CREDENTIAL_UNRESOLVED
    assert "changed again and again" in refused.message
    assert len(desk.forms) == 3


async def test_a_broker_closes_in_time_whatever_is_under_way(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcall_operator.broker.broker.CLOSING_SECONDS", 0.01)
    desk.keeps_expiring()

    async def never(_: Request) -> Answer:
        await asyncio.Event().wait()
        return answer()

    desk.egress.script(ENDPOINT, never)
    asking = asyncio.create_task(desk.resolve(oauth()))
    await until(lambda: desk.egress.sent)

    await desk.broker.aclose()

    assert CLOSING_SECONDS > 1
    assert not asking.done()
    asking.cancel()


async def test_a_credential_is_written_nowhere(desk: Desk) -> None:
    desk.keeps(token=TOKEN)
    (value,) = _values(await desk.resolve(static()))

    assert MARK not in f"{value} {value!r} {value:>40} {[value]} {vars(desk.broker)!r}"
    for kept in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="not kept"):
            kept(value)


async def test_nothing_is_read_that_was_not_asked_for(desk: Desk) -> None:
    desk.keeps(token=TOKEN)
    desk.keeps(access_token=OLD)

    await desk.value(oauth())

    assert SIBLING not in desk.secrets.reads


def _values(outcome: tuple[Hidden, ...] | Refused) -> tuple[Hidden, ...]:
    assert not isinstance(outcome, Refused), outcome
    return outcome
