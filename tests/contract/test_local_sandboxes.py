"""The sandboxes of the embedded run: one supervisor a session, started once, and nothing left of it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract import harness
from tests.contract.programs import Programs
from toolcall_operator import errors, ports
from toolcall_operator.adapters.sandbox.local import LocalSandboxes
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.core.outcomes import Cause
from toolcall_operator.core.reasons import Reason

CLASS = SpiceboxClass.model_validate(
    {
        "apiVersion": "agentprimitives.authzed.com/v1alpha1",
        "kind": "SpiceboxClass",
        "metadata": {"name": "shell"},
        "spec": {
            "image": "none",
            "resources": {"cpu": "1", "memory": "256Mi", "ephemeralStorage": "1Gi"},
            "tools": [{"name": "sh", "command": ["/bin/sh"]}],
        },
    }
)


def session(name: str) -> SpiceboxSession:
    return SpiceboxSession.model_validate(
        {
            "apiVersion": "agentprimitives.authzed.com/v1alpha1",
            "kind": "SpiceboxSession",
            "metadata": {"name": name, "namespace": "team"},
            "spec": {"class": "shell"},
        }
    )


@pytest.fixture
async def sandboxes(programs: Programs, tmp_path: Path) -> AsyncIterator[LocalSandboxes]:
    made = LocalSandboxes(programs.supervisor, tmp_path)
    yield made
    await made.aclose()


def processes(word: str) -> list[int]:
    """Every process of this machine with `word` in its command line."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in line.read_bytes():
                found.append(int(line.parent.name))
        except OSError:
            continue
    return found


def command_line(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


async def supervisor_of(sandbox: ports.Sandbox, tmp_path: Path, name: str) -> int:
    """The process that keeps a sandbox."""
    assert sandbox.boot_id
    # A child of its own has the same command line until its exec.
    found = processes(f"--workspace\0{tmp_path / 'team' / name}")
    [pid] = [pid for pid in found if harness.status_of(str(pid))["PPid"] == str(os.getpid())]
    return pid


async def test_a_session_has_one_sandbox_however_many_open_it(sandboxes: LocalSandboxes) -> None:
    async def boot() -> str:
        async with sandboxes.open(session("one"), CLASS) as sandbox:
            return sandbox.boot_id

    assert len(set(await asyncio.gather(*(boot() for _ in range(20))))) == 1


async def test_two_sessions_have_nothing_in_common(sandboxes: LocalSandboxes) -> None:
    async with sandboxes.open(session("one"), CLASS) as one, sandboxes.open(session("two"), CLASS) as two:
        assert one.boot_id != two.boot_id
        wrote = await harness.run(one, harness.request("sh", "-c", "echo mine > file; pwd"))
        looked = await harness.run(two, harness.request("sh", "-c", f"cat {wrote.stdout.decode().strip()}/file"))

    assert wrote.result.code == 0
    assert (looked.stdout, looked.result.code) == (b"", 1)
    assert b"denied" in looked.stderr


async def test_the_key_stands_in_no_command_line(sandboxes: LocalSandboxes, tmp_path: Path) -> None:
    """Only its hash does."""
    async with sandboxes.open(session("one"), CLASS) as sandbox:
        pid = await supervisor_of(sandbox, tmp_path, "one")
        words = command_line(pid)

    assert [len(words[n + 1]) for n, word in enumerate(words) if word == b"--key-sha256"] == [64]
    assert b"--refuse-unix-sockets" in words


async def test_a_ctrl_c_on_the_terminal_does_not_reach_it(sandboxes: LocalSandboxes, tmp_path: Path) -> None:
    async with sandboxes.open(session("one"), CLASS) as sandbox:
        pid = await supervisor_of(sandbox, tmp_path, "one")

        assert os.getsid(pid) == pid != os.getsid(0)


async def test_a_killed_supervisor_loses_its_calls_and_is_replaced(sandboxes: LocalSandboxes, tmp_path: Path) -> None:
    word = harness.marker()
    async with sandboxes.open(session("one"), CLASS) as sandbox:
        call = harness.request("sh", "-c", f"echo begun; sleep 60 # {word}")
        async with sandbox.start(call) as execution:
            assert await anext(execution.stdout) == b"begun\n"
            os.kill(await supervisor_of(sandbox, tmp_path, "one"), signal.SIGKILL)
            assert await harness.gathered(execution.stdout) == b""
            with pytest.raises(errors.SandboxLost) as lost:
                await execution.result()
    async with sandboxes.open(session("one"), CLASS) as again:
        ran = await harness.run(again, harness.request("sh", "-c", "exit 4"))

    assert lost.value.reason is Reason.SANDBOX_GONE
    assert (ran.result.cause, ran.result.code) == (Cause.EXITED, 4)
    assert again.boot_id != sandbox.boot_id
    assert await gone(word)


@pytest.mark.parametrize("frozen", (False, True), ids=("that listens", "that is frozen"))
async def test_closing_leaves_no_process(programs: Programs, tmp_path: Path, *, frozen: bool) -> None:
    word = harness.marker()
    sandboxes = LocalSandboxes(programs.supervisor, tmp_path)
    script = f"trap '' TERM; setsid sh -c 'sleep 60; : {word}' & echo begun; sleep 60; : {word}"
    async with (
        sandboxes.open(session("one"), CLASS) as sandbox,
        sandbox.start(harness.request("sh", "-c", script)) as run,
    ):
        assert await anext(run.stdout) == b"begun\n"
        pid = await supervisor_of(sandbox, tmp_path, "one")
        if frozen:
            os.kill(pid, signal.SIGSTOP)
        await sandboxes.aclose()

    assert await gone(word)
    assert await gone(str(tmp_path))


async def gone(word: str) -> bool:
    """Whether no process with `word` is left within two seconds: what a dead parent leaves is killed by its shim."""
    for _ in range(100):
        if not processes(word):
            return True
        await asyncio.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("script", "said"),
    (
        pytest.param(None, "could not be started: No such file or directory", id="that is not there"),
        pytest.param("#!/bin/sh\necho out of luck >&2\nexit 1\n", "(it said: out of luck)", id="that ends at once"),
        pytest.param(
            "#!/bin/sh\necho no frame\nexec cat >/dev/null\n", "the other end sent", id="that is no supervisor"
        ),
    ),
)
async def test_a_supervisor_that_does_not_work_says_what_is_known(
    tmp_path: Path, script: str | None, said: str
) -> None:
    binary = tmp_path / "supervisor"
    if script is not None:
        binary.write_text(script)
        binary.chmod(0o755)
    sandboxes = LocalSandboxes(binary, tmp_path / "scratch")

    for _ in range(2):
        with pytest.raises(errors.Unavailable) as caught:
            async with sandboxes.open(session("one"), CLASS):
                pass
        assert said in str(caught.value)
    await sandboxes.aclose()
    assert await gone(str(binary))
