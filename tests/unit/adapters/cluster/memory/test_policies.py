"""Toolkits and toolspecs are kept beside the library that judges by them; what a change concerns is told of."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.wakes import FakeWakes
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.shelf import Identity
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspecStatus
from toolcall_operator.core.policy.loading.reasons import Objection
from toolcall_operator.core.policy.loading.toolspecs import Toolspec

WORK = (NAMESPACE, "work")


@pytest.fixture
def wakes() -> FakeWakes:
    return FakeWakes()


@pytest.fixture
def caches(wakes: FakeWakes) -> Caches:
    return Caches(wakes)


def judged_by(*toolspecs: str) -> dict[str, Any]:
    """A session whose calls these toolspecs judge."""
    return manifests.session(status={"effectiveToolspecs": list(toolspecs)})


def reason(caches: Caches, toolspec: str = "echoes") -> str:
    """Why a toolspec cannot judge calls; empty if it can."""
    found = caches.policies.library.toolspec(toolspec)
    assert found is not None
    return found.reason if isinstance(found, Objection) else ""


# What is kept ---------------------------------------------------------------------------------------------------------
def test_toolkits_and_toolspecs_are_kept_compiled_and_told_of(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.toolkit())
    caches.put(manifests.toolspec())

    assert caches.policies.toolkits.values["echo-kit"].spec.name == "echo"
    assert caches.policies.toolspecs.values["echoes"].spec.allow_subcommands == ("",)
    assert isinstance(caches.policies.library.toolspec("echoes"), Toolspec)
    assert wakes.woken == ["toolkit echo-kit", "toolspec echoes"]


def test_a_toolkit_that_comes_last_is_told_with_the_toolspecs_that_waited_for_it(
    caches: Caches, wakes: FakeWakes
) -> None:
    caches.put(manifests.toolspec())
    before = reason(caches)

    caches.put(manifests.toolkit())

    assert (before, reason(caches)) == ("ToolkitMissing", "")
    assert wakes.woken == ["toolspec echoes", "toolkit echo-kit", "toolspec echoes"]


def test_what_cannot_be_read_is_kept_with_why_and_judges_nothing(caches: Caches) -> None:
    caches.put(manifests.toolkit())
    caches.put(manifests.toolspec(constraints="none"))

    assert "spec.constraints" in caches.policies.toolspecs.unread["echoes"].why
    assert reason(caches) == "SpecLoadFailed"


def test_a_toolkit_that_cannot_be_read_any_more_takes_its_toolspecs_with_it(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.toolkit())
    caches.put(manifests.toolspec())
    wakes.woken.clear()

    caches.put(manifests.toolkit(version=2, env=None))

    assert reason(caches) == "ToolkitMissing"
    assert wakes.woken == ["toolkit echo-kit", "toolspec echoes"]


def test_what_is_no_more_is_forgotten_and_told_of(caches: Caches, wakes: FakeWakes) -> None:
    kit, spec = manifests.toolkit(), manifests.toolspec()
    caches.put(kit)
    caches.put(spec)
    wakes.woken.clear()

    caches.drop("SpiceboxToolkit", Identity.of(kit))
    lost = reason(caches)
    caches.drop("SpiceboxToolspec", Identity.of(spec))
    caches.drop("SpiceboxToolspec", Identity.of(spec))

    assert lost == "ToolkitMissing"
    assert caches.policies.library.toolspec("echoes") is None
    assert wakes.woken == ["toolkit echo-kit", "toolspec echoes", "toolspec echoes"]


def test_the_end_of_a_toolspec_does_not_end_another_one_of_its_name(caches: Caches) -> None:
    caches.put(manifests.toolkit())
    caches.put(manifests.toolspec())
    before = {"metadata": {"name": "echoes", "uid": "another"}}

    caches.drop("SpiceboxToolspec", Identity.of(before))

    assert reason(caches) == ""


def test_only_toolspecs_that_refer_to_a_toolkit_are_told_of_with_it(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.toolkit())
    caches.put(manifests.toolkit("cat-kit", name="cat"))
    caches.put(manifests.toolspec())
    caches.put(manifests.toolspec("cats", toolkit={"name": "cat", "revision": "1"}))
    assert (reason(caches), reason(caches, "cats")) == ("", "")
    compiled = caches.policies.library.compiled
    wakes.woken.clear()

    caches.put(manifests.toolkit(version=2, docs="Prints words."))

    assert (reason(caches), reason(caches, "cats")) == ("", "")
    assert wakes.woken == ["toolkit echo-kit", "toolspec echoes"]
    assert caches.policies.library.compiled - compiled == 2


def test_toolkits_that_claim_one_revision_of_one_tool_are_told_of_together(caches: Caches, wakes: FakeWakes) -> None:
    first, second = manifests.toolkit("a-kit"), manifests.toolkit("b-kit")
    caches.put(first)
    caches.put(second)
    taken = caches.policies.library.toolkit("b-kit")

    caches.drop("SpiceboxToolkit", Identity.of(first))

    assert isinstance(taken, Objection)
    assert not isinstance(caches.policies.library.toolkit("b-kit"), Objection)
    assert wakes.woken == ["toolkit a-kit", "toolkit a-kit", "toolkit b-kit", "toolkit a-kit", "toolkit b-kit"]


def test_a_toolkit_that_claims_another_revision_leaves_the_first_to_others(caches: Caches, wakes: FakeWakes) -> None:
    caches.put(manifests.toolkit("a-kit"))
    caches.put(manifests.toolkit("b-kit"))
    wakes.woken.clear()

    caches.put(manifests.toolkit("a-kit", version=2, toolkitRevision="2"))

    assert wakes.woken == ["toolkit a-kit", "toolkit b-kit"]


def test_the_echo_of_a_status_compiles_nothing(caches: Caches) -> None:
    caches.put(manifests.toolkit())
    caches.put(manifests.toolspec())
    assert reason(caches) == ""
    compiled = caches.policies.library.compiled

    caches.put(manifests.toolspec(version=2, status={"observedGeneration": 1}))

    assert reason(caches) == ""
    assert caches.policies.library.compiled == compiled


# Waiting for it -------------------------------------------------------------------------------------------------------
CHANGES = (
    manifests.toolspec(version=2, intent="Prints words."),
    manifests.toolspec(version=2, status={"observedGeneration": 1}),
    manifests.toolkit(version=2, docs="Prints words."),
    manifests.toolspec(version=2, constraints="none"),
)


@pytest.mark.parametrize(
    "change", CHANGES, ids=("the toolspec", "its status", "its toolkit", "whether it can be read at all")
)
async def test_a_wait_ends_when_a_toolspec_that_judges_for_the_session_changes(
    caches: Caches, change: dict[str, Any]
) -> None:
    for manifest in (manifests.toolkit(), manifests.toolspec(), judged_by("echoes")):
        caches.put(manifest)
    waiting = asyncio.ensure_future(caches.session_changed(WORK, caches.session_revision(WORK)))
    await asyncio.sleep(0)

    caches.put(change)

    await asyncio.wait_for(waiting, 1)


async def test_a_wait_ends_when_a_toolspec_comes_goes_and_comes_again(caches: Caches) -> None:
    caches.put(judged_by("echoes"))
    seen = [caches.session_revision(WORK)]

    for _ in range(2):
        caches.put(manifests.toolspec())
        await asyncio.wait_for(caches.session_changed(WORK, seen[-1]), 1)
        seen.append(caches.session_revision(WORK))
        caches.drop("SpiceboxToolspec", Identity.of(manifests.toolspec()))
        await asyncio.wait_for(caches.session_changed(WORK, seen[-1]), 1)
        seen.append(caches.session_revision(WORK))

    assert len({*seen}) == 3  # there without it, with the first, with the second
    assert seen[0] == seen[2] == seen[4]


async def test_a_wait_does_not_end_for_toolspecs_of_others(caches: Caches) -> None:
    for manifest in (manifests.toolkit(), manifests.toolspec(), judged_by("another")):
        caches.put(manifest)
    waiting = asyncio.ensure_future(caches.session_changed(WORK, caches.session_revision(WORK)))
    await asyncio.sleep(0)

    caches.put(manifests.toolspec(version=2, intent="Prints words."))
    await asyncio.sleep(0)

    assert not waiting.done()
    waiting.cancel()


async def test_a_status_that_was_written_here_wakes_those_who_wait_but_not_who_wrote_it(
    caches: Caches, wakes: FakeWakes
) -> None:
    for manifest in (manifests.toolkit(), manifests.toolspec(), judged_by("echoes")):
        caches.put(manifest)
    wakes.woken.clear()
    waiting = asyncio.ensure_future(caches.session_changed(WORK, caches.session_revision(WORK)))
    await asyncio.sleep(0)
    toolspec = caches.policies.toolspecs.values["echoes"]

    caches.amend_toolspec(toolspec.model_copy(update={"status": SpiceboxToolspecStatus(observed_generation=1)}))

    await asyncio.wait_for(waiting, 1)
    assert caches.policies.toolspecs.values["echoes"].status == SpiceboxToolspecStatus(observed_generation=1)
    assert wakes.woken == []


def test_a_status_of_a_toolspec_that_was_made_anew_is_kept_by_nobody(caches: Caches) -> None:
    caches.put(manifests.toolspec())
    toolspec = caches.policies.toolspecs.values["echoes"]
    another = toolspec.model_copy(update={"metadata": toolspec.metadata.model_copy(update={"uid": "another"})})

    caches.amend_toolspec(another.model_copy(update={"status": SpiceboxToolspecStatus(observed_generation=1)}))

    assert caches.policies.toolspecs.values["echoes"] is toolspec
