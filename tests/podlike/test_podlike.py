"""The pod without Kubernetes is what its head says, for root and for another user, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contract import programs

PODLIKE = Path(__file__).with_name("podlike")
STRANGER = 1234  # a user with no entry anywhere and no right to anything
PATIENCE = 20


@dataclass(frozen=True, slots=True)
class Pod:
    """A running pod and how to reach it."""

    starter: subprocess.Popen[str]
    pid: int
    user: tuple[str, ...]
    script: Path

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run to its end, as `pods/exec` would."""
        return subprocess.run(
            [*self.user, self.script, "enter", str(self.pid), "--", *argv],
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def says(self, script: str) -> str:
        """What a shell script prints in there."""
        ran = self.run("/bin/sh", "-ec", script)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()


Start = Callable[..., Pod]


@pytest.fixture(scope="module")
def built() -> Iterator[Path]:
    """The script and both programs, where every user may read them, with a folder `tmp` for all to write."""
    with tempfile.TemporaryDirectory(prefix="podlike-") as name:
        place = Path(name)
        place.chmod(0o755)
        programs.built(place)
        shutil.copy(PODLIKE, place)
        (place / "tmp").mkdir()
        (place / "tmp").chmod(0o1777)
        yield place


@pytest.fixture(params=["root", "another user"])
def start(request: pytest.FixtureRequest, built: Path) -> Iterator[Start]:
    """Starts pods as one of two users; they are killed with the test."""
    user: tuple[str, ...] = ()
    if request.param == "root" and os.getuid() != 0:
        pytest.skip("these tests do not run as root")
    if request.param == "another user" and os.getuid() == 0:
        user = ("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups")
    pods: list[Pod] = []

    def begin(*options: str, env: dict[str, str] | None = None) -> Pod:
        supervisor = built / ("supervisor-weaken" if env else "supervisor")
        words = ["start", "--supervisor", str(supervisor), "--tool", str(built / "tool"), *options, "--"]
        starter = subprocess.Popen(
            [*user, built / "podlike", *words, "--key-sha256", hashlib.sha256(b"key").hexdigest()],
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(built / "tmp"), **(env or {})},
        )
        assert starter.stdout is not None
        pods.append(Pod(starter, int(starter.stdout.readline()), user, built / "podlike"))
        return pods[-1]

    yield begin
    for pod in pods:
        pod.starter.kill()
        pod.starter.communicate(timeout=PATIENCE)


def ended(pid: int) -> bool:
    """Whether the process is gone before patience is."""
    until = time.monotonic() + PATIENCE
    while Path(f"/proc/{pid}").exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_serve_is_process_1_as_an_unprivileged_user(start: Start) -> None:
    pod = start()
    assert pod.says("tr '\\0' ' ' < /proc/1/cmdline").startswith("/opt/toolcall/supervisor serve --key-sha256")
    facts = dict(line.split(":", 1) for line in pod.says("cat /proc/1/status").splitlines())
    assert set(facts["Uid"].split()) == {"1000"}
    assert int(facts["CapEff"], 16) == int(facts["CapPrm"], 16) == 0
    assert facts["NoNewPrivs"].strip() == "1"


def test_who_enters_comes_from_outside_and_is_the_same_user(start: Start) -> None:
    pod = start()
    assert pod.says("grep -c '^PPid:\t0$' /proc/$$/status") == "1"
    assert pod.says("id -u; grep -c '^CapEff:\t0*$' /proc/$$/status; pwd").split() == ["1000", "1", "/workspace"]
    assert set(json.loads(pod.run("/opt/toolcall/tool", "env").stdout)) == {"PATH"}


def test_only_the_folders_of_calls_are_writable(start: Start) -> None:
    pod = start()
    for folder in ("/workspace", "/work", "/tmp", "/run/toolcall", "/dev/shm"):  # noqa: S108 - the pod's own
        assert pod.run("/opt/toolcall/tool", "create", f"{folder}/file").returncode == 0, folder
    for folder in ("", "/etc", "/usr", "/opt/toolcall"):
        assert pod.run("/opt/toolcall/tool", "create", f"{folder}/file").returncode == 13, folder


def test_the_supervisor_is_unreadable_and_the_machine_out_of_sight(start: Start) -> None:
    pod = start()
    assert pod.run("/opt/toolcall/tool", "open", "/opt/toolcall/supervisor").returncode == 13
    assert pod.says("stat -c %a /opt/toolcall/supervisor /opt/toolcall/tool").split() == ["111", "555"]
    assert pod.says("ls /").split() == sorted(
        {"dev", "etc", "opt", "proc", "run", "sys", "tmp", "usr", "work", "workspace"} | links()
    )
    assert pod.run("/opt/toolcall/tool", "signal", str(os.getpid()), "0").returncode not in {0, 13}


def links() -> set[str]:
    """The names of /bin and the like on this machine."""
    return {path.name for path in map(Path, ("/bin", "/sbin", "/lib", "/lib32", "/lib64")) if path.exists()}


def test_a_bound_folder_is_seen_on_both_sides(start: Start, built: Path) -> None:
    shared = built / "shared"
    shared.mkdir(exist_ok=True)
    (shared / "input").write_text("from outside")
    pod = start("--bind", f"{shared}:/work/in/some-uid")
    assert pod.says("cat /work/in/some-uid/input") == "from outside"
    assert pod.run("/opt/toolcall/tool", "create", "/work/in/another").returncode == 0


def test_serve_is_handed_the_measures_to_leave_out_and_nothing_else(start: Start) -> None:
    pod = start(env={"TOOLCALL_WITHOUT": "dumpable"})
    assert pod.says("stat -c %a /opt/toolcall/supervisor") == "555"
    assert pod.run("/opt/toolcall/tool", "read-proc", "1", "environ").returncode == 0
    handed = pod.says("tr '\\0' '\\n' < /proc/1/environ | cut -d= -f1")
    assert set(handed.split()) == {"PATH", "TOOLCALL_WITHOUT"}


def test_term_ends_it_with_the_exit_code_of_serve_and_leaves_nothing(start: Start, built: Path) -> None:
    pod = start()
    pod.says("true")
    os.kill(pod.pid, signal.SIGTERM)
    assert pod.starter.wait(PATIENCE) == 0
    assert ended(pod.pid)
    assert "podlike" not in Path("/proc/self/mountinfo").read_text()
    assert list((built / "tmp").iterdir()) == []


def test_killing_who_started_it_kills_it_and_who_entered(start: Start) -> None:
    pod = start()
    entered = subprocess.Popen(
        [*pod.user, pod.script, "enter", str(pod.pid), "--", "/opt/toolcall/tool", "sleep", "1m"],
        stdin=subprocess.DEVNULL,
    )
    pod.says("true")
    pod.starter.kill()
    assert ended(pod.pid)
    assert entered.wait(PATIENCE) != 0


def test_killing_enter_kills_what_it_ran(start: Start) -> None:
    pod = start()
    entered = subprocess.Popen(
        [*pod.user, pod.script, "enter", str(pod.pid), "--", "/opt/toolcall/tool", "ignore-term", "61s"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert entered.stdout is not None
    assert entered.stdout.readline() == "ready\n"
    entered.kill()
    assert entered.stdout.read() == ""  # Every copy of the pipe's other end is closed.
    entered.communicate()
    assert pod.run("/opt/toolcall/tool", "find-pids", "61s").stdout == ""
