"""A run on a cluster: what is applied, what is shown of each call, what hinders what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from tests.fakes.remote import FakeRemote
from toolcall_operator import errors
from toolcall_operator.adapters.cluster.objections import NotTaken, Objection
from toolcall_operator.cli import clusterrun, following, wanted
from toolcall_operator.cli.clusterrun import ClusterRun
from toolcall_operator.cli.followed import Followed
from toolcall_operator.local.manifests import Document
from toolcall_operator.local.yamlnodes import Positions

OURS = "agentprimitives.authzed.com/v1alpha1"
NOWHERE = Positions(yaml.ScalarNode("", "", yaml.Mark("", 0, 0, 0, "", 0)))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SUCCEEDED = {
    "finished": True,
    "conditions": [
        {
            "type": kind,
            "status": "True",
            "reason": "ProcessExited",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for kind in ("Succeeded", "Finished")
    ],
}
QUEUED = {
    "conditions": [
        {
            "type": "Running",
            "status": "False",
            "reason": "Queued",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
}


def a_call(name: str, namespace: str = "default", kind: str = "ToolCall") -> dict[str, Any]:
    return {"apiVersion": OURS, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": {"tool": "t"}}


class Seen:
    """A run, and everything that it showed and said."""

    def __init__(self, remote: FakeRemote, objects: Iterable[dict[str, Any]]) -> None:
        documents = [Document("calls.yaml", 1, each, NOWHERE) for each in objects]
        self.remote = remote
        self.shown: list[str] = []
        self.said: list[str] = []
        self._changed = asyncio.Event()
        self.run = ClusterRun(wanted.wish(documents, "default"), remote, self._show, self.said.append)

    def _show(self, call: Followed) -> None:
        row = call.row(NOW)
        self.shown.append(f"{row.name} {row.state}")
        self._changed.set()

    @property
    def states(self) -> list[str]:
        return [call.row(NOW).state for call in self.run.calls]

    async def comes(self, what: str) -> None:
        """Return when something was shown."""
        async with asyncio.timeout(5):
            while what not in self.shown:
                await self._changed.wait()
                self._changed.clear()


@asynccontextmanager
async def running(remote: FakeRemote, *objects: dict[str, Any]) -> AsyncIterator[Seen]:
    """A run that has applied its last object, and has to come to its end when the context does."""
    seen = Seen(remote, objects)
    async with asyncio.timeout(10):
        task = asyncio.create_task(seen.run.carry())
        await seen.comes(f"{objects[-1]['metadata']['name']} Pending")
        yield seen
        await task


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PAUSES", (0.001, 0.01))
    monkeypatch.setattr(clusterrun, "OPERATOR_PATIENCE", 0.05)


async def test_every_change_is_shown_and_the_end_of_the_last_call_is_the_end_of_the_run() -> None:
    remote = FakeRemote()
    async with running(remote, a_call("one"), a_call("two")) as seen:
        remote.write("one", QUEUED)
        await seen.comes("one Queued")
        remote.write("two", SUCCEEDED)
        remote.write("one", SUCCEEDED)

    assert seen.states == ["Succeeded/ProcessExited"] * 2
    assert [entry.end is not None for entry in seen.run.entries] == [True, True]
    assert seen.said == []


async def test_a_call_that_had_ended_is_shown_as_it_stands_and_told_of() -> None:
    remote = FakeRemote()
    remote.put(a_call("old") | {"status": SUCCEEDED}, uid="uid-of-old")
    seen = Seen(remote, [a_call("old")])

    await seen.run.carry()

    assert seen.shown == ["old Succeeded/ProcessExited"]
    assert seen.said == ["old had ended before; to run it anew, delete it first"]


async def test_a_document_that_is_refused_is_told_with_its_place_and_hinders_no_other() -> None:
    remote = FakeRemote(refusals={"bad": NotTaken(Objection("spec.tool", "tool cannot be changed"))})
    async with running(remote, a_call("bad"), a_call("good")) as seen:
        remote.write("good", SUCCEEDED)

    assert seen.states == ["NotApplied", "Succeeded/ProcessExited"]
    assert [str(finding) for finding in seen.run.findings] == ["calls.yaml:1: error: spec.tool tool cannot be changed"]


async def test_what_may_have_been_applied_is_called_that_and_is_not_applied_again() -> None:
    remote = FakeRemote(refusals={"lost": errors.Unavailable("no answer in time")})
    seen = Seen(remote, [a_call("lost")])

    await seen.run.carry()

    assert seen.states == ["NotApplied"]
    assert "may not have been applied: no answer in time" in str(seen.run.findings[0])


async def test_a_session_that_is_refused_is_told_and_is_no_call() -> None:
    remote = FakeRemote(refusals={"session": NotTaken(Objection("spec.class", "is required"))})
    async with running(remote, a_call("session", kind="SpiceboxSession"), a_call("call")) as seen:
        remote.write("call", SUCCEEDED)

    assert len(seen.run.findings) == 1
    assert seen.states == ["Succeeded/ProcessExited"]


async def test_a_call_that_is_deleted_before_its_end_is_waited_for_no_longer() -> None:
    remote = FakeRemote()
    async with running(remote, a_call("one")) as seen:
        remote.delete("one")

    assert seen.states == ["Deleted"]


async def test_a_call_that_ended_and_was_deleted_stays_as_it_ended() -> None:
    remote = FakeRemote()
    async with running(remote, a_call("one")) as seen:
        remote.write("one", SUCCEEDED)
        remote.delete("one")

    assert seen.states == ["Succeeded/ProcessExited"]


async def test_what_happens_to_another_object_of_the_same_name_is_none_of_the_calls() -> None:
    remote = FakeRemote()
    async with running(remote, a_call("one")) as seen:
        remote.put(a_call("one") | {"status": SUCCEEDED}, uid="uid-of-another")
        await asyncio.sleep(0.01)
        assert seen.states == ["Pending"]
        remote.put(a_call("one"), uid="uid-of-one")
        remote.write("one", QUEUED)
        await seen.comes("one Queued")
        remote.write("one", SUCCEEDED)


async def test_what_a_broken_watch_missed_is_looked_for() -> None:
    remote = FakeRemote()
    async with running(remote, a_call("one"), a_call("two", "team"), a_call("three")) as seen:
        remote.silent = True
        remote.write("one", SUCCEEDED)
        remote.write("two", SUCCEEDED, "team")
        remote.delete("three")
        remote.breaks(errors.Unavailable("the connection is gone"))

    assert seen.states == ["Succeeded/ProcessExited", "Succeeded/ProcessExited", "Deleted"]
    assert seen.said == []


async def test_a_call_that_was_made_anew_while_nobody_looked_is_not_taken_for_the_old_one() -> None:
    remote = FakeRemote()
    async with running(remote, a_call("one")) as seen:
        remote.silent = True
        remote.put(a_call("one") | {"status": SUCCEEDED}, uid="uid-of-another")
        remote.breaks(errors.Unavailable("the connection is gone"))

    assert seen.states == ["Deleted"]


async def test_a_hindrance_that_lasts_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    remote = FakeRemote()
    async with running(remote, a_call("one")) as seen:

        async def refuse(_namespace: str) -> str:
            raise errors.Unavailable("https://cluster does not answer: Connection refused")

        with monkeypatch.context() as patch:
            patch.setattr(remote, "version", refuse)
            remote.breaks(errors.Unavailable("the connection is gone"))
            await asyncio.sleep(0.1)
        remote.write("one", QUEUED)
        await seen.comes("one Queued")
        remote.write("one", SUCCEEDED)

    assert [note for note in seen.said if "trying again" in note] == [
        "https://cluster does not answer: Connection refused; trying again"
    ]


async def test_canceling_asks_for_the_end_of_what_has_not_ended_and_applies_nothing_more() -> None:
    remote = FakeRemote()
    async with running(remote, a_call("one"), a_call("two")) as seen:
        remote.write("one", SUCCEEDED)
        await seen.comes("one Succeeded/ProcessExited")
        seen.run.cancel()
        await asyncio.sleep(0.01)
        assert remote.canceled == ["two"]
        remote.write("two", SUCCEEDED)


async def test_a_run_that_is_canceled_while_it_applies_cancels_what_it_just_applied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remote = FakeRemote()
    seen = Seen(remote, [a_call("one"), a_call("two")])
    apply = remote.apply

    async def slow(manifest: dict[str, Any]) -> Any:  # noqa: ANN401 - an object
        seen.run.cancel()
        return await apply(manifest)

    monkeypatch.setattr(remote, "apply", slow)
    task = asyncio.create_task(seen.run.carry())
    await seen.comes("two NotApplied")
    remote.write("one", SUCCEEDED)
    await task

    assert (remote.applied, remote.canceled) == (["one"], ["one"])


async def test_a_call_that_cannot_be_canceled_is_told() -> None:
    remote = FakeRemote(uncancelable=True)
    async with running(remote, a_call("one")) as seen:
        seen.run.cancel()
        await asyncio.sleep(0.01)
        remote.write("one", SUCCEEDED)

    assert seen.said == ["one could not be canceled: the fake takes no writes"]


async def test_when_nobody_looks_at_a_call_it_is_said_once() -> None:
    remote = FakeRemote()
    calls = [a_call(f"call-{number}") for number in range(5)]
    async with running(remote, *calls) as seen:
        await asyncio.sleep(0.2)
        for call in calls:
            remote.write(call["metadata"]["name"], SUCCEEDED)

    assert seen.said == ["no operator has looked at call-0, call-1, call-2 and 2 more in 0.05 s: is one running?"]


async def test_when_somebody_wrote_a_status_an_operator_runs() -> None:
    remote = FakeRemote()
    async with running(remote, a_call("one"), a_call("two")) as seen:
        remote.write("one", QUEUED)
        await asyncio.sleep(0.2)
        remote.write("one", SUCCEEDED)
        remote.write("two", SUCCEEDED)

    assert seen.said == []


async def test_a_cluster_that_cannot_be_reached_is_given_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    remote = FakeRemote()

    async def refuse(_namespace: str) -> str:
        raise errors.Unavailable("https://cluster does not answer")

    monkeypatch.setattr(remote, "version", refuse)
    with pytest.raises(errors.Unavailable):
        await Seen(remote, [a_call("one")]).run.carry()

    assert remote.applied == []
