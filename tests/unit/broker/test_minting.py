"""What is made of a Secret is kept until its end is near or the Secret changes, and made once for all who ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from tests.unit.broker.desk import ENDPOINT, MARK, MINUTE, NEW, OLD, PLACE, SIBLING, Desk
from tests.unit.stage import until
from toolcall_operator import errors
from toolcall_operator.broker.minted import Minted
from toolcall_operator.broker.minting import Minting
from toolcall_operator.broker.oauth import REST, OAuth
from toolcall_operator.broker.reading import Reading
from toolcall_operator.broker.refreshing import Refreshing
from toolcall_operator.broker.writeback import WriteBack
from toolcall_operator.core.credentials.references import Kind, Source
from toolcall_operator.core.credentials.secrets import SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason

OTHER = "default/gitlab"
APP = Source(Kind.GITHUB_APP, "default", "github")
ELSEWHERE = Source(Kind.GITHUB_APP, "default", "gitlab")
FEDERATED = Source(Kind.FEDERATED, "default", "github", resource="https://r", resource_server_url="https://r")
DOWN = Refused(Reason.CREDENTIAL_UNRESOLVED, "the mint answered with status 503")


@dataclass
class Mint:
    """Makes a numbered token, or says what it was told to; remembers of what it was to make one."""

    desk: Desk
    life: timedelta = timedelta(hours=1)
    made_of: list[tuple[Source, str, Hidden | None]] = field(default_factory=list)
    refuses: Refused | None = None
    meanwhile: Callable[[], Awaitable[object] | None] = lambda: None

    async def __call__(self, source: Source, secret: SecretObject, subject: Hidden | None) -> Minted | Refused:
        self.made_of.append((source, secret.resource_version, subject))
        number = len(self.made_of)
        await asyncio.sleep(0)
        if happening := self.meanwhile():
            await happening
        return self.refuses or Minted(Hidden(f"{MARK}-{number}"), self.desk.time + self.life)


@dataclass
class Shop:
    """Where minted credentials are asked for, each after a read of its Secret, as the broker does."""

    desk: Desk

    def __post_init__(self) -> None:
        now = lambda: self.desk.time  # noqa: E731 (a clock)
        self.mint = Mint(self.desk)
        self.reading = Reading(self.desk.secrets)
        refreshing = Refreshing(self.desk.egress, self.reading, now)
        oauth = OAuth(self.reading, refreshing, WriteBack(self.desk.secrets, self.reading), now)
        self.minting = Minting(self.reading, oauth, dict.fromkeys(Kind, self.mint), now)

    async def minted(self, source: Source = APP) -> str | Refused:
        secret = await self.reading.needed(source.namespace, source.secret)
        assert isinstance(secret, SecretObject)
        outcome = await self.minting.minted(source, secret)
        self.desk.outcomes.append(outcome)
        return outcome if isinstance(outcome, Refused) else outcome.reveal()


@pytest.fixture
def shop(desk: Desk) -> Shop:
    desk.keeps(**{"private-key": f"{MARK}-key"})
    return Shop(desk)


async def test_what_was_made_is_used_until_a_minute_before_its_end(shop: Shop) -> None:
    assert [await shop.minted(), await shop.minted()] == [f"{MARK}-1"] * 2

    shop.desk.passes(timedelta(minutes=58))
    assert await shop.minted() == f"{MARK}-1"

    shop.desk.passes(MINUTE)
    assert await shop.minted() == f"{MARK}-2"


async def test_every_call_reads_the_secret_once_and_the_mint_is_followed_by_another_look(shop: Shop) -> None:
    await shop.minted()
    assert shop.desk.secrets.reads == [PLACE] * 2

    await shop.minted()
    assert shop.desk.secrets.reads == [PLACE] * 3


async def test_fifty_who_ask_at_once_share_one(shop: Shop) -> None:
    assert await asyncio.gather(*(shop.minted() for _ in range(50))) == [f"{MARK}-1"] * 50
    assert len(shop.mint.made_of) == 1


async def test_the_first_who_asked_may_be_canceled(shop: Shop) -> None:
    go = asyncio.Event()
    shop.mint.meanwhile = go.wait
    first, second = (asyncio.create_task(shop.minted()) for _ in range(2))
    await until(lambda: shop.mint.made_of)

    first.cancel()
    await asyncio.sleep(0)
    go.set()

    assert await second == f"{MARK}-1"


async def test_a_secret_that_changes_outdates_what_was_made_of_it_and_nothing_else(shop: Shop) -> None:
    shop.desk.keeps(OTHER, key="1")
    assert [await shop.minted(), await shop.minted(ELSEWHERE)] == [f"{MARK}-1", f"{MARK}-2"]

    shop.desk.keeps(PLACE, key="2")
    assert [await shop.minted(), await shop.minted(ELSEWHERE)] == [f"{MARK}-3", f"{MARK}-2"]


async def test_a_change_of_a_secret_nobody_uses_is_no_matter(shop: Shop) -> None:
    await shop.minted()

    shop.desk.keeps(OTHER, key="1")

    assert await shop.minted() == f"{MARK}-1"


async def test_another_secret_of_the_same_name_is_another_one(shop: Shop) -> None:
    await shop.minted()

    shop.desk.secrets.remove(PLACE)
    shop.desk.keeps(PLACE, key="2")

    assert await shop.minted() == f"{MARK}-2"


@pytest.mark.parametrize(
    "other",
    (
        Source(Kind.GITHUB_APP, "default", "github", repositories=("one",)),
        Source(Kind.GITHUB_APP, "default", "github", permissions=(("contents", "read"),)),
        Source(Kind.GITHUB_APP, "default", "github", scopes=("repo",)),
        Source(Kind.GITHUB_APP, "default", "github", resource="https://other"),
        Source(Kind.GITHUB_APP, "default", "github", resource_server_url="https://other"),
    ),
    ids=("repositories", "permissions", "scopes", "resource", "server"),
)
async def test_sources_that_differ_in_anything_share_nothing(shop: Shop, other: Source) -> None:
    assert [await shop.minted(), await shop.minted(other)] == [f"{MARK}-1", f"{MARK}-2"]


async def test_a_secret_that_changes_while_something_is_made_of_it_has_it_made_anew(shop: Shop) -> None:
    def changes() -> None:
        shop.mint.meanwhile = lambda: None
        shop.desk.keeps(PLACE, key="2")

    shop.mint.meanwhile = changes

    with pytest.raises(errors.Superseded):
        await shop.minted()

    assert await shop.minted() == f"{MARK}-2"
    first, second = (version for _, version, _ in shop.mint.made_of)
    assert first != second


async def test_what_had_expired_when_it_came_is_neither_used_nor_kept(shop: Shop) -> None:
    shop.mint.life = timedelta()

    refused = await shop.minted()

    assert isinstance(refused, Refused)
    assert refused.reason == Reason.CREDENTIAL_UNRESOLVED
    assert "Secret default/github" in refused.message
    shop.mint.life = timedelta(hours=1)
    assert await shop.minted() == f"{MARK}-2"


async def test_a_refusal_is_not_kept(shop: Shop) -> None:
    shop.mint.refuses = DOWN
    assert await shop.minted() == DOWN

    shop.mint.refuses = None
    assert await shop.minted() == f"{MARK}-2"


async def test_what_is_still_good_is_used_when_there_is_no_other_until_its_end(shop: Shop) -> None:
    await shop.minted()
    shop.mint.refuses = DOWN
    shop.desk.passes(timedelta(minutes=59))

    assert [await shop.minted() for _ in range(3)] == [f"{MARK}-1"] * 3
    assert len(shop.mint.made_of) == 2  # no call waits again so soon

    shop.desk.passes(REST)
    assert await shop.minted() == f"{MARK}-1"
    assert len(shop.mint.made_of) == 3

    shop.desk.passes(MINUTE)
    assert await shop.minted() == DOWN


async def test_what_is_short_lived_is_used_and_not_made_by_every_call(shop: Shop) -> None:
    shop.mint.life = 2 * REST

    assert [await shop.minted() for _ in range(3)] == [f"{MARK}-1"] * 3

    shop.desk.passes(REST)
    assert await shop.minted() == f"{MARK}-2"


async def test_an_identity_that_has_expired_is_renewed_before_it_is_exchanged(shop: Shop) -> None:
    shop.desk.keeps_expiring()
    shop.desk.grants(access_token=NEW, expires_in=3600)

    assert await asyncio.gather(*(shop.minted(FEDERATED) for _ in range(50))) == [f"{MARK}-1"] * 50

    assert [subject for _, _, subject in shop.mint.made_of] == [Hidden(NEW)]
    assert len(shop.desk.forms) == 1
    assert await shop.minted(FEDERATED) == f"{MARK}-1"


async def test_who_asks_while_an_identity_is_renewed_has_nothing_exchanged_again(shop: Shop) -> None:
    shop.desk.keeps_expiring()
    shop.desk.grants(access_token=NEW, expires_in=3600)

    async def late(turns: int) -> str | Refused:
        for _ in range(turns):
            await asyncio.sleep(0)
        return await shop.minted(FEDERATED)

    await asyncio.gather(*(late(turns) for turns in range(50)))

    assert len(shop.mint.made_of) == 1
    assert len(shop.desk.forms) == 1


async def test_a_secret_that_was_read_before_its_identity_was_renewed_has_nothing_exchanged_again(shop: Shop) -> None:
    before = shop.desk.keeps_expiring()
    shop.desk.grants(access_token=NEW, expires_in=3600)
    await shop.minted(FEDERATED)

    assert await shop.minting.minted(FEDERATED, before) == Hidden(f"{MARK}-1")
    assert len(shop.mint.made_of) == 1


async def test_an_identity_that_is_good_is_exchanged_as_it_is(shop: Shop) -> None:
    shop.desk.keeps_expiring(left=timedelta(hours=1))

    await shop.minted(FEDERATED)

    assert [subject for _, _, subject in shop.mint.made_of] == [Hidden(OLD)]
    assert SIBLING not in shop.desk.secrets.reads


async def test_an_identity_that_cannot_be_renewed_is_not_exchanged(shop: Shop) -> None:
    shop.desk.keeps_expiring()
    shop.desk.egress.script(ENDPOINT, Answer(400))

    refused = await shop.minted(FEDERATED)

    assert isinstance(refused, Refused)
    assert refused.reason == Reason.CREDENTIAL_EXPIRED
    assert shop.mint.made_of == []


async def test_an_app_needs_no_access_token(shop: Shop) -> None:
    await shop.minted()

    assert [subject for _, _, subject in shop.mint.made_of] == [None]
