"""`toolcall run --cluster` on a real API server, where the tests write the statuses that an operator would."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.integration.pipeline import (
    PATIENCE,
    Object,
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
from tests.kubectl import Kubectl

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

SINCE = "2026-01-01T00:00:00Z"
EXPECT = "toolcall.agentprimitives.authzed.com/expect"


@pytest.fixture
def team(kubectl: Kubectl) -> Iterator[Kubectl]:
    """The module's namespace, without calls at the end."""
    yield kubectl
    kubectl("delete", "toolcalls,spiceboxsessions", "--all")


def conditions(reason: str, **statuses: str) -> list[Object]:
    return [
        {"type": kind, "status": status, "reason": reason, "message": f"it is {reason}", "lastTransitionTime": SINCE}
        for kind, status in statuses.items()
    ]


QUEUED = {"conditions": conditions("Queued", Running="False")}
RUNNING = {"conditions": conditions("Started", Running="True"), "startedAt": SINCE}
SUCCEEDED = {
    "finished": True,
    "conditions": conditions("ProcessExited", Running="False", Succeeded="True", Finished="True"),
    "startedAt": SINCE,
    "finishedAt": "2026-01-01T00:00:02Z",
    "exitCode": 0,
    "result": {"kind": "Exec", "text": "done\nand said\n"},
}
CANCELED = {
    "finished": True,
    "conditions": conditions("UserCancel", Running="False", Canceled="True", Finished="True"),
    "finishedAt": SINCE,
}


def write(kubectl: Kubectl, name: str, status: Object) -> None:
    """Write the status of a call, as an operator does."""
    patch = json.dumps({"status": status})
    kubectl("patch", "toolcall", name, "--subresource=status", "--type=merge", f"--patch={patch}")


def on_cluster(kubectl: Kubectl, *arguments: str | Path, folder: Path) -> subprocess.Popen[str]:
    """A run in the namespace, while it runs."""
    return running("--cluster", "-n", kubectl.namespace, *arguments, folder=folder)


def test_every_change_is_a_line_and_the_objects_are_those_of_the_cluster(team: Kubectl, tmp_path: Path) -> None:
    with on_cluster(team, "-o", "json", written(tmp_path, [a_call("one")]), folder=tmp_path) as run:
        for status, state in ((None, "Pending"), (QUEUED, "Queued"), (RUNNING, "Running/Started")):
            if status:
                write(team, "one", status)
            wait_for_line(run, f"{team.namespace}/one  sh  {state}")
        write(team, "one", SUCCEEDED)
        stdout, stderr = run.communicate(timeout=PATIENCE)

    (item,) = json.loads(stdout)["items"]
    assert run.returncode == 0, stderr
    assert f"{team.namespace}/one  sh  Succeeded/ProcessExited  exit 0  2s  done …" in stderr
    assert item == team.get("toolcall", "one")


def test_everything_is_applied_in_an_order_in_which_it_works(team: Kubectl, tmp_path: Path) -> None:
    namespace = f"{team.namespace}-new"
    of_it = {"namespace": namespace}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", **of_it}, "data": {"a": "b"}}
    objects = [
        manifest("ToolCall", "one", {"session": "here", "tool": "sh"}, **of_it),
        manifest("SpiceboxSession", "here", {"class": f"class-{namespace}"}, **of_it),
        a_class(f"class-{namespace}", image="busybox"),
        config,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
    ]
    there = Kubectl(team.program, namespace)
    try:
        with on_cluster(team, written(tmp_path, objects), folder=tmp_path) as run:
            wait_for_line(run, f"{namespace}/one  sh  Pending", stream="stdout")
            write(there, "one", SUCCEEDED)
            _, stderr = run.communicate(timeout=PATIENCE)

        assert (run.returncode, "error" in stderr) == (0, False)
        assert there.get("configmap", "settings")["data"] == {"a": "b"}
        assert there.get("spiceboxsession", "here")["spec"]["class"] == f"class-{namespace}"
    finally:
        there("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")
        there("delete", "spiceboxclass", f"class-{namespace}", "--ignore-not-found")


