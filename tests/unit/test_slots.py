"""Whose turn it is."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from tests.unit.core import examples
from tests.unit.stage import until
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.slots import Limits, Slots

WIDE = examples.session_class()


def session(name: str, namespace: str = "default") -> SpiceboxSession:
    made = examples.session()
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"}
    return made.model_copy(update={"metadata": made.metadata.model_copy(update=metadata)})


class Line:
    """Calls that stand in line, in the order in which they got their turns."""

    def __init__(self, limits: Limits) -> None:
        self.slots = Slots(limits, lambda: examples.NOW)
        self.got: list[str] = []
        self.held = AsyncExitStack()
        self._leave: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def join(self, name: str, of: SpiceboxSession, most: int = 64, *, alone: bool = False) -> None:
        leave = self._leave[name] = asyncio.Event()

        async def stand() -> None:
            async with self.slots.of(of, examples.session_class(limits={"maxConcurrentCalls": most}), alone=alone):
                self.got.append(name)
                await leave.wait()

        self.tasks[name] = asyncio.create_task(stand())

    async def leave(self, name: str) -> None:
        self._leave[name].set()
        await self.tasks[name]
        await asyncio.sleep(0)

    async def end(self) -> None:
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


async def test_turns_go_round_among_namespaces_and_then_among_their_sessions() -> None:
    line = Line(Limits(total=1, namespace=1))
    line.join("first", session("a"))
    await until(lambda: line.got)
    for name, of in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b")):
        line.join(name, session(of))
    line.join("other", session("a", "other"))
    await asyncio.sleep(0)

    for _ in range(5):
        await line.leave(line.got[-1])

    assert line.got == ["first", "a1", "other", "b1", "a2", "b2"]
    await line.end()


async def test_a_namespace_whose_calls_hang_leaves_room_for_others() -> None:
    line = Line(Limits(total=4, namespace=2))
    for number in range(4):
        line.join(f"hung{number}", session("a"))
    line.join("free", session("a", "other"))
    await until(lambda: "free" in line.got)

    assert line.got == ["hung0", "hung1", "free"]
    await line.end()


async def test_a_session_has_no_more_turns_than_its_class_allows() -> None:
    line = Line(Limits(total=9, namespace=9))
    for number in range(3):
        line.join(f"narrow{number}", session("narrow"), most=1)
    line.join("wide", session("wide"))
    await until(lambda: len(line.got) == 2)

    assert line.got == ["narrow0", "wide"]
    await line.end()


async def test_whoever_leaves_the_line_takes_no_turn_with_them() -> None:
    line = Line(Limits(total=1, namespace=1))
    line.join("first", session("a"))
    line.join("leaves", session("a"))
    line.join("last", session("a"))
    await until(lambda: line.got)
    line.tasks["leaves"].cancel()

    await line.leave("first")
    await until(lambda: len(line.got) == 2)

    assert line.got == ["first", "last"]
    await line.leave("last")
    assert line.slots.activity("default-a").in_flight == 0


async def test_a_turn_that_was_granted_to_somebody_who_left_is_given_on() -> None:
    line = Line(Limits(total=1, namespace=1))
    line.join("first", session("a"))
    await until(lambda: line.got)
    line.join("leaves", session("a"))
    line.join("last", session("b"))
    await asyncio.sleep(0)

    line._leave["first"].set()  # noqa: SLF001 (the turn is granted in the same step in which the other leaves)
    await asyncio.sleep(0)
    line.tasks["leaves"].cancel()

    await until(lambda: "last" in line.got)
    await line.end()


async def test_a_claimed_call_takes_its_turn_at_once_and_counts() -> None:
    slots = Slots(Limits(total=1, namespace=1), lambda: examples.NOW)
    of = session("a")

    async with slots.of(of, WIDE), slots.of(of, WIDE, claimed=True):
        assert slots.activity(of.metadata.uid).in_flight == 2

    told = slots.activity(of.metadata.uid)
    assert (told.in_flight, told.started, told.last_at) == (0, 0, examples.NOW)


async def test_a_session_that_is_no_more_is_forgotten() -> None:
    slots = Slots(Limits(total=1, namespace=1), lambda: examples.NOW)
    async with slots.of(session("a"), WIDE):
        slots.started("default-a")
        slots.forget("default-a")
        told = slots.activity("default-a")
        assert (told.in_flight, told.started) == (1, 1)

    slots.forget("default-a")

    assert slots.activity("default-a").started == 0


async def test_a_session_whose_calls_stand_in_line_is_not_forgotten() -> None:
    line = Line(Limits(total=1, namespace=1))
    line.join("hung", session("a"))
    await until(lambda: line.got)
    line.join("waits", session("b"))
    await asyncio.sleep(0)

    line.slots.forget("default-b")
    line.join("stranger", session("c", "other"))
    await asyncio.sleep(0)
    await line.leave("hung")
    await line.leave("waits")

    assert line.got == ["hung", "waits", "stranger"]
    await line.end()


class Crowd:
    """Calls that come, go, give up, and whose sessions are forgotten, as `seed` says."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 (a test is to be repeated)
        self.limits = Limits(total=self.chance.randrange(1, 5), namespace=self.chance.randrange(1, 4))
        self.most = {name: self.chance.randrange(1, 4) for name in "abc"}
        self.line = Line(self.limits)
        self.of: dict[str, SpiceboxSession] = {}
        self.gave_up: set[str] = set()

    def there(self) -> list[str]:
        return [name for name, task in self.line.tasks.items() if not task.done()]

    def running(self) -> list[str]:
        return [name for name in self.line.got if name in self.there()]

    def stirs(self) -> None:
        """One thing happens."""
        whose = session(self.chance.choice("abc"), self.chance.choice("xyz"))
        match self.chance.randrange(5):
            case 0 | 1:
                self.of[name := f"call{len(self.of)}"] = whose
                self.line.join(name, whose, most=self.most[whose.metadata.name])
            case 2 if running := self.running():
                self.line._leave[self.chance.choice(running)].set()  # noqa: SLF001 (others come in the same step)
            case 3 if there := self.there():
                self.gave_up.add(quitter := self.chance.choice(there))
                self.line.tasks[quitter].cancel()
            case _:
                self.line.slots.forget(whose.metadata.uid)

    def is_within_limits(self) -> bool:
        running = [self.of[name].metadata for name in self.running()]
        in_namespaces = Counter(each.namespace for each in running)
        of_sessions = Counter((each.uid, each.name) for each in running)
        return (
            len(running) <= self.limits.total
            and all(found <= self.limits.namespace for found in in_namespaces.values())
            and all(found <= self.most[name] for (_, name), found in of_sessions.items())
        )


