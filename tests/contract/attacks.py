"""What an attacker inside a sandbox tries, and the measures without which each attempt succeeds."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from tests.contract import harness, pods
from tests.contract.credentials import Secret, carrying
from tests.contract.harness import Harness
from toolcall_operator import errors
from toolcall_operator.adapters.sandbox import frames
from toolcall_operator.adapters.sandbox.messages import Hello
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.core.outcomes import Cause, ExecRequest

EMBEDDED, POD = "embedded", "pod"
EVERYWHERE = frozenset({EMBEDDED, POD})
REFUSED = 13
_LANDLOCK = ("landlock-files", "landlock-scopes")
_FILES = ("landlock-files",)
ALL_MEASURES = (*_LANDLOCK, "seccomp", "dumpable")
"""What keeps the processes and files of calls from each other."""
SECRET = Secret("of the victim, and nobody else's")


@dataclass(frozen=True, slots=True)
class Attack:
    """Words for the test tool; without all of `measures` it succeeds, and each of them alone refuses it.

    Placeholders: `{victim}` is a sibling's process, `{shim}` what owns its tree, `{serve}` the supervisor; `{inputs}`
    the folder of all inputs, `{input}` a file of the sibling's, `{homes}` the folder of all homes, `{home}` that of the
    sibling, which carries credentials, `{spool}` where output is kept, `{outside}` a folder and `{socket}` a socket
    that the sandbox has no business with, `{hidden}` a file it is to be kept from. `first` is tried by the sibling
    before. Attacks on every process of a user are for sandboxes with a process namespace.
    """

    name: str
    words: str
    measures: tuple[str, ...]
    first: str = ""
    on: frozenset[str] = EVERYWHERE


def _on(where: str) -> frozenset[str]:
    return frozenset({where})


ATTACKS = (
    # Siblings, their owners and the supervisor itself are out of reach.
    Attack("trace a sibling", "ptrace {victim}", _LANDLOCK),
    *(
        Attack(f"read a sibling's {file}", f"read-proc {{victim}} {file}", _LANDLOCK)
        for file in ("environ", "mem", "maps", "fd", "cwd", "root", "exe")
    ),
    Attack("take a sibling's open file", "pidfd-getfd {victim} 1", (*_LANDLOCK, "seccomp")),
    Attack("read a sibling's memory", "process-vm {victim}", (*_LANDLOCK, "seccomp")),
    Attack("signal a sibling", "signal {victim} 0", ("landlock-scopes",)),
    Attack("trace a shim", "ptrace {shim}", (*_LANDLOCK, "dumpable"), on=_on(POD)),
    Attack("read a shim's environment", "read-proc {shim} environ", (*_LANDLOCK, "dumpable"), on=_on(POD)),
    Attack("signal a shim", "signal {shim} 0", ("landlock-scopes",)),
    Attack("trace the supervisor", "ptrace {serve}", (*_LANDLOCK, "dumpable"), on=_on(POD)),
    Attack("read the supervisor's memory", "read-proc {serve} mem", (*_LANDLOCK, "dumpable"), on=_on(POD)),
    Attack("signal the supervisor", "signal {serve} 0", ("landlock-scopes",)),
    Attack("reach the supervisor's socket", "abstract-connect toolcall-supervisor", ("landlock-scopes",), on=_on(POD)),
    # What Landlock does not mediate.
    Attack("limit a sibling's time", "prlimit-cpu {victim}", ("seccomp",)),
    Attack("slow a sibling down by its scheduling", "sched {victim}", ("seccomp",)),
    Attack("bind a sibling to one processor", "affinity {victim}", ("seccomp",)),
    Attack("slow a sibling down by its priority", "setpriority {victim}", ("seccomp",), on=_on(POD)),
    Attack("slow a sibling's files down", "ioprio {victim}", ("seccomp",), on=_on(POD)),
    Attack("read a sibling's System V memory", "sysv-shm-get 77", ("seccomp",), "sysv-shm-put 77 left", on=_on(POD)),
    Attack(
        "read a sibling's queue",
        "mqueue-get left",
        ("seccomp", "landlock-files"),
        "mqueue-put left text",
        on=_on(POD),
    ),
    Attack("read a sibling's key", "keyring-get left", ("seccomp",), "keyring-put left text", on=_on(POD)),
    Attack("make a ring that acts outside of the filter", "io-uring", ("seccomp",)),
    Attack("make a userfaultfd", "userfaultfd", ("seccomp",)),
    # Files.
    Attack("list a sibling's home", "list-sibling-inputs {home}", _FILES),
    Attack("list the homes of all", "list-sibling-inputs {homes}", _FILES),
    Attack("read a file of a sibling's home", "open {home}/kept", _FILES),
    Attack("write into a sibling's home", "create {home}/planted", _FILES),
    Attack("rename a file of a sibling's home", "rename {home}/kept {home}/moved", _FILES),
    Attack("link a file of a sibling's home", "hardlink {home}/kept {home}/linked", _FILES),
    Attack("list a sibling's inputs", "list-sibling-inputs {inputs}", ("private-inputs",)),
    Attack("link a sibling's input", "hardlink {input} {work}/out/linked", _LANDLOCK),
    Attack("find output in a file with a name", "spool-names {spool}", ("nameless-spool", "landlock-files")),
    Attack("create a file outside", "create {outside}/created", ("landlock-files",), on=_on(EMBEDDED)),
    Attack("use another's terminal", "pts", ("pts",), on=_on(EMBEDDED)),
    # Of the embedded run.
    Attack("connect to a socket of the user", "unix-connect {socket}", ("seccomp",), on=_on(EMBEDDED)),
    Attack("read a hidden file", "open {hidden}", ("landlock-files",), on=_on(EMBEDDED)),
)


@dataclass(frozen=True, slots=True)
class Scene:
    """A sandbox with a victim in it, and the names of what can be attacked."""

    box: Harness
    places: dict[str, str]

    def with_place(self, name: str, place: str) -> Scene:
        """The scene with one more name."""
        return replace(self, places={**self.places, name: place})

    @property
    def hello(self) -> Hello:
        """What the supervisor said of itself."""
        assert isinstance(self.box.sandbox, SupervisedSandbox)
        return self.box.sandbox.hello

    async def tries(self, words: str) -> harness.Ran:
        """Have the test tool try something."""
        call = self.box.call(*words.format(**self.places).split())
        self.box.give_input(call.uid, "of the attacker")
        return await harness.run(self.box.sandbox, call)

    async def attempt(self, attack: Attack) -> harness.Ran:
        """Have the test tool attack."""
        if attack.first:
            await self.tries(attack.first)
        return await self.tries(attack.words)


def impostor() -> ExecRequest:
    """A tool that starts `connect` itself, and knows the key."""
    hello = {"type": "hello", "versions": [1], "key": pods.KEY.hex(), "epoch": 0, "client": "tool"}
    # `connect` ends with its input: more than it can carry at once keeps it there until the answer came.
    pings = [frames.encode_control({"type": "ping", "id": number}) for number in range(1, 20_000)]
    stdin = b"".join((frames.encode_control(hello), *pings))
    return harness.request(pods.SUPERVISOR, "connect", stdin=stdin)


@asynccontextmanager
async def scene(box: Harness, places: dict[str, str]) -> AsyncIterator[Scene]:
    """Start the victim beside which attacks are tried; it is ended with them."""
    # A duration that stands in the command line of no other process.
    word = f"60.{secrets.randbelow(10**9):09}s"
    assert isinstance(box.sandbox, SupervisedSandbox)
    carries = box.sandbox.hello.isolation == "Landlock"  # It would run alone otherwise.
    victim = box.call("dwell" if carries else "ignore-term", word, limits=harness.Limits(grace=0))
    if carries:
        victim = carrying(victim, SECRET.carried())
    box.give_input(victim.uid, "of the victim")
    places = {
        **places,
        "inputs": f"{box.work}/in",
        "input": f"{box.work}/in/{victim.uid}/input",
        "homes": f"{box.work}/private",
        "spool": box.spool,
    }
    async with box.sandbox.start(victim) as execution:
        await harness.ready(execution)
        if carries:
            places["home"] = json.loads(await anext(execution.stderr))["HOME"]["path"]
        [found] = await box.pids(word)
        yield Scene(box, {"workspace": box.workspace, "work": box.work, "victim": str(found), **places})
        await box.sandbox.kill(victim.uid)
        await harness.ended(execution)


EXCLUSIVE = ("--isolation", "Exclusive")
"""What has a supervisor run calls with credentials alone, as where the kernel cannot keep calls apart."""


async def nobody_is_there(box: Harness) -> None:
    """Without any measure a call with credentials is beyond attack all the same in a sandbox that is `EXCLUSIVE`.

    No attacker runs beside it, none that an earlier call has left lives on, and it leaves nothing.
    """
    assert isinstance(box.sandbox, SupervisedSandbox)
    assert box.sandbox.hello.isolation == "Exclusive"
    await _left_behind_is_gone(box)
    victim = carrying(box.call("dwell", "60s", limits=harness.Limits(grace=0)), SECRET.carried())
    async with box.sandbox.start(victim) as execution:
        await harness.ready(execution)
        home = json.loads(await anext(execution.stderr))["HOME"]["path"]
        with pytest.raises(errors.Unavailable, match="no other may run beside it"):
            await box.run("open", f"{home}/kept")
        await box.sandbox.kill(victim.uid)
        await harness.ended(execution)
    assert b"no such file" in (await box.run("open", f"{home}/kept")).stderr
    assert box.files_with(SECRET.value) == []
    # Calls without credentials have company as ever, and keep those with some waiting.
    async with box.sandbox.start(box.call("on-term", "0")) as execution:
        await harness.ready(execution)
        assert (await box.run("echo", "x")).stdout == b"x\n"
        with pytest.raises(errors.Unavailable, match="another call runs"):
            await harness.run(box.sandbox, carrying(box.call("echo", "x"), SECRET.carried()))


async def _left_behind_is_gone(box: Harness) -> None:
    """A call that kills what owns its processes leaves none of them to the one that comes next."""
    word = harness.marker()
    lost = await box.run("desert", word, "60s", limits=harness.Limits(timeout=30, grace=0))
    next_one = await harness.run(box.sandbox, carrying(box.call("find-pids", word), SECRET.carried()))

    assert lost.result.cause is Cause.LOST
    assert (next_one.stdout, next_one.result.code) == (b"", 0)