def test_a_call_that_has_ended_is_shown_as_it_stands_and_nothing_is_written(team: Kubectl, tmp_path: Path) -> None:
    team.apply(a_call("old"))
    write(team, "old", SUCCEEDED)
    manifests = written(tmp_path, [a_call("old")])
    assert toolcall("run", "--cluster", "-n", team.namespace, manifests, cwd=tmp_path).returncode == 0
    before = team.get("toolcall", "old")

    again = toolcall("run", "--cluster", "-n", team.namespace, manifests, cwd=tmp_path)

    assert "old  sh  Succeeded/ProcessExited  exit 0" in again.stdout
    assert "had ended before" in again.stderr
    assert team.get("toolcall", "old") == before


def test_an_object_of_kubectl_get_is_the_same_object(team: Kubectl, tmp_path: Path) -> None:
    team.apply(a_call("old"))
    write(team, "old", SUCCEEDED)

    printed = toolcall(
        "run",
        "--cluster",
        "-n",
        team.namespace,
        "-o",
        "yaml",
        "-",
        cwd=tmp_path,
        stdin=team("get", "toolcall", "old", "-o", "yaml"),
    )

    assert printed.returncode == 0, printed.stderr
    assert yaml.safe_load(printed.stdout)["items"] == [team.get("toolcall", "old")]


def test_what_is_refused_is_told_by_file_line_and_field_and_the_others_go_on(team: Kubectl, tmp_path: Path) -> None:
    first = json.dumps(a_call("other", "sh", "first"))
    team("apply", "--server-side", "--field-manager=toolcall", "--filename=-", stdin=first)
    changed = a_call("other", "sh", "second")
    mistyped = a_call("mistyped", "sh", timeout="10 minutes")
    unknown = a_call("unknown", "sh", sesion="here")
    manifests = tmp_path / "calls.yaml"
    manifests.write_text(yaml.safe_dump_all([changed, mistyped, unknown, a_call("good")], sort_keys=False))

    with on_cluster(team, manifests, folder=tmp_path) as run:
        wait_for_line(run, f"{team.namespace}/good  sh  Pending", stream="stdout")
        write(team, "good", SUCCEEDED)
        stdout, stderr = run.communicate(timeout=PATIENCE)

    lines = manifests.read_text().splitlines()
    assert run.returncode == 1
    assert "good  sh  Succeeded/ProcessExited" in stdout
    for field, words in (
        ("spec.args", "args cannot be changed"),
        ("spec.timeout", "should match"),
        ("spec.sesion", "not declared"),
    ):
        told, *_ = [line for line in stderr.splitlines() if f"error: {field} " in line]
        number = int(told.split(":")[2])
        assert words in told
        assert lines[number - 1].startswith(f"  {field.removeprefix('spec.')}:")
    assert "10 minutes" not in stderr
    assert team.get("toolcall", "other")["spec"]["args"] == ["first"]


def test_what_somebody_else_applied_otherwise_is_not_taken_from_them(team: Kubectl, tmp_path: Path) -> None:
    team.apply(a_call("theirs", "sh", "first"))

    manifests = written(tmp_path, [a_call("theirs", "sh", "second")])
    result = toolcall("run", "--cluster", "-n", team.namespace, manifests, cwd=tmp_path)

    assert result.returncode == 1
    assert 'error: spec.args was set by "kubectl-client-side-apply" to something else' in result.stderr
    assert team.get("toolcall", "theirs")["spec"]["args"] == ["first"]


def test_a_namespace_that_is_not_there_is_told(team: Kubectl, tmp_path: Path) -> None:
    result = toolcall(
        "run", "--cluster", "-n", f"{team.namespace}-absent", written(tmp_path, [a_call("one")]), cwd=tmp_path
    )

    assert result.returncode == 1
    assert "NotApplied" in result.stdout
    assert f'namespaces "{team.namespace}-absent" not found' in result.stderr