@pytest.mark.parametrize("seed", range(40))
async def test_whatever_comes_and_goes_limits_hold_and_everyone_who_stays_gets_a_turn(seed: int) -> None:
    crowd = Crowd(seed)
    line = crowd.line

    for _ in range(150):
        crowd.stirs()
        if crowd.chance.random() < 0.5:
            await asyncio.sleep(0)
        assert crowd.is_within_limits()
    for leave in line._leave.values():  # noqa: SLF001 (all at once)
        leave.set()
    await until(lambda: not crowd.there())

    assert all(task.cancelled() or task.exception() is None for task in line.tasks.values())
    assert set(line.tasks) - crowd.gave_up <= set(line.got)
    for each in crowd.of.values():
        assert line.slots.activity(each.metadata.uid).in_flight == 0
        line.slots.forget(each.metadata.uid)
    assert not line.slots._sessions  # noqa: SLF001 (nothing is left behind)
    assert not line.slots._waiting  # noqa: SLF001 (nor in line)


async def test_a_call_that_is_to_be_alone_waits_for_those_that_run_and_nobody_overtakes_it() -> None:
    line, mine = Line(Limits(total=8, namespace=8)), session("a")
    line.join("first", mine)
    await until(lambda: line.got)
    line.join("alone", mine, alone=True)
    line.join("after", mine)
    line.join("elsewhere", session("b"))
    await until(lambda: len(line.got) == 2)
    assert line.got == ["first", "elsewhere"]

    await line.leave("first")
    await until(lambda: len(line.got) == 3)
    assert line.got[2] == "alone"

    await line.leave("alone")
    await until(lambda: len(line.got) == 4)
    assert line.got[3] == "after"
    await line.end()


async def test_who_was_to_be_alone_and_left_the_line_holds_up_nobody() -> None:
    line, mine = Line(Limits(total=8, namespace=8)), session("a")
    line.join("first", mine)
    await until(lambda: line.got)
    line.join("alone", mine, alone=True)
    line.join("after", mine)
    await asyncio.sleep(0)

    line.tasks["alone"].cancel()

    await until(lambda: line.got == ["first", "after"])
    await line.end()


async def test_beside_a_claimed_call_that_is_alone_no_turn_is_given() -> None:
    line, mine = Line(Limits(total=8, namespace=8)), session("a")
    async with line.slots.of(mine, WIDE, claimed=True, alone=True):
        line.join("next", mine)
        await asyncio.sleep(0)
        assert line.got == []
    await until(lambda: line.got == ["next"])
    await line.end()
