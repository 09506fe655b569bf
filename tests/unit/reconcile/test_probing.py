"""Programs that are asked for their versions before calls run."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from tests.fakes.sandbox import FakeSandbox, FakeSandboxes, Script
from tests.unit.core import examples, policies
from tests.unit.stage import ECHO, SESSION, Stage, ending, until
from toolcall_operator import errors
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import Dispatch
from toolcall_operator.core.outcomes import Cause, Confinement, ExecRequest
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.core.reasons import Reason
from toolcall_operator.ports import Sandbox
from toolcall_operator.reconcile import probing
from toolcall_operator.reconcile.record import Stop

EXTRACT = {"kind": "regex", "pattern": r"echo (\S+)"}
TARGET = {"binary": "echo", "versionRange": ">=9.0", "versionProbe": {"args": ["--version"], "extract": EXTRACT}}


def verified(name: str = "verified", **target: Any) -> Toolspec:  # noqa: ANN401 (fields of a manifest)
    """A toolspec that requires a verified version of `echo`."""
    known = policies.toolkit(target={**TARGET, **target})
    return policies.toolspec(name, of=known, require={"verifiedBinaryVersion": True})


def stage(*toolspecs: Toolspec, **answers: Any) -> Stage:  # noqa: ANN401 (fields of a script)
    """A stage on which `echo` answers so when it is asked for its version."""
    made = Stage(world=policies.world(*(toolspecs or (verified(),))))
    return answering(made, made.sandbox, **answers)


def answering(made: Stage, sandbox: FakeSandbox, **answers: Any) -> Stage:  # noqa: ANN401 (fields of a script)
    script = Script(**{"stdout": b"echo 9.4\n", **answers})
    sandbox.behaviours[ECHO] = lambda request: script if is_probe(request) else Script(stdout=b"hello\n")
    return made


def is_probe(request: ExecRequest) -> bool:
    return request.argv == (ECHO, "--version")


def probes(made: Stage) -> list[ExecRequest]:
    return [request for request in made.sandbox.started if is_probe(request)]


def calls(made: Stage) -> list[ExecRequest]:
    return [request for request in made.sandbox.started if not is_probe(request)]


def another(number: int) -> ToolCall:
    call = examples.call()
    uid = f"4f1c1a1e-0000-4000-8000-1{number:011}"
    return call.model_copy(update={"metadata": call.metadata.model_copy(update={"name": f"c{number}", "uid": uid})})


def reason(call: ToolCall) -> str:
    """Why the one toolspec denied it, for its version."""
    assert call.status
    assert call.status.toolspec
    (failure,) = call.status.toolspec.failures
    assert failure.failed_on
    assert failure.failed_on.path == "binaryVersion"
    return failure.reason or ""


async def test_a_program_is_asked_before_the_call_is_claimed() -> None:
    made = stage()

    call = await made.carry()

    assert ending(call) == ("Succeeded", "ProcessExited", 0)
    assert call.status
    assert call.status.toolspec
    assert call.status.toolspec.accepted_by == "verified"
    assert [is_probe(request) for request in made.sandbox.started] == [True, False]
    assert len(made.cluster.reported) == 2


async def test_the_process_that_asks_has_nothing_of_the_call_and_can_do_nothing() -> None:
    made = stage()

    await made.carry(examples.call(stdin="secret", timeout="1h"))

    (request,) = probes(made)
    assert (request.env, request.stdin) == ({}, b"")
    assert request.confinement == Confinement(network=False, writable=(), trusted=True)
    assert request.timeout == timedelta(seconds=10)
    assert request.output_bytes == 16 << 10


async def test_the_process_that_asks_has_a_uid_of_its_own_which_the_supervisor_takes_and_may_forget() -> None:
    made = stage()

    await made.carry()

    (request,) = probes(made)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", request.uid)
    assert not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", request.uid)
    assert request.uid in made.sandbox.acknowledged


async def test_a_thousand_calls_at_once_ask_once() -> None:
    made = stage(lasts=0.05)

    ended = await asyncio.gather(*(made.carry(another(number)) for number in range(1_000)))

    assert {ending(call) for call in ended} == {("Succeeded", "ProcessExited", 0)}
    assert (len(probes(made)), len(calls(made))) == (1, 1_000)


async def test_a_version_is_known_as_long_as_the_sandbox_lives() -> None:
    made = stage()
    await made.carry()
    made.now += timedelta(days=7)

    await made.carry(another(2))

    assert (len(probes(made)), len(calls(made))) == (1, 2)


class Counted(FakeSandboxes):
    """Fakes that know how often they are open."""

    in_use = 0

    @asynccontextmanager
    async def open(
        self, session: SpiceboxSession, session_class: SpiceboxClass, *, claim: Dispatch | None = None
    ) -> AsyncIterator[Sandbox]:
        async with super().open(session, session_class, claim=claim) as sandbox:
            self.in_use += 1
            yield sandbox
            self.in_use -= 1


async def test_the_sandbox_stays_open_for_the_call_once_and_not_longer() -> None:
    sandboxes, seen = Counted(), list[int]()
    made = Stage(world=policies.world(verified()), sandboxes=sandboxes)

    def looks(request: ExecRequest) -> Script:
        seen.append(sandboxes.in_use)
        return Script(stdout=b"echo 9.4" if is_probe(request) else b"")

    made.sandbox.behaviours[ECHO] = looks
    await made.carry()

    assert (seen, sandboxes.in_use) == ([1, 1], 0)


async def test_another_life_of_the_sandbox_is_asked_again() -> None:
    made = stage()
    await made.carry()
    before = probes(made)
    made.sandboxes.sandboxes[SESSION] = FakeSandbox({}, boot_id="boot-2")
    answering(made, made.sandbox, stdout=b"echo 8.0\n")

    call = await made.carry(another(2))

    assert "8.0" in reason(call)
    assert len(before) == len(probes(made)) == 1
    assert calls(made) == []


async def test_a_version_out_of_the_range_is_denied_and_nothing_of_the_call_runs() -> None:
    made = stage(stdout=b"echo 8.0\n")

    call = await made.carry()

    assert ending(call) == ("Failed", "ToolspecDenied", None)
    assert 'version "8.0" of the program is not in the range' in reason(call)
    assert call.status
    assert (call.status.started_at, call.status.dispatch) == (None, None)
    assert calls(made) == []


@pytest.mark.parametrize(
    ("answers", "says"),
    (
        ({"code": 3}, "exited with code 3"),
        ({"stdout": b"usage: echo\n"}, "holds none where the toolkit's target.versionProbe looks"),
        ({"stdout": b" " * 2**20 + b"echo 9.4"}, "holds none"),
        ({"lasts": None, "cause": Cause.DEADLINE}, "did not answer in time"),
        (
            {"cause": Cause.NOT_STARTED, "code": None, "step": "Exec", "error": "EACCES"},
            "not be started (Exec: EACCES)",
        ),
    ),
    ids=["code", "no match", "too much", "timeout", "not started"],
)
async def test_a_program_that_tells_no_version_denies_the_call_which_does_not_run(
    answers: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "TIMEOUT", timedelta(milliseconds=50))
    made = stage(**answers)

    call = await made.carry()

    assert says in reason(call)
    assert calls(made) == []


async def test_a_program_that_told_no_version_is_asked_again_after_a_minute() -> None:
    made = stage(code=1)
    await made.carry()
    made.now += timedelta(seconds=59)
    await made.carry(another(2))
    assert len(probes(made)) == 1

    made.now += timedelta(seconds=1)
    answering(made, made.sandbox)
    call = await made.carry(another(3))

    assert ending(call) == ("Succeeded", "ProcessExited", 0)
    assert len(probes(made)) == 2


async def test_a_probe_that_somebody_ended_is_made_anew() -> None:
    """A new leader ends what runs in a sandbox and belongs to no call."""
    made = stage(lasts=None)
    carried = asyncio.ensure_future(made.carry())
    await until(lambda: probes(made))
    answering(made, made.sandbox)

    await made.sandbox.kill(probes(made)[0].uid)

    assert ending(await carried) == ("Succeeded", "ProcessExited", 0)
    assert len({request.uid for request in probes(made)}) == 2


async def test_a_sandbox_that_is_lost_meanwhile_is_no_answer() -> None:
    made = stage(lasts=None)
    carried = asyncio.ensure_future(made.carry())
    await until(lambda: probes(made))
    lost = made.sandbox
    made.sandboxes.sandboxes[SESSION] = FakeSandbox({}, boot_id="boot-2")
    answering(made, made.sandbox)

    lost.lose(Reason.SANDBOX_GONE)

    assert ending(await carried) == ("Succeeded", "ProcessExited", 0)
    assert [request.argv[1:] for request in lost.started] == [("--version",)]


async def test_a_sandbox_that_cannot_start_the_probe_is_tried_again() -> None:
    made = stage()
    made.sandbox.faults = [errors.Unavailable("no room")]

    assert ending(await made.carry()) == ("Succeeded", "ProcessExited", 0)


async def test_a_call_that_is_canceled_while_its_program_is_asked_leaves_the_others_their_answer() -> None:
    made, stop = stage(lasts=None), Stop()
    first = asyncio.ensure_future(made.carry(another(1), stop))
    await until(lambda: probes(made))
    second = asyncio.ensure_future(made.carry(another(2)))
    await until(lambda: len(made.sandboxes.opened) == 2)
    answering(made, made.sandbox)

    stop.ask(Reason.USER_CANCEL)

    assert ending(await first)[0] == "Canceled"
    assert ending(await second) == ("Succeeded", "ProcessExited", 0)
    assert [request.uid for request in calls(made)] == [another(2).metadata.uid]


async def test_what_decides_may_change_while_a_program_is_asked() -> None:
    made = stage(lasts=0.05)
    carried = asyncio.ensure_future(made.carry())
    await until(lambda: probes(made))

    made.cluster.becomes(policies.world(policies.toolspec("closed", allowSubcommands=[])))

    call = await carried
    assert ending(call) == ("Failed", "ToolspecDenied", None)
    assert calls(made) == []


async def test_toolkits_that_ask_differently_are_each_asked_once() -> None:
    other = {"versionRange": ">=1.0", "versionProbe": {"args": ["-V"], "extract": {"kind": "line1"}}}
    made = stage(verified("first", versionRange=">=10.0"), verified("second", **other))
    made.sandbox.behaviours[ECHO] = lambda request: Script(stdout=b"1.2" if request.argv[1] == "-V" else b"echo 9.4")

    for number in (1, 2):
        call = await made.carry(another(number))
        assert call.status
        assert call.status.toolspec
        assert call.status.toolspec.accepted_by == "second"

    assert [request.argv[1] for request in made.sandbox.started] == ["--version", "-V", "-n", "-n"]


async def test_a_call_that_no_version_would_help_opens_no_sandbox() -> None:
    made = stage()

    await made.carry(examples.call(args=["-x"]))

    assert made.sandboxes.opened == []


async def test_of_many_answers_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "REMEMBERED", 2)
    made = stage()

    for boot in ("a", "b", "c"):
        made.sandboxes.sandboxes[SESSION] = FakeSandbox({}, boot_id=boot)
        answering(made, made.sandbox)
        await made.carry(another(ord(boot)))

    assert [boot for boot, _ in made.ports.asked] == ["b", "c"]