def test_expectations_are_judged_as_in_an_embedded_run(team: Kubectl, tmp_path: Path) -> None:
    meant, bad = a_call("meant"), a_call("bad", timeout="never")
    meant["metadata"]["annotations"] = {EXPECT: "UserCancel"}
    team.apply(meant)
    write(team, "meant", CANCELED)
    meant_only, both = tmp_path / "meant", tmp_path / "both"
    meant_only.mkdir()
    both.mkdir()

    well = toolcall("run", "--cluster", "-n", team.namespace, "--expect", written(meant_only, [meant]), cwd=tmp_path)
    ill = toolcall("run", "--cluster", "-n", team.namespace, "--expect", written(both, [meant, bad]), cwd=tmp_path)

    assert (well.returncode, ill.returncode) == (0, 1)
    assert "1 calls, each ended as expected" in well.stdout
    assert "bad  expected ProcessExited  got no end" in ill.stdout


def test_an_interrupt_cancels_what_has_not_ended_and_waits_for_its_end(team: Kubectl, tmp_path: Path) -> None:
    with on_cluster(team, written(tmp_path, [a_call("ended"), a_call("open")]), folder=tmp_path) as run:
        wait_for_line(run, f"{team.namespace}/open  sh  Pending", stream="stdout")
        write(team, "ended", SUCCEEDED)
        wait_for_line(run, f"{team.namespace}/ended  sh  Succeeded", stream="stdout")
        run.send_signal(signal.SIGINT)
        team("wait", "--for=jsonpath={.spec.cancel}=true", "toolcall/open", "--timeout=20s")
        assert run.poll() is None
        write(team, "open", CANCELED)
        stdout, stderr = run.communicate(timeout=PATIENCE)

    assert run.returncode == 130
    assert "open  sh  Canceled/UserCancel" in stdout
    assert stderr.count("canceling every call") == 1
    assert team.get("toolcall", "ended")["spec"]["cancel"] is False


def test_a_second_interrupt_leaves_at_once(team: Kubectl, tmp_path: Path) -> None:
    with on_cluster(team, written(tmp_path, [a_call("open")]), folder=tmp_path) as run:
        wait_for_line(run, f"{team.namespace}/open  sh  Pending", stream="stdout")
        run.send_signal(signal.SIGINT)
        team("wait", "--for=jsonpath={.spec.cancel}=true", "toolcall/open", "--timeout=20s")
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=5)

    assert run.returncode == 130
    assert "Traceback" not in stderr


def test_without_an_operator_that_is_said_once_and_the_calls_stay(team: Kubectl, tmp_path: Path) -> None:
    with on_cluster(team, written(tmp_path, [a_call("one"), a_call("two")]), folder=tmp_path) as run:
        wait_for_line(run, f"note: no operator has looked at {team.namespace}/one, {team.namespace}/two")
        for name in ("one", "two"):
            write(team, name, SUCCEEDED)
        stdout, stderr = run.communicate(timeout=PATIENCE)

    assert run.returncode == 0, stdout
    assert "no operator" not in stderr


def test_a_call_that_somebody_deletes_is_waited_for_no_longer(team: Kubectl, tmp_path: Path) -> None:
    with on_cluster(team, written(tmp_path, [a_call("one")]), folder=tmp_path) as run:
        wait_for_line(run, f"{team.namespace}/one  sh  Pending", stream="stdout")
        team("delete", "toolcall", "one")
        stdout, _ = run.communicate(timeout=PATIENCE)

    assert run.returncode == 1
    assert f"{team.namespace}/one  sh  Deleted" in stdout


