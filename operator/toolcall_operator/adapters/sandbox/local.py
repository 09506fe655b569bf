"""Sandboxes of the embedded run: one `supervisor serve --stdio` a session, started by this process and gone with it."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from toolcall_operator import errors, ports
from toolcall_operator.adapters.sandbox.child import Child
from toolcall_operator.adapters.sandbox.line import Patience
from toolcall_operator.adapters.sandbox.link import Identity
from toolcall_operator.adapters.sandbox.sandbox import SupervisedSandbox
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcallstatus import Dispatch

_KEY_BYTES = 32
_FOLDERS = ("workspace", "work/in", "work/out", "home", "tmp", "spool")


@dataclass(frozen=True, slots=True)
class LocalSandbox:
    """What a local sandbox is made of.

    Below `root` are the only folders its tools may write; below `hide` they may not even read. `env` is all that the
    supervisor, and with it every tool, gets of an environment. `memory` is in bytes, for all its calls together.
    """

    supervisor: Path
    root: Path
    env: Mapping[str, str] = field(repr=False)
    hide: tuple[Path, ...]
    memory: int

    def command(self, key: bytes, retention: float) -> list[str]:
        """The command line of its supervisor, which knows the key by its hash only."""
        folders = {"workspace": "workspace", "work": "work", "home": "home", "tmp": "tmp", "spool": "spool"}
        return [
            *(str(self.supervisor), "serve", "--stdio", "--key-sha256", hashlib.sha256(key).hexdigest()),
            *(word for flag, folder in folders.items() for word in (f"--{flag}", str(self.root / folder))),
            *(word for folder in self.hide for word in ("--hide", str(folder))),
            *("--refuse-unix-sockets", "--memory", str(self.memory), "--retention", f"{retention:g}s"),
        ]


class LocalSupervisor:
    """A running supervisor and the sandbox it keeps."""

    def __init__(self, child: Child, sandbox: SupervisedSandbox) -> None:
        self._child = child
        self.sandbox = sandbox

    @classmethod
    async def start(cls, wanted: LocalSandbox, patience: Patience) -> LocalSupervisor:
        """Make the folders, start the supervisor, and greet it.

        Raises:
            Unavailable: it did not start, or does not answer; its last words are in the message.
        """
        key = secrets.token_bytes(_KEY_BYTES)
        for folder in _FOLDERS:
            (wanted.root / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        child = await Child.start(wanted.command(key, patience.retention), wanted.env, wanted.root / "workspace")
        identity = Identity(key, client="toolcall-run")
        try:
            return cls(child, await SupervisedSandbox.open(child, identity, patience, str(wanted.root.resolve())))
        except errors.OperatorError as error:
            await child.close()
            raise errors.Unavailable(f"the local supervisor does not work: {error}{child.last_words()}") from error
        except BaseException:
            await child.close()
            raise

    @property
    def pid(self) -> int:
        """The process id of `serve`."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether calls can run in it."""
        return self._child.alive and not self.sandbox.lost

    async def close(self) -> None:
        """End it with every process in it."""
        await self.sandbox.close()
        await self._child.close()


class LocalSandboxes:
    """Implements `ports.Sandboxes` on this machine: each session's sandbox starts when first opened, and stays.

    `aclose` ends them all.
    """

    def __init__(
        self,
        supervisor: Path,
        scratch: Path,
        *,
        hide: Sequence[Path] = (),
        patience: Patience | None = None,
    ) -> None:
        self._supervisor = supervisor
        self._scratch = scratch
        self._hide = tuple(hide)
        self._patience = patience or Patience()
        self._supervisors: dict[tuple[str, str], asyncio.Task[LocalSupervisor]] = {}

    @asynccontextmanager
    async def open(
        self,
        session: SpiceboxSession,
        session_class: SpiceboxClass,
        *,
        claim: Dispatch | None = None,  # noqa: ARG002 - the port's; its boot ID tells a claim on a supervisor that ended
    ) -> AsyncIterator[ports.Sandbox]:
        """The session's sandbox; one whose supervisor has ended is replaced by a new one, with a new boot ID."""
        name = (session.metadata.namespace, session.metadata.name)
        starting = self._supervisors.get(name)
        if starting is None or _is_over(starting):
            starting = asyncio.create_task(self._replace(starting, name, session_class))
            self._supervisors[name] = starting
        yield (await asyncio.shield(starting)).sandbox

    async def aclose(self) -> None:
        """End every sandbox; no process is left."""
        starting = list(self._supervisors.values())
        self._supervisors.clear()
        for supervisor in await asyncio.gather(*starting, return_exceptions=True):
            if isinstance(supervisor, LocalSupervisor):
                await supervisor.close()

    async def _replace(
        self, before: asyncio.Task[LocalSupervisor] | None, name: tuple[str, str], session_class: SpiceboxClass
    ) -> LocalSupervisor:
        if before is not None and before.exception() is None:
            await before.result().close()
        wanted = LocalSandbox(
            supervisor=self._supervisor,
            root=self._scratch.joinpath(*name),
            env=session_class.spec.env_defaults,
            hide=self._hide,
            memory=session_class.spec.resources.memory,
        )
        return await LocalSupervisor.start(wanted, self._patience)


def _is_over(starting: asyncio.Task[LocalSupervisor]) -> bool:
    """Whether a start has failed, or what it started has ended."""
    if not starting.done():
        return False
    return starting.cancelled() or starting.exception() is not None or not starting.result().alive
