"""A class, a session and its calls, as the stories of this folder need them: made, waited for, looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.integration.pipeline import Ended, Object, manifest
from tests.kubectl import Kubectl, as_list

T = TypeVar("T")

IMAGE = "toolcall.local/busybox:local"
PATIENCE = 40.0
"""Seconds after which what was to come will not."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One session in a namespace, with the shell as its tool; `name` is its class's, too."""

    kubectl: Kubectl
    name: str

    @classmethod
    @contextmanager
    def made(cls, kubectl: Kubectl, *, session: str = "", **spec: object) -> Iterator[Scene]:
        """A scene whose session is ready; its class, which is the whole cluster's, is taken away at the end."""
        scene = cls(kubectl, session or kubectl.namespace)
        kubectl.apply(scene.a_class(**spec), scene.a_session())
        try:
            scene.ready()
            yield scene
        finally:
            kubectl("delete", "spiceboxclass", scene.name, "--wait=false")

    def a_class(self, **spec: object) -> Object:
        """A class in which a call is a script."""
        resources = {"cpu": "1", "memory": "512Mi", "ephemeralStorage": "1Gi"}
        tools = [{"name": "sh", "command": ["sh", "-c"]}]
        grace = {"terminationGracePeriod": "1s"}
        return manifest(
            "SpiceboxClass", self.name, {"image": IMAGE, "resources": resources, "tools": tools, **grace, **spec}
        )

    def a_session(self) -> Object:
        """A session of the class."""
        return manifest("SpiceboxSession", self.name, {"class": self.name})

    def a_call(self, name: str, script: str, **spec: object) -> Object:
        """A call of the session; `$0` is its name."""
        return manifest("ToolCall", name, {"session": self.name, "tool": "sh", "args": [script, name], **spec})

    def ready(self) -> None:
        """Return when the session is."""
        self.kubectl("wait", "--for=condition=Ready", f"spiceboxsession/{self.name}", f"--timeout={PATIENCE:.0f}s")

    def call(self, name: str, script: str, **spec: object) -> None:
        """Make a call."""
        self.calls(self.a_call(name, script, **spec))

    def calls(self, *calls: Object) -> None:
        """Make calls."""
        self.kubectl("create", "--filename=-", stdin=as_list(calls))

    def ended(self, name: str) -> Ended:
        """The call, once it has ended."""
        self.kubectl("wait", "--for=condition=Finished", f"toolcall/{name}", f"--timeout={PATIENCE:.0f}s")
        return self.stored(name)

    def all_ended(self, names: Iterable[str]) -> list[Ended]:
        """Several calls, once the last of them has ended."""
        wanted = set(names)

        def ended() -> list[Object]:
            found = (each for each in self.kubectl.get("toolcalls")["items"] if each["metadata"]["name"] in wanted)
            return [each for each in found if each.get("status", {}).get("finished")]

        soon(lambda: len(ended()) == len(wanted))
        return [Ended(each) for each in ended()]

    def stored(self, name: str) -> Ended:
        """A call that has ended, as the API server has it."""
        return Ended(self.kubectl.get("toolcall", name))

    def awaited(self, name: str, condition: str) -> None:
        """Return when a condition of a call is true."""
        self.kubectl("wait", f"--for=condition={condition}", f"toolcall/{name}", f"--timeout={PATIENCE:.0f}s")

    @property
    def pod(self) -> str:
        """The pod that is the sandbox."""
        name: str = self.kubectl.get("spiceboxsession", self.name)["status"]["podName"]
        return name

    def inside(self, *words: str) -> str:
        """What a program prints in the sandbox, as the supervisor's equal: in no call."""
        return self.kubectl("exec", self.pod, "--", *words)

    def ledger(self, name: str) -> list[str]:
        """The lines that a call wrote into the file of its name in the workspace."""
        return self.inside("sh", "-c", f"test ! -e /workspace/{name} || cat /workspace/{name}").splitlines()

    def processes(self, words: str) -> list[str]:
        """The command lines in the sandbox that hold these words."""
        return [line for line in self.inside("ps", "-o", "args").splitlines() if words in line]


def soon(look: Callable[[], T], seconds: float = PATIENCE) -> T:
    """What `look` returns, once that is true."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"it did not come to pass within {seconds:g} s"
        time.sleep(0.05)
    return found


def finalizers(kubectl: Kubectl, kind: str, name: str) -> list[Any]:
    """What holds an object."""
    found: list[Any] = kubectl.get(kind, name)["metadata"].get("finalizers", [])
    return found