class Cable:
    """A connection to the API server that can be pulled and plugged in again."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._plugged = True
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    @property
    def port(self) -> int:
        port: int = self._server.getsockname()[1]
        return port

    def pull(self) -> None:
        self._plugged = False
        for end in self._ends:
            cut(end)
        self._ends.clear()

    def plug(self) -> None:
        self._plugged = True

    def close(self) -> None:
        cut(self._server)
        self.pull()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        with self._server, contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                if self._plugged:
                    self._connect(near, socket.create_connection(self._target))
                else:
                    near.close()

    def _connect(self, near: socket.socket, far: socket.socket) -> None:
        self._ends += [near, far]
        for ends in ((near, far), (far, near)):
            thread = threading.Thread(target=self._carry, args=ends)
            self._threads.append(thread)
            thread.start()

    @staticmethod
    def _carry(source: socket.socket, sink: socket.socket) -> None:
        with source:
            with contextlib.suppress(OSError):
                while data := source.recv(65_536):
                    sink.sendall(data)
            cut(sink)


def cut(end: socket.socket) -> None:
    """End a connection, for whoever uses it."""
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def cable(tmp_path: Path) -> Iterator[tuple[Cable, Path]]:
    """A cable, and the kubeconfig that leads through it."""
    config: Any = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    server = urlsplit(config["clusters"][0]["cluster"]["server"])
    assert server.hostname
    cable = Cable(server.hostname, server.port or 443)
    config["clusters"][0]["cluster"] |= {
        "server": f"https://127.0.0.1:{cable.port}",
        "tls-server-name": server.hostname,
    }
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config))
    yield cable, kubeconfig
    cable.close()


def test_what_happens_while_the_connection_is_gone_is_not_missed(
    team: Kubectl, cable: tuple[Cable, Path], tmp_path: Path
) -> None:
    wire, kubeconfig = cable
    calls = [a_call("ends"), a_call("goes"), a_call("stays")]
    environ = environment(KUBECONFIG=str(kubeconfig))
    manifests = written(tmp_path, calls)
    with running("--cluster", "-n", team.namespace, manifests, folder=tmp_path, env=environ) as run:
        wait_for_line(run, f"{team.namespace}/stays  sh  Pending", stream="stdout")
        wire.pull()
        write(team, "ends", SUCCEEDED)
        team("delete", "toolcall", "goes")
        time.sleep(1.5)
        wire.plug()
        wait_for_line(run, f"{team.namespace}/ends  sh  Succeeded", stream="stdout")
        write(team, "stays", SUCCEEDED)
        stdout, stderr = run.communicate(timeout=PATIENCE)

    assert "goes  sh  Deleted" in stdout
    assert "stays  sh  Succeeded" in stdout
    assert stderr.count("; trying again") == 1


@pytest.mark.parametrize("broken", ("no file", "nobody listens"))
def test_a_cluster_that_cannot_be_reached_is_one_clear_line(
    cable: tuple[Cable, Path], tmp_path: Path, broken: str
) -> None:
    wire, kubeconfig = cable
    wire.close()
    path = kubeconfig if broken == "nobody listens" else tmp_path / "absent"

    result = toolcall(
        "run", "--cluster", written(tmp_path, [a_call("one")]), cwd=tmp_path, env=environment(KUBECONFIG=str(path))
    )

    assert result.returncode == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    (
        (("--cluster", "--scratch", "x"), "--scratch means nothing with --cluster"),
        (("--cluster", "--keep"), "--keep means nothing with --cluster"),
        (("-n", "x"), "--namespace means nothing without --cluster"),
    ),
)
def test_a_flag_that_cannot_work_is_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = toolcall("run", *arguments, written(tmp_path, [a_session(), a_call("one")]), cwd=tmp_path)

    assert (result.returncode, said in result.stderr) == (2, True)


def test_files_without_a_call_are_refused_before_anything_is_applied(team: Kubectl, tmp_path: Path) -> None:
    result = toolcall("run", "--cluster", "-n", team.namespace, written(tmp_path, [a_session("lonely")]), cwd=tmp_path)

    assert (result.returncode, "no ToolCall" in result.stderr) == (2, True)
    assert team.get("spiceboxsessions")["items"] == []
