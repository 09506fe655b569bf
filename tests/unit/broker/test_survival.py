"""Whatever goes wrong, and in whatever order, no refresh token is lost and none is used twice."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count

import pytest

from tests.unit.broker.desk import ENDPOINT, MARK, MINUTE, PLACE, REFRESH, SIBLING, Desk, answer, form, oauth
from toolcall_operator import errors
from toolcall_operator.api import times
from toolcall_operator.core.exchange import Answer, Request

LIFE = timedelta(minutes=5)


@dataclass
class Provider:
    """Takes each refresh token once, and gives another for it; whoever uses one twice has none any more."""

    good: str = REFRESH
    used_twice: int = 0
    granted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._numbers = count(1)

    async def __call__(self, request: Request) -> Answer:
        sent = form(request)["refresh_token"]
        if sent != self.good:
            self.used_twice += 1
            return Answer(400)
        number = next(self._numbers)
        self.good = f"{MARK}-refresh-{number}"
        self.granted.append(f"{MARK}-access-{number}")
        for _ in range(3):
            await asyncio.sleep(0)
        return answer(access_token=self.granted[-1], refresh_token=self.good, expires_in=LIFE.total_seconds())


class Chance:
    """What goes wrong next, always the same for a number."""

    def __init__(self, number: int, desk: Desk, places: tuple[str, ...]) -> None:
        self._random = random.Random(number)  # noqa: S311 (it guards nothing)
        self._desk = desk
        self._places = places

    def strikes(self) -> None:
        """Something happens to a write, or to somebody who asks."""
        place, secrets = self._random.choice(self._places), self._desk.secrets
        match self._random.randrange(6):
            case 0:
                secrets.fail("write", place, errors.Unavailable("the API server is down"))
            case 1:
                secrets.lose_answer(place)
            case 2:
                secrets.before("write", place, *[lambda: self._touches(place)] * self._random.randrange(1, 4))
            case 3:
                secrets.fail("read", place, errors.Unavailable("the API server is down"))
            case 4:
                secrets.fail("write", place, errors.Rejected("not now"))
            case _:
                pass

    def _touches(self, place: str) -> None:
        """Somebody changes something else in the Secret."""
        number = str(self._random.random())
        self._desk.secrets.put(place, self._desk.secrets.text(place) | {"unrelated": number})

    async def ask(self) -> None:
        """Some ask at about the same time, and some of them do not wait for the answer."""
        earlies = self._random.choices((MINUTE, 3 * MINUTE), k=self._random.randrange(1, 6))
        asking = [asyncio.create_task(self._desk.resolve(oauth(early=early))) for early in earlies]
        for each in asking:
            if self._random.random() < 0.3:
                for _ in range(self._random.randrange(12)):
                    await asyncio.sleep(0)
                each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)


@pytest.mark.parametrize("sibling", (False, True), ids=("in the Secret", "in its sibling"))
@pytest.mark.parametrize("number", range(10))
async def test_after_any_mishap_the_newest_token_is_had_in_the_end(desk: Desk, number: int, *, sibling: bool) -> None:
    provider = Provider()
    desk.egress.script(ENDPOINT, provider)
    if sibling:
        desk.keeps(access_token=f"{MARK}-access-0", expires_at=times.render(desk.time))
        desk.keeps_material(token_endpoint=ENDPOINT, refresh_token=REFRESH)
    else:
        desk.keeps_expiring()
    chance = Chance(number, desk, (PLACE, SIBLING) if sibling else (PLACE,))

    for _ in range(30):
        chance.strikes()
        await chance.ask()
        desk.passes(LIFE / 2)
    for _ in range(5):
        await chance.ask()  # whatever was still to go wrong goes wrong

    async with asyncio.timeout(10):
        while True:
            try:
                outcome = await desk.resolve(oauth())
            except errors.Unavailable:
                continue
            if isinstance(outcome, tuple):
                break
    await desk.broker.aclose()

    assert outcome[0].reveal() == provider.granted[-1]
    assert provider.used_twice == 0
    assert desk.secrets.text(SIBLING if sibling else PLACE)["refresh_token"] == provider.good
    assert desk.secrets.text(PLACE)["access_token"] == provider.granted[-1]
