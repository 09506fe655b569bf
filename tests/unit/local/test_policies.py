"""Which of the toolspecs in a set of documents judge the calls of a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.api import manifests as api
from tests.unit.core.examples import NOW
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import validation
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.policy.deciding.candidates import Candidate, Invalid
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.core.world import World
from toolcall_operator.local import manifests
from toolcall_operator.local.cluster import FileCluster

WorldOf = Callable[..., Awaitable[World]]


def toolkit(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    """A toolkit of `say`."""
    return api.toolkit(**{"version": "1.0", **spec})


def toolspec(name: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    """A toolspec over it."""
    return {**api.toolspec(**spec), "metadata": {"name": name}}


def session_class(*toolspecs: str) -> dict[str, Any]:
    """A class whose tool these toolspecs judge."""
    tools = [{"name": "say", "command": ["say"]}]
    judged = {"toolspecs": [{"name": name} for name in toolspecs]} if toolspecs else {}
    made = api.session_class(tools=tools, **judged)
    return {**made, "metadata": {"name": "plain"}}


def session(*toolspecs: str, narrowed: bool = False) -> dict[str, Any]:
    """Its session, narrowed to these toolspecs."""
    named = {"toolspecs": [{"name": name} for name in toolspecs]} if narrowed or toolspecs else {}
    return {**api.session(**named), "metadata": {"name": "work"}}


@pytest.fixture
def world_of(tmp_path: Path) -> WorldOf:
    """The world of a call in a session that stands among these documents."""

    async def observed(*documents: dict[str, Any]) -> World:
        path = tmp_path / "world.yaml"
        call = {**api.call(tool="say"), "metadata": {"name": "one"}}
        path.write_text(yaml.safe_dump_all([call, *documents]))
        cluster = FileCluster(manifests.load([path]), lambda: NOW)
        (entry,) = cluster.entries
        assert entry.call is not None
        return await cluster.observe(entry.call)

    return observed


def judges(world: World) -> tuple[Candidate, ...]:
    """Who judges."""
    assert world.toolspecs is not None
    return world.toolspecs


def names(world: World) -> list[str]:
    """Who judges, by name."""
    return [each.name for each in judges(world)]


async def test_calls_of_a_class_that_declares_no_toolspecs_are_not_judged(world_of: WorldOf) -> None:
    assert (await world_of(session_class(), session(), toolkit(), toolspec("one"))).toolspecs is None


async def test_those_of_a_session_that_is_narrowed_to_nothing_are(world_of: WorldOf) -> None:
    assert names(await world_of(session_class(), session(narrowed=True))) == []


async def test_the_toolspecs_of_the_class_judge_in_its_order_wherever_they_stand(world_of: WorldOf) -> None:
    world = await world_of(toolspec("one"), session(), session_class("two", "one"), toolspec("two"), toolkit())

    assert names(world) == ["two", "one"]
    assert all(isinstance(each, Toolspec) for each in judges(world))


@pytest.mark.parametrize("narrowed", ([], ["one"], ["one", "two"]), ids=len)
async def test_a_session_is_judged_by_those_it_names(world_of: WorldOf, narrowed: Iterable[str]) -> None:
    documents = (session_class("two", "one"), toolkit(), toolspec("one"), toolspec("two"))

    assert names(await world_of(*documents, session(*narrowed, narrowed=True))) == narrowed


async def test_what_is_in_no_file_does_not_judge(world_of: WorldOf) -> None:
    assert names(await world_of(session_class("one", "none"), session(), toolkit(), toolspec("one"))) == ["one"]


BROKEN: dict[str, tuple[tuple[dict[str, Any], ...], str]] = {
    "no toolkit": ((toolspec("one"),), "ToolkitMissing"),
    "a toolkit that cannot be read": ((toolkit(env=None), toolspec("one")), "ToolkitMissing"),
    "a subcommand that is none": ((toolkit(), toolspec("one", allowSubcommands=["shout"])), "UnknownSubcommand"),
    "what cannot be read": ((toolkit(), toolspec("one", constraints="none")), "SpecLoadFailed"),
}


@pytest.mark.parametrize(("documents", "reason"), BROKEN.values(), ids=BROKEN)
async def test_a_toolspec_that_is_not_valid_says_why(
    world_of: WorldOf, documents: tuple[dict[str, Any], ...], reason: str
) -> None:
    (found,) = judges(await world_of(session_class("one"), session(), *documents))

    assert isinstance(found, Invalid)
    assert found.reason == reason


async def test_of_two_toolspecs_with_one_name_the_first_judges(world_of: WorldOf) -> None:
    first, second = toolspec("one", intent="the first"), toolspec("one", constraints="none")

    (found,) = judges(await world_of(session_class("one"), session(), toolkit(), first, second))

    assert isinstance(found, Toolspec)
    assert found.spec.intent == "the first"


async def test_a_session_that_names_toolspecs_its_class_lacks_runs_nothing(world_of: WorldOf) -> None:
    documents = (session_class("one"), toolkit(), toolspec("one"), toolspec("two"), session("one", "two", "three"))
    world = await world_of(*documents)
    call = {"metadata": {"name": "one", "uid": "u"}, "spec": {"session": "work", "tool": "say"}}

    found = validation.plan(ToolCall.model_validate(call), world)

    assert names(world) == []
    assert isinstance(found, Refused)
    assert found.reason == "SessionNotActive"
    assert "SpiceboxClass plain does not have: two, three" in found.message
