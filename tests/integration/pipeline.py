"""Manifests in, finished objects out: `toolcall run` as a program of its own, on a supervisor built from this tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TOOLCALL = Path(sys.executable).parent / "toolcall"
API_VERSION = "agentprimitives.authzed.com/v1alpha1"
PATIENCE = 60
ENDS = ("Succeeded", "Failed", "Timeout", "Canceled")

Object = dict[str, Any]


def manifest(kind: str, name: str, spec: Mapping[str, object], **metadata: object) -> Object:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, **metadata}, "spec": dict(spec)}


def a_class(name: str = "tools", /, **spec: object) -> Object:
    """A class with the tools every machine has; `spec` adds to it, or replaces."""
    tools = [
        {"name": "sh", "command": ["sh", "-c"]},
        {"name": "cat", "command": ["/bin/cat"]},
        {"name": "env", "command": ["env", "-0"]},
        {"name": "echo", "command": ["/bin/echo"], "defaultArgs": ["-n"]},
        {"name": "absent", "command": ["no-such-program"]},
    ]
    resources = {"cpu": "1", "memory": "256Mi", "ephemeralStorage": "1Gi"}
    grace = {"terminationGracePeriod": "200ms"}
    return manifest("SpiceboxClass", name, {"resources": resources, "tools": tools, **grace, **spec})


def a_session(name: str = "here", /, **spec: object) -> Object:
    return manifest("SpiceboxSession", name, {"class": "tools", **spec})


def a_call(name: str, tool: str = "sh", /, *args: str, **spec: object) -> Object:
    return manifest(
        "ToolCall", name, {"session": "here", "tool": tool, **({"args": list(args)} if args else {}), **spec}
    )


def toolcall(
    *args: str | Path, cwd: Path, env: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """The program, run in `cwd` to its end."""
    return subprocess.run(
        [TOOLCALL, *args],
        cwd=cwd,
        env=env or environment(),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def running(*arguments: str | Path, folder: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """`toolcall run` in a process group of its own, while it runs."""
    return subprocess.Popen(
        [TOOLCALL, "run", *arguments],
        cwd=folder,
        env=env or environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_line(run: subprocess.Popen[str], beginning: str, stream: str = "stderr") -> None:
    """Read until a line begins so; the run ends without one if it fails."""
    pipe = run.stderr if stream == "stderr" else run.stdout
    assert pipe is not None
    for line in pipe:
        if line.startswith(beginning):
            return
    raise AssertionError(f"no line begins with {beginning}")


def environment(**more: str) -> dict[str, str]:
    """The caller's environment: this one's, and the supervisor of this tree."""
    return os.environ | {"TOOLCALL_SUPERVISOR": str(ROOT / "build" / "supervisor")} | more


def written(folder: Path, objects: Iterable[Object]) -> Path:
    """The objects as a file of manifests (JSON documents are YAML documents)."""
    path = folder / "manifests.yaml"
    path.write_text("\n---\n".join(json.dumps(each) for each in objects))
    return path


@dataclass(frozen=True)
class Ended:
    """One finished call, as `-o json` printed it."""

    object: Object

    @property
    def status(self) -> Object:
        status: Object = self.object["status"]
        return status

    @property
    def conditions(self) -> dict[str, Object]:
        return {condition["type"]: condition for condition in self.status["conditions"]}

    @property
    def end(self) -> str:
        """Type and reason of the one terminal condition, which Finished has to repeat."""
        (kind,) = [kind for kind in ENDS if kind in self.conditions]
        found, finished = self.conditions[kind], self.conditions["Finished"]
        assert (found["status"], finished["status"], self.status["finished"]) == ("True", "True", True)
        assert (found["reason"], found["message"]) == (finished["reason"], finished["message"])
        assert self.conditions["Running"]["status"] == "False"
        assert self.status.get("startedAt", "") <= self.status["finishedAt"]
        return f"{kind}/{found['reason']}"

    @property
    def message(self) -> str:
        message: str = self.conditions["Finished"]["message"]
        return message

    def output(self, stream: str = "stdout") -> bytes:
        """What the artifact reference of the stream resolves to; nothing when there is none."""
        reference: str | None = self.status.get(f"{stream}ArtifactRef")
        return Path(reference.removeprefix("file://")).read_bytes() if reference else b""

    def refused(self) -> bool:
        """Whether it looks as a call must that never started."""
        return self.conditions["Validated"]["status"] == "False" and not {"startedAt", "exitCode", "dispatch"} & set(
            self.status
        )


def ended(folder: Path, *objects: Object, env: Mapping[str, str] | None = None) -> dict[str, Ended]:
    """Every call of the manifests by its name, once all ended; a class and a session are added when there are none."""
    kinds = {each["kind"] for each in objects}
    world = [*([] if "SpiceboxClass" in kinds else [a_class()]), *([] if "SpiceboxSession" in kinds else [a_session()])]
    result = toolcall("run", "-o", "json", written(folder, [*world, *objects]), cwd=folder, env=env)
    assert result.returncode in {0, 1}, result.stderr
    return {item["metadata"]["name"]: Ended(item) for item in json.loads(result.stdout)["items"]}
