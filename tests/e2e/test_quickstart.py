"""The quickstart as a newcomer runs it on a cluster: applied, waited for, and ended as its annotations say."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.operators import Operator
from tests.integration.pipeline import PATIENCE, Ended, manifest, running, toolcall, wait_for_line, written
from tests.kubectl import Kubectl

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "examples" / "quickstart"
EXPECT = "toolcall.agentprimitives.authzed.com/expect"
CALLS = tuple(yaml.safe_load_all((QUICKSTART / "3-calls.yaml").read_text()))


@pytest.fixture(scope="module")
def applied(kubectl: Kubectl, operator: Operator) -> Iterator[Kubectl]:
    """The quickstart, applied in one go, once all of it has ended."""
    assert operator.process
    kubectl("apply", "--recursive", f"--filename={QUICKSTART}")
    kubectl("wait", "--for=condition=Finished", "tc", "--all", "--timeout=55s")
    yield kubectl
    kubectl("delete", "--recursive", f"--filename={QUICKSTART}", "--timeout=50s")


@pytest.mark.parametrize("call", CALLS, ids=[call["metadata"]["name"] for call in CALLS])
def test_each_call_ends_for_the_reason_that_its_annotation_names(applied: Kubectl, call: dict[str, Any]) -> None:
    ended = Ended(applied.get("toolcall", call["metadata"]["name"]))

    assert ended.end.partition("/")[2] == call["metadata"]["annotations"][EXPECT]


def test_what_the_tools_wrote_stands_on_status(applied: Kubectl) -> None:
    texts = {
        item["metadata"]["name"]: item["status"].get("result", {}).get("text", "")
        for item in applied.get("toolcalls")["items"]
    }

    assert texts["hello"] == "quickstart says: $HOME stays as it is, no shell reads this\n"
    assert texts["environment"].startswith("hello, world\n")
    assert texts["stdin"] == "apple\nbanana\ncherry\n"
    assert texts["failing"] == "working\n"
    assert texts["secret-in-env"] == ""


def test_running_it_again_shows_it_as_it_stands_and_judges_it(applied: Kubectl, tmp_path: Path) -> None:
    before = applied.get("toolcalls")["items"]

    result = toolcall("run", "--cluster", "-n", applied.namespace, "--expect", QUICKSTART, cwd=tmp_path)

    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{len(CALLS)} calls, each ended as expected" in result.stdout
    assert [item["status"] for item in applied.get("toolcalls")["items"]] == [item["status"] for item in before]


def test_a_run_on_the_cluster_shows_each_call_to_its_end(applied: Kubectl, tmp_path: Path) -> None:
    call = CALLS[0] | {"metadata": CALLS[0]["metadata"] | {"name": "once-more"}}
    manifests = tmp_path / "call.yaml"
    manifests.write_text(yaml.safe_dump(call))

    result = toolcall("run", "--cluster", "-n", applied.namespace, manifests, cwd=tmp_path)

    last = result.stdout.splitlines()[-1]
    assert result.returncode == 0, result.stdout + result.stderr
    assert last.startswith(f"{applied.namespace}/once-more  echo  Succeeded/ProcessExited  exit 0  ")
    assert last.endswith("quickstart says: $HOME stays as it is, no shell reads this")


def test_an_interrupt_cancels_a_call_of_the_cluster(applied: Kubectl, tmp_path: Path) -> None:
    spec = {"session": "demo", "tool": "shell", "args": ["sleep 300"], "timeout": "5m"}
    call = manifest("ToolCall", "endless", spec)

    with running("--cluster", "-n", applied.namespace, written(tmp_path, [call]), folder=tmp_path) as run:
        wait_for_line(run, f"{applied.namespace}/endless  shell  Running/Started", stream="stdout")
        run.send_signal(signal.SIGINT)
        stdout, _ = run.communicate(timeout=PATIENCE)

    assert run.returncode == 130
    assert "Canceled/UserCancel" in stdout
    assert Ended(applied.get("toolcall", "endless")).end == "Canceled/UserCancel"
