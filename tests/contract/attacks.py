"""What an attacker inside a sandbox tries, and the measures without which each attempt succeeds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.contract import harness
from tests.contract.harness import Harness

EMBEDDED, POD = "embedded", "pod"
EVERYWHERE = frozenset({EMBEDDED, POD})
REFUSED = 13
_LANDLOCK = ("landlock-files", "landlock-scopes")


@dataclass(frozen=True, slots=True)
class Attack:
    """Words for the test tool; without all of `measures` it succeeds, and each of them alone refuses it.

    Placeholders: `{victim}` is a sibling's process, `{shim}` what owns a process tree, `{serve}` the supervisor; `{inputs}` the folder of
    all inputs, `{input}` a file of the sibling's, `{spool}` where output is kept, `{outside}` and `{home}` folders and `{socket}` a socket
    that the sandbox has no business with.
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
    Attack("limit the supervisor's time", "prlimit-cpu {serve}", ("seccomp",)),
    Attack("slow a sibling down by its scheduling", "sched {victim}", ("seccomp",)),
    Attack("slow a sibling down by its priority", "setpriority {victim}", ("seccomp",)),
    Attack("slow a sibling's files down", "ioprio {victim}", ("seccomp",)),
    Attack("read a sibling's System V memory", "sysv-shm-get 77", ("seccomp",), "sysv-shm-put 77 left", on=_on(POD)),
    Attack("read a sibling's queue", "mqueue-get /left", ("seccomp",), "mqueue-put /left text", on=_on(POD)),
    Attack("read a sibling's key", "keyring-get left", ("seccomp",), "keyring-put left text", on=_on(POD)),
    Attack("make a ring that acts outside of the filter", "io-uring", ("seccomp",)),
    Attack("make a userfaultfd", "userfaultfd", ("seccomp",)),
    # Files.
    Attack("list a sibling's inputs", "list-sibling-inputs {inputs}", ("private-inputs", "landlock-files")[:1]),
    Attack("link a sibling's input", "hardlink {input} {workspace}/linked", ("landlock-files",)),
    Attack("find output in a file with a name", "spool-names {spool}", ("nameless-spool", "landlock-files")),
    Attack("create a file outside", "create {outside}/created", ("landlock-files",)),
    Attack("use another's terminal", "pts", ("pts",), on=_on(EMBEDDED)),
    # Of the embedded run.
    Attack("connect to a socket of the user", "unix-connect {socket}", ("seccomp",), on=_on(EMBEDDED)),
    Attack("read the user's files", "open {home}/private", ("landlock-files",), on=_on(EMBEDDED)),
)


@dataclass(frozen=True, slots=True)
class Scene:
    """A sandbox with a victim in it, and the names of what can be attacked."""

    box: Harness
    places: dict[str, str]

    async def attempt(self, words: str) -> harness.Ran:
        """Have the test tool try something."""
        return await self.box.run(*words.format(**self.places).split())


@asynccontextmanager
async def scene(box: Harness, places: dict[str, str]) -> AsyncIterator[Scene]:
    """Start the victim beside which attacks are tried; it is ended with them."""
    word = harness.marker()
    victim = box.call("member", word, "60s", "survive", env={"SECRET": "of the victim"}, limits=harness.Limits(grace=0))
    async with box.sandbox.start(victim) as execution:
        found: list[int] = []
        while not found:
            found = await box.pids(word)
        shims = await box.pids("shim")
        yield Scene(box, {"workspace": box.workspace, **places, "victim": str(found[0]), "shim": str(shims[0])})
        await box.sandbox.kill(victim.uid)
        await harness.ended(execution)
