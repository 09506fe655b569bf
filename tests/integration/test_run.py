"""`toolcall run` as people and programs use it: what it prints where, how it exits, what it leaves behind."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import yaml

from tests.integration.pipeline import (
    PATIENCE,
    ROOT,
    TOOLCALL,
    Ended,
    a_call,
    a_class,
    a_session,
    environment,
    manifest,
    running,
    toolcall,
    wait_for_line,
    written,
)

EXPECT = "toolcall.agentprimitives.authzed.com/expect"
QUICKSTART = ROOT / "examples" / "quickstart"
WORLD = (a_class(), a_session())


def expecting(reason: str, call: dict[str, object]) -> dict[str, object]:
    return call | {"metadata": {**call["metadata"], "annotations": {EXPECT: reason}}}  # type: ignore[dict-item] # metadata is an object


def children_of(folder: Path) -> list[str]:
    """The command lines of living processes that name the folder."""
    return [
        line
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if str(folder) in (line := path.read_bytes().decode(errors="replace"))
    ]


def test_the_quickstart_ends_as_its_annotations_say(tmp_path: Path) -> None:
    result = toolcall("run", "--expect", QUICKSTART, cwd=tmp_path)

    assert result.returncode == 0, result.stdout + result.stderr
    assert "8 calls, each ended as expected" in result.stdout


def test_no_expectation_of_the_quickstart_holds_by_itself(tmp_path: Path) -> None:
    calls = [*yaml.safe_load_all((QUICKSTART / "3-calls.yaml").read_text())]
    for call in calls:
        call["metadata"]["annotations"][EXPECT] = "OOMKilled"
    world = (QUICKSTART / "1-class.yaml", QUICKSTART / "2-session.yaml")

    result = toolcall("run", "--expect", *world, written(tmp_path, calls), cwd=tmp_path)

    assert result.returncode == 1
    assert f"{len(calls)} of {len(calls)} calls did not end as expected" in result.stdout
    assert result.stdout.count("  expected OOMKilled  got ") == len(calls)


@pytest.mark.parametrize(
    ("calls", "code"),
    (
        ((a_call("fine", "sh", "true"),), 0),
        ((a_call("fine", "sh", "true"), a_call("failing", "sh", "exit 1")), 1),
        ((a_call("refused", "nothing"),), 1),
    ),
    ids=("all succeeded", "one failed", "one was refused"),
)
def test_the_exit_code_says_whether_all_succeeded(
    tmp_path: Path, calls: tuple[dict[str, object], ...], code: int
) -> None:
    assert toolcall("run", written(tmp_path, [*WORLD, *calls]), cwd=tmp_path).returncode == code


def test_with_expect_a_call_without_the_annotation_has_to_succeed(tmp_path: Path) -> None:
    calls = (expecting("NonZeroExit", a_call("meant", "sh", "exit 1")), a_call("not-meant", "sh", "exit 1"))

    result = toolcall("run", "--expect", written(tmp_path, [*WORLD, *calls]), cwd=tmp_path)

    assert result.returncode == 1
    assert "1 of 2 calls did not end as expected" in result.stdout
    assert "not-meant  expected ProcessExited  got NonZeroExit" in result.stdout


def test_without_a_terminal_every_change_is_one_line(tmp_path: Path) -> None:
    result = toolcall("run", written(tmp_path, [*WORLD, a_call("fine", "sh", "echo one; echo two")]), cwd=tmp_path)

    first, last = result.stdout.splitlines()
    assert first.startswith("fine  sh  Running/Started")
    assert last.startswith("fine  sh  Succeeded/ProcessExited  exit 0  ")
    assert last.endswith("  one …")


def test_what_the_run_is_not_is_said_once_and_so_is_what_has_no_effect(tmp_path: Path) -> None:
    world = (a_class(image="debian", network={"mode": "none"}), a_session(idleTTL="1h"))

    result = toolcall("run", written(tmp_path, [*world, a_call("fine", "sh", "true")]), cwd=tmp_path)

    assert result.stderr.count("this is not the sandbox that a pod is") == 1
    assert "SpiceboxClass tools spec.image, spec.network.mode, spec.resources.cpu" in result.stderr
    assert "SpiceboxSession here spec.idleTTL" in result.stderr


def test_a_class_that_asks_for_what_only_a_pod_has_refuses_its_calls(tmp_path: Path) -> None:
    world = (a_class(writablePaths=["/opt/data"]), a_session())

    result = toolcall("run", "-o", "json", written(tmp_path, [*world, a_call("refused", "sh", "true")]), cwd=tmp_path)

    (item,) = json.loads(result.stdout)["items"]
    assert Ended(item).end == "Failed/NotSupported"
    assert "spec.writablePaths" in Ended(item).message


@pytest.mark.parametrize(("form", "read"), (("json", json.loads), ("yaml", yaml.safe_load)))
def test_finished_objects_are_all_there_is_on_stdout_and_can_be_run_again(
    tmp_path: Path, form: str, read: type
) -> None:
    calls = [a_call("fine", "sh", "echo héllo"), a_call("failing", "sh", "exit 3")]
    first = toolcall("run", "-o", form, written(tmp_path, [*WORLD, *calls]), cwd=tmp_path)

    again = toolcall("run", "-o", form, "-", cwd=tmp_path, stdin=first.stdout)

    assert read(first.stdout)["kind"] == "List"
    assert [item["spec"] for item in read(first.stdout)["items"]] == [call["spec"] for call in calls]
    assert again.stdout == first.stdout
    assert again.stderr.count("is not run again") == 2


def test_a_manifest_that_cannot_be_read_ends_with_every_problem_and_the_others_run(tmp_path: Path) -> None:
    broken = a_call("broken", "sh", timeout="10 minutes", tooll="x")

    result = toolcall(
        "run", "-o", "json", written(tmp_path, [*WORLD, broken, a_call("fine", "sh", "true")]), cwd=tmp_path
    )

    calls = {item["metadata"]["name"]: Ended(item) for item in json.loads(result.stdout)["items"]}
    assert calls["broken"].end == "Failed/MalformedObject"
    assert "spec.timeout" in calls["broken"].message
    assert "spec.tooll" in calls["broken"].message
    assert calls["broken"].refused()
    assert calls["fine"].end == "Succeeded/ProcessExited"


def test_two_calls_of_one_name_are_not_taken_for_one(tmp_path: Path) -> None:
    calls = (a_call("same", "sh", "echo first"), a_call("same", "sh", "echo second"))

    result = toolcall("run", "-o", "json", written(tmp_path, [*WORLD, *calls]), cwd=tmp_path)

    first, second = (Ended(item) for item in json.loads(result.stdout)["items"])
    assert first.output() == b"first\n"
    assert second.end == "Failed/MalformedObject"
    assert "metadata.name is taken" in second.message


def test_a_call_may_leave_its_name_to_be_generated(tmp_path: Path) -> None:
    calls = [manifest("ToolCall", "x", {"session": "here", "tool": "sh", "args": ["true"]}) for _ in range(2)]
    for call in calls:
        call["metadata"] = {"generateName": "step-"}

    result = toolcall("run", "-o", "json", written(tmp_path, [*WORLD, *calls]), cwd=tmp_path)

    names = {item["metadata"]["name"] for item in json.loads(result.stdout)["items"]}
    assert len(names) == 2
    assert all(name.startswith("step-") for name in names)
    assert result.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    (
        (("no-such-file.yaml",), "no-such-file.yaml: error: cannot be read"),
        (("broken.yaml",), "broken.yaml:2: error:"),
        (("class.yaml",), "no ToolCall in class.yaml"),
        ((), "Missing argument"),
    ),
)
def test_what_cannot_be_run_at_all_is_exit_code_2_and_a_message(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "broken.yaml").write_text("a: b\n  c: [\n")
    (tmp_path / "class.yaml").write_text(json.dumps(a_class()))

    result = toolcall("run", *arguments, cwd=tmp_path)

    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_missing_supervisor_is_one_clear_line(tmp_path: Path) -> None:
    manifests = written(tmp_path, [*WORLD, a_call("fine", "sh", "true")])

    result = toolcall("run", manifests, cwd=tmp_path, env=environment(TOOLCALL_SUPERVISOR="/nowhere/supervisor"))

    assert result.returncode == 2
    assert result.stderr == "Error: the supervisor /nowhere/supervisor is not an executable file\n"


@pytest.mark.parametrize("option", ("--artifacts", "--scratch"))
def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path, option: str) -> None:
    manifests = written(tmp_path, [*WORLD, a_call("fine", "sh", "true")])

    result = toolcall("run", option, "/dev/null/folder", manifests, cwd=tmp_path)

    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("Error: the ")
    assert "Traceback" not in result.stderr


def test_output_that_the_terminal_cannot_show_is_replaced_and_hinders_nothing(tmp_path: Path) -> None:
    manifests = written(tmp_path, [*WORLD, a_call("fine", "sh", "echo grüße; echo more")])

    result = toolcall("run", manifests, cwd=tmp_path, env=environment(PYTHONIOENCODING="ascii"))

    assert result.returncode == 0, result.stderr
    assert "gr??e ?" in result.stdout


def test_a_full_disk_behind_stdout_costs_no_outcome(tmp_path: Path) -> None:
    manifests = written(tmp_path, [*WORLD, a_call("fine", "sh", "echo kept")])
    with Path("/dev/full").open("w") as full:
        subprocess.run(
            [TOOLCALL, "run", manifests], cwd=tmp_path, env=environment(), stdout=full, check=False, timeout=60
        )

    assert [path.read_text() for path in (tmp_path / "toolcall-artifacts").rglob("*") if path.is_file()] == ["kept\n"]


def test_a_closed_stdout_is_refused_before_anything_runs(tmp_path: Path) -> None:
    manifests = written(tmp_path, [*WORLD, a_call("never", "sh", "echo ran")])

    closed = f'exec "{TOOLCALL}" run -o json "{manifests}" >&-'
    result = subprocess.run(
        ["sh", "-c", closed], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=60
    )

    assert (result.returncode, "standard output is closed" in result.stderr) == (2, True)
    assert not (tmp_path / "toolcall-artifacts").exists()


def test_finished_objects_that_cannot_be_printed_are_no_success(tmp_path: Path) -> None:
    manifests = written(tmp_path, [*WORLD, a_call("fine", "sh", "echo kept")])
    with Path("/dev/full").open("w") as full:
        command: list[str | Path] = [TOOLCALL, "run", "-o", "json", manifests]
        result = subprocess.run(
            command, cwd=tmp_path, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert result.returncode == 1
    assert "could not be printed: No space left on device" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_document_that_cannot_be_read_is_no_success(tmp_path: Path) -> None:
    mistyped = manifest("Toolcall", "mistyped", {"session": "here", "tool": "sh"})

    result = toolcall("run", written(tmp_path, [*WORLD, a_call("fine", "sh", "true"), mistyped]), cwd=tmp_path)

    assert "fine  sh  Succeeded/ProcessExited" in result.stdout
    assert (result.returncode, "error: kind" in result.stderr) == (1, True)


def test_a_scratch_folder_that_a_tool_locked_is_removed_all_the_same(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir(mode=0o777)
    manifests = written(tmp_path, [*WORLD, a_call("locks", "sh", "mkdir -p a/b; touch a/b/c; chmod 000 a/b a")])

    result = toolcall("run", manifests, cwd=tmp_path, env=environment(TMPDIR=str(temporary)))

    assert (result.returncode, list(temporary.iterdir())) == (0, [])


def test_a_run_leaves_its_artifacts_and_nothing_else(tmp_path: Path) -> None:
    temporary, home = tmp_path / "tmp", tmp_path / "home"
    temporary.mkdir()
    home.mkdir()
    manifests = written(
        tmp_path,
        [*WORLD, a_call("writer", "sh", 'echo kept; echo x >file; echo x >"$HOME/file"; echo x >"$TMPDIR/file"')],
    )

    result = toolcall("run", manifests, cwd=tmp_path, env=environment(TMPDIR=str(temporary), HOME=str(home)))

    assert result.returncode == 0, result.stdout
    assert [*temporary.iterdir(), *home.iterdir()] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "manifests.yaml", "tmp", "toolcall-artifacts"]
    assert [path.read_text() for path in (tmp_path / "toolcall-artifacts").rglob("*") if path.is_file()] == ["kept\n"]


def test_a_tool_cannot_write_outside_of_the_scratch_folder_nor_read_a_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "diary").write_text("dear diary")
    scratch = tmp_path / "scratch"
    outside = [
        Path(folder, f"escaped-{os.getpid()}")
        for folder in (tmp_path, tempfile.gettempdir(), "/dev", "/dev/shm", "/var")  # noqa: S108 (to be refused)
    ]
    attempts = "; ".join([f"cat {home}/diary", *(f"echo x >{path}" for path in outside)])

    manifests = written(tmp_path, [*WORLD, a_call("attacker", "sh", attempts)])
    result = toolcall(
        "run", "-o", "json", "--scratch", scratch, manifests, cwd=tmp_path, env=environment(HOME=str(home))
    )

    call = Ended(json.loads(result.stdout)["items"][0])
    assert call.output() == b""
    assert call.output("stderr").count(b"ermission denied") == 1 + len(outside)
    assert not any(path.exists() for path in outside)


@pytest.mark.parametrize(("number", "code"), ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)))
def test_a_signal_cancels_what_has_not_ended_and_kills_its_processes(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    calls = (
        a_call("quick", "sh", "echo quick"),
        a_call("slow", "sh", "sleep 307.25 & setsid sleep 307.25 & echo begun; wait"),
    )
    scratch = tmp_path / "scratch"
    with running("-o", "json", "--scratch", scratch, written(tmp_path, [*WORLD, *calls]), folder=tmp_path) as run:
        wait_for_line(run, "quick  sh  Succeeded")
        os.killpg(run.pid, number)  # as a terminal does: to everybody in the foreground
        stdout, stderr = run.communicate(timeout=PATIENCE)

    ends = {item["metadata"]["name"]: Ended(item) for item in json.loads(stdout)["items"]}
    assert run.returncode == code
    assert stderr.count("canceling every call") == 1
    assert ends["quick"].end == "Succeeded/ProcessExited"
    assert ends["slow"].end == "Canceled/UserCancel"
    assert children_of(scratch) == []
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"307.25" in path.read_bytes()]


def test_a_second_signal_gives_up_waiting_and_still_leaves_no_process(tmp_path: Path) -> None:
    world = (a_class(terminationGracePeriod="60s"), a_session())
    call = a_call("stubborn", "sh", "trap '' TERM; echo begun; sleep 308.25 & sleep 308.25; sleep 308.25")
    with running(written(tmp_path, [*world, call]), folder=tmp_path) as run:
        wait_for_line(run, "stubborn  sh  Running", stream="stdout")
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert run.poll() is None
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=15)

    assert run.returncode == 130
    time.sleep(0.2)
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"308.25" in path.read_bytes()]


def test_a_run_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    call = a_call("orphan", "sh", "echo begun; setsid sleep 309.25 & sleep 309.25")
    with running(written(tmp_path, [*WORLD, call]), folder=tmp_path) as run:
        wait_for_line(run, "orphan  sh  Running", stream="stdout")
        time.sleep(0.5)
        run.kill()

    patience = time.monotonic() + 20
    while left := [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"309.25" in path.read_bytes()]:
        assert time.monotonic() < patience, left
        time.sleep(0.05)


def test_on_a_terminal_a_table_shows_and_no_text_of_a_tool_is_a_command_to_it(tmp_path: Path) -> None:
    evil = r"printf '\033]0;owned\007\033[2Jclear\302\2331mc1\342\200\256bidi [red]markup[/red]'"
    manifests = written(tmp_path, [*WORLD, a_call("evil", "sh", evil)])

    shown = on_a_terminal("run", manifests, folder=tmp_path)

    assert "CALL" in shown
    assert "Succeeded/ProcessExited" in shown
    assert "[red]markup" in shown
    assert not any(command in shown for command in ("\x1b]0;", "\x1b[2J", "\x9b", "\u202e", "\x07"))


def on_a_terminal(*arguments: str | Path, folder: Path) -> str:
    """What a terminal of 200 columns receives."""
    ours, theirs = pty.openpty()
    environ = environment(TERM="xterm", COLUMNS="200", LINES="50")
    with subprocess.Popen(
        [TOOLCALL, *arguments], cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL
    ) as run:
        os.close(theirs)
        received = b""
        try:
            while chunk := os.read(ours, 65_536):
                received += chunk
        except OSError:  # Linux reports the end of a terminal as EIO
            pass
        run.wait(PATIENCE)
    os.close(ours)
    return received.decode()
