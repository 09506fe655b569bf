"""The status of a call is written by one patch, which nobody else's word can be overwritten by."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.fakes.apiserver import FakeClient
from tests.fakes.wakes import FakeWakes
from tests.unit.adapters.cluster import manifests
from tests.unit.adapters.cluster.manifests import NAMESPACE
from tests.unit.core.examples import NOW
from toolcall_operator.adapters.cluster.calls import KubernetesCluster
from toolcall_operator.adapters.cluster.events import Events
from toolcall_operator.adapters.cluster.memory.caches import Caches
from toolcall_operator.adapters.cluster.memory.shelf import Identity
from toolcall_operator.adapters.cluster.resources import SESSIONS, TOOLCALLS, Address
from toolcall_operator.api.toolcall import FINALIZER, ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch, ToolCallStatus
from toolcall_operator.core import status as statuses
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.errors import Gone, Rejected, Superseded, Unavailable

ADDRESS = TOOLCALLS.named("one", NAMESPACE)
DISPATCH = Dispatch(boot_id="boot", operator="me", epoch=1, at=NOW)
CLAIM = ToolCallStatus(dispatch=DISPATCH, started_at=NOW)


class Place:
    """A fake API server with one call, which the caches know."""

    def __init__(self, **fields: Any) -> None:  # noqa: ANN401 (fields of a manifest)
        self.client = FakeClient((TOOLCALLS, manifests.call(**fields)))
        self.caches = Caches(FakeWakes())
        self.caches.put(self.client.objects[ADDRESS])
        self.events = Events(self.client, "me", lambda: NOW)
        self.cluster = KubernetesCluster(self.client, self.caches, self.events)

    @property
    def call(self) -> ToolCall:
        """The call, as the caches have it."""
        return self.caches.calls["uid-one"]

    @property
    def status(self) -> dict[str, Any]:
        """The status that is kept."""
        kept: dict[str, Any] = self.client.objects[ADDRESS].get("status", {})
        return kept

    def change(self, **fields: Any) -> None:  # noqa: ANN401 (fields of a manifest)
        """Somebody else writes the call."""
        self.client.put(TOOLCALLS, manifests.call(**fields))


def ended(call: ToolCall, message: str = "no such session") -> ToolCallStatus:
    """The status of the call once it has ended."""
    return statuses.settled(call, Refused(Reason.SESSION_GONE, message), NOW)


def written(new: ToolCallStatus) -> dict[str, Any]:
    """A status as it is kept."""
    return new.to_manifest()


# Reporting ------------------------------------------------------------------------------------------------------------
async def test_a_status_is_one_patch_that_names_the_call_by_its_uid() -> None:
    place = Place()

    reported = await place.cluster.report(place.call, CLAIM)

    assert reported.status == CLAIM
    assert place.status == written(CLAIM)
    assert place.client.patches[0][0] == "toolcalls/status agents/one"
    assert {"op": "test", "path": "/metadata/uid", "value": "uid-one"} in place.client.patches[0][1]
    assert [verb for verb, _ in place.client.asked] == ["patch"]


async def test_a_claim_that_was_written_here_is_known_before_its_echo_comes() -> None:
    place = Place()

    await place.cluster.report(place.call, CLAIM)

    assert place.call.status == CLAIM
    assert not place.caches.is_news(place.client.objects[ADDRESS])


async def test_a_short_call_costs_two_writes_and_no_read() -> None:
    place = Place()

    claimed = await place.cluster.report(place.call, CLAIM)
    await place.cluster.report(claimed, ended(claimed))

    assert place.status["finished"] is True
    assert [verb for verb, _ in place.client.asked] == ["patch", "patch"]


async def test_a_call_that_is_no_more_is_gone() -> None:
    place = Place()
    place.client.remove(TOOLCALLS, "one", NAMESPACE)

    with pytest.raises(Gone):
        await place.cluster.report(place.call, CLAIM)


async def test_a_call_that_was_made_anew_is_not_written_to() -> None:
    place = Place()
    place.change(uid="another")

    with pytest.raises(Gone):
        await place.cluster.report(place.call, CLAIM)

    assert place.status == {}


@pytest.mark.parametrize("known", (None, ToolCallStatus(observed_generation=1)), ids=("no status", "a status"))
async def test_a_call_that_somebody_else_claimed_is_left_alone(known: ToolCallStatus | None) -> None:
    place = Place()
    theirs = written(ToolCallStatus(dispatch=DISPATCH.model_copy(update={"operator": "other"})))
    place.change(status=theirs)

    with pytest.raises(Superseded, match="claimed by somebody else"):
        await place.cluster.report(place.call.model_copy(update={"status": known}), CLAIM)

    assert place.status == theirs


async def test_a_call_that_somebody_else_ended_keeps_its_end() -> None:
    place = Place(status=written(CLAIM))
    call, theirs = place.call, written(ended(place.call, "their end"))
    place.change(status=theirs)

    with pytest.raises(Superseded, match="has ended"):
        await place.cluster.report(call, ended(call, "our end"))

    assert place.status == theirs
    assert not place.caches.unfinished.is_settling("uid-one")


async def test_a_claim_that_landed_unheard_is_found_when_it_is_made_again_at_another_moment() -> None:
    place = Place()
    call = place.call
    place.client.unheard.append(Unavailable("no answer in time"))
    with pytest.raises(Unavailable):
        await place.cluster.report(call, CLAIM)

    later = CLAIM.model_copy(update={"dispatch": DISPATCH.model_copy(update={"at": NOW + timedelta(seconds=3)})})
    reported = await place.cluster.report(call, later)

    assert reported.status is not None
    assert reported.status.dispatch == DISPATCH


async def test_an_end_that_landed_unheard_may_be_reported_again() -> None:
    place = Place(status=written(CLAIM))
    call = place.call
    place.client.unheard.append(Unavailable("no answer in time"))
    with pytest.raises(Unavailable):
        await place.cluster.report(call, ended(call))

    reported = await place.cluster.report(call, ended(call))

    assert statuses.is_finished(reported)
    assert place.status == written(ended(call))


async def test_a_status_that_somebody_else_wrote_meanwhile_does_not_keep_a_call_from_being_claimed() -> None:
    place = Place()
    call = place.call
    place.change(status={"conditions": [], "observedGeneration": 1})

    await place.cluster.report(call, CLAIM)

    assert place.status == written(CLAIM)


async def test_what_the_api_server_will_not_have_is_rejected_and_the_call_not_taken_for_ended() -> None:
    place = Place(status=written(CLAIM))
    place.client.refusals["patch"] = Rejected("request is too large")

    with pytest.raises(Rejected, match="too large"):
        await place.cluster.report(place.call, ended(place.call))

    assert not place.caches.unfinished.is_settling("uid-one")


async def test_while_an_end_is_being_written_the_call_may_leave_the_watch_unasked() -> None:
    place = Place()
    patch, seen = place.client.patch, []

    async def watched(address: Address, operations: bytes) -> None:
        seen.append(place.caches.unfinished.is_settling("uid-one"))
        await patch(address, operations)

    place.client.patch = watched  # type: ignore[method-assign]  # to look at what holds while a request is under way
    await place.cluster.report(place.call, ended(place.call))

    assert seen == [True]
    assert place.caches.unfinished.is_settling("uid-one")


async def test_an_end_that_may_not_have_been_written_leaves_the_call_in_sight() -> None:
    place = Place()
    place.client.troubles.append(Unavailable("not now"))

    with pytest.raises(Unavailable):
        await place.cluster.report(place.call, ended(place.call))

    assert not place.caches.unfinished.is_settling("uid-one")


# Reading --------------------------------------------------------------------------------------------------------------
async def test_a_call_is_read_anew() -> None:
    place = Place()
    place.change(status=written(CLAIM))

    assert (await place.cluster.reread(place.call)).status == CLAIM


async def test_another_call_of_the_same_name_is_not_read_for_it() -> None:
    place = Place()
    place.change(uid="another")

    with pytest.raises(Gone, match="another one"):
        await place.cluster.reread(place.call)


# Observing ------------------------------------------------------------------------------------------------------------
async def test_the_world_of_a_call_is_its_session_and_the_class_that_was_frozen_in_it() -> None:
    place = Place()
    resolved = manifests.session_class(image="frozen")["spec"]
    place.caches.put(manifests.session_class(image="later"))
    place.caches.put(manifests.session(status={"resolvedClass": resolved}))

    world = await place.cluster.observe(place.call)

    assert world.session is place.caches.sessions[NAMESPACE, "work"]
    assert world.session_class is not None
    assert (world.session_class.metadata.name, world.session_class.spec.image) == ("plain", "frozen")
    assert not world.on_demand
    assert place.client.asked == []


async def test_the_calls_of_a_session_share_one_world_until_the_session_changes() -> None:
    place = Place()
    bound = {"resolvedClass": manifests.session_class()["spec"]}
    place.caches.put(manifests.session(status=bound))

    first = await place.cluster.observe(place.call)
    again = await place.cluster.observe(place.call)
    place.caches.put(manifests.session(version=2, status=bound))
    changed = await place.cluster.observe(place.call)

    assert again is first
    assert changed is not first
    assert changed.session is place.caches.sessions[NAMESPACE, "work"]


async def test_a_session_without_a_sandbox_has_no_class_yet() -> None:
    place = Place()
    place.caches.put(manifests.session())

    assert (await place.cluster.observe(place.call)).session_class is None


async def test_a_class_that_cannot_be_read_says_why_until_it_is_mended() -> None:
    place = Place()
    place.caches.put(manifests.session())
    place.caches.put(manifests.session_class(image=1))
    bad = (await place.cluster.observe(place.call)).unread

    place.caches.put(manifests.session_class(version=2))

    assert "spec.image" in bad
    assert (await place.cluster.observe(place.call)).unread == ""


async def test_a_session_that_cannot_be_read_says_why() -> None:
    place = Place()
    place.caches.put(manifests.session(spec={"idleTTL": "soon"}))

    world = await place.cluster.observe(place.call)

    assert world.session is None
    assert "spec.idleTTL" in world.unread


async def test_what_the_watch_has_not_told_yet_is_asked_for_before_a_call_is_refused_for_it() -> None:
    place = Place()
    place.client.put(SESSIONS, manifests.session())

    unasked = await place.cluster.observe(place.call)
    asked = await place.cluster.observe(place.call, live=True)

    assert unasked.session is None
    assert asked.session is not None


async def test_a_session_that_turns_out_to_be_gone_is_forgotten() -> None:
    place = Place()
    place.caches.put(manifests.session())

    assert (await place.cluster.observe(place.call, live=True)).session is None
    assert not place.caches.sessions


async def test_a_session_that_is_made_anew_while_it_is_asked_for_is_not_forgotten() -> None:
    place = Place()
    place.caches.put(manifests.session())
    get = place.client.get

    async def overtaken(address: Address) -> dict[str, Any]:
        try:
            return await get(address)
        finally:
            place.caches.put(place.client.put(SESSIONS, manifests.session(uid="anew")))

    place.client.get = overtaken  # type: ignore[method-assign]  # to have the watch tell before the answer does
    world = await place.cluster.observe(place.call, live=True)

    assert world.session is not None
    assert world.session.metadata.uid == "anew"


async def test_a_call_waits_for_its_session_to_be_another_than_it_saw() -> None:
    place = Place()
    await place.cluster.observe(place.call)
    waiting = asyncio.ensure_future(place.cluster.changed(place.call))
    await asyncio.sleep(0)
    early = waiting.done()

    place.caches.put(manifests.session())

    assert not early
    await asyncio.wait_for(waiting, 1)


async def test_what_changed_between_a_look_and_a_wait_is_not_missed() -> None:
    place = Place()
    await place.cluster.observe(place.call)
    place.caches.put(manifests.session())

    await asyncio.wait_for(place.cluster.changed(place.call), 1)


async def test_little_is_remembered_of_calls_that_are_no_more() -> None:
    place = Place()
    for number in range(1000):
        metadata = place.call.metadata.model_copy(update={"uid": f"uid-{number}"})
        await place.cluster.observe(place.call.model_copy(update={"metadata": metadata}))

    assert len(place.cluster._seen) < 200  # noqa: SLF001 (memory shows nowhere else)


async def test_little_is_remembered_of_sessions_that_are_no_more() -> None:
    place = Place()
    bound = {"resolvedClass": manifests.session_class()["spec"]}
    for number in range(1000):
        session = manifests.session(f"s{number}", status=bound)
        call = place.call.model_copy(update={"spec": place.call.spec.model_copy(update={"session": f"s{number}"})})
        place.caches.put(session)
        await place.cluster.observe(call)
        place.caches.drop("SpiceboxSession", Identity.of(session))

    assert len(place.cluster._worlds) < 200  # noqa: SLF001 (memory shows nowhere else)


# Holding --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("others", ([], ["theirs"]), ids=("no finalizers", "somebody else's"))
async def test_a_call_is_held_and_released(others: list[str]) -> None:
    place = Place(finalizers=others)

    await place.cluster.hold(place.call)
    held = list(place.client.objects[ADDRESS]["metadata"]["finalizers"])
    await place.cluster.release(place.call)

    assert held == [*others, FINALIZER]
    assert place.client.objects[ADDRESS]["metadata"].get("finalizers", []) == others
    assert [verb for verb, _ in place.client.asked] == ["patch", "patch"]


async def test_finalizers_that_others_changed_meanwhile_stay_theirs() -> None:
    place = Place()
    call = place.call
    place.change(finalizers=["theirs"])

    await place.cluster.hold(call)
    place.change(finalizers=["more", "theirs", FINALIZER])
    await place.cluster.release(call)

    assert place.client.objects[ADDRESS]["metadata"]["finalizers"] == ["more", "theirs"]


async def test_a_call_that_is_held_already_is_not_held_twice() -> None:
    place = Place()
    call = place.call
    place.change(finalizers=[FINALIZER])

    await place.cluster.hold(call)

    assert place.client.objects[ADDRESS]["metadata"]["finalizers"] == [FINALIZER]


async def test_a_call_that_is_being_deleted_cannot_be_held_any_more() -> None:
    place = Place()
    call = place.call
    place.change(finalizers=["theirs"], deletionTimestamp="2026-01-01T00:00:00Z")

    with pytest.raises(Gone, match="being deleted"):
        await place.cluster.hold(call)


async def test_a_call_that_has_ended_is_not_held_any_more() -> None:
    place = Place(status={"observedGeneration": 1})
    call = place.call
    place.change(status={"finished": True})

    with pytest.raises(Superseded, match="has ended"):
        await place.cluster.hold(call)

    assert not place.client.objects[ADDRESS]["metadata"].get("finalizers")


async def test_letting_go_of_what_is_not_held_is_fine() -> None:
    place = Place()
    call = place.call
    await place.cluster.release(call)

    place.client.remove(TOOLCALLS, "one", NAMESPACE)
    await place.cluster.release(call)


async def test_another_call_of_the_same_name_is_not_let_go() -> None:
    place = Place(finalizers=[FINALIZER])
    call = place.call
    place.change(uid="another", finalizers=[FINALIZER])

    await place.cluster.release(call)

    assert place.client.objects[ADDRESS]["metadata"]["finalizers"] == [FINALIZER]


# What cannot be read --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("status", (None, {"observedGeneration": 1}), ids=("no status", "a status"))
async def test_a_call_that_cannot_be_read_ends_alone_and_says_which_field_it_was(status: dict[str, Any] | None) -> None:
    place = Place()
    bad = place.client.put(TOOLCALLS, manifests.call("bad", spec={"timeout": "soon"}, status=status))
    place.caches.put(bad)

    await place.cluster.end_unread(place.caches.unfinished.unread["uid-bad"], NOW)

    kept = place.client.objects[TOOLCALLS.named("bad", NAMESPACE)]["status"]
    ends = {condition["type"]: condition for condition in kept["conditions"]}
    assert kept["finished"] is True
    assert ends["Failed"]["reason"] == "MalformedObject"
    assert "spec.timeout" in ends["Failed"]["message"]
    assert place.status == {}


@pytest.mark.parametrize("finalizers", ([FINALIZER], ["theirs", FINALIZER]), ids=("ours", "ours among others"))
async def test_a_call_that_cannot_be_read_is_let_go_at_its_end(finalizers: list[str]) -> None:
    place = Place()
    place.caches.put(
        place.client.put(TOOLCALLS, manifests.call("bad", spec={"timeout": "soon"}, finalizers=finalizers))
    )

    await place.cluster.end_unread(place.caches.unfinished.unread["uid-bad"], NOW)

    kept = place.client.objects[TOOLCALLS.named("bad", NAMESPACE)]
    assert kept["status"]["finished"] is True
    assert FINALIZER not in kept["metadata"].get("finalizers", [])


async def test_a_call_that_cannot_be_let_go_at_its_end_has_ended_all_the_same() -> None:
    place = Place()
    bad = manifests.call("bad", spec={"timeout": "soon"}, finalizers=[FINALIZER])
    place.caches.put(place.client.put(TOOLCALLS, bad))
    patch = place.client.patch

    async def once(address: Address, operations: bytes) -> None:
        await patch(address, operations)
        place.client.refusals["patch"] = Unavailable("not now")

    place.client.patch = once  # type: ignore[method-assign]  # to break off between one request and the next
    await place.cluster.end_unread(place.caches.unfinished.unread["uid-bad"], NOW)

    assert place.client.objects[TOOLCALLS.named("bad", NAMESPACE)]["status"]["finished"] is True
    assert place.caches.unfinished.is_settling("uid-bad")


async def test_a_call_that_cannot_be_read_and_is_gone_is_forgotten() -> None:
    place = Place()
    place.caches.put(manifests.call("bad", spec={"timeout": "soon"}))
    unread = place.caches.unfinished.unread["uid-bad"]

    await place.cluster.end_unread(unread, NOW)

    assert not place.caches.holds("ToolCall", Identity.of(manifests.call("bad")))


async def test_a_call_that_could_not_be_ended_is_tried_again_later() -> None:
    place = Place()
    place.caches.put(manifests.call("bad", spec={"timeout": "soon"}))
    place.client.troubles.append(Unavailable("not now"))

    with pytest.raises(Unavailable):
        await place.cluster.end_unread(place.caches.unfinished.unread["uid-bad"], NOW)

    assert not place.caches.unfinished.is_settling("uid-bad")
