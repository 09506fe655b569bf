"""Whose turn it is."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

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

    def join(self, name: str, of: SpiceboxSession, most: int = 64) -> None:
        leave = self._leave[name] = asyncio.Event()

        async def stand() -> None:
            async with self.slots.of(of, examples.session_class(limits={"maxConcurrentCalls": most})):
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
    assert (told.in_flight, told.started, told.last_at) == (0, 1, examples.NOW)


async def test_a_session_that_is_no_more_is_forgotten() -> None:
    slots = Slots(Limits(total=1, namespace=1), lambda: examples.NOW)
    async with slots.of(session("a"), WIDE):
        slots.forget("default-a")
        assert slots.activity("default-a").in_flight == 1

    slots.forget("default-a")

    assert slots.activity("default-a").started == 0
