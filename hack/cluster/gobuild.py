"""Programs from the Go modules below programs/, built once a machine: kept under the hash of what they are made of."""

import hashlib
import os
import re
import subprocess
import time
from pathlib import Path

from hack.cluster import layout
from hack.cluster.say import Impossible, say

SOURCES = layout.HERE / "programs"

MINUTES = {"kubernetes": "6 to 14", "kube-router": "2 to 5", "coredns": "4", "kind": "1"}
"""How long the first build of each takes, on 2 cores."""

VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
"""Where Kubernetes' programs look for their version."""


def flags(source: Path) -> list[str]:
    """What `go build` is told about a module: small, static, and saying nothing of where it was built."""
    linked = ["-s", "-w"]
    if source.name == "kubernetes":
        values = version(source).items()
        linked += [f"-X={package}.{name}={value}" for package in VERSION_PACKAGES for name, value in values]
    return ["-trimpath", "-buildvcs=false", f"-ldflags={' '.join(linked)}"]


def version(source: Path) -> dict[str, str]:
    """What Kubernetes' programs must be told of their version, or they do not start."""
    full, major, minor = re.findall(r"\sk8s\.io/kubernetes (v(\d+)\.(\d+)\S*)", (source / "go.mod").read_text())[0]
    return {"gitVersion": full, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean", "gitCommit": "unknown"}


def package(source: Path) -> str:
    """What is built in a module: the tool it names, or itself."""
    tool = re.search(r"^tool (\S+)$", (source / "go.mod").read_text(), re.MULTILINE)
    return tool[1] if tool else "."


def go(source: Path, *arguments: str) -> str:
    """The output of `go` in a module.

    Raises:
        Impossible: when it fails; the text is the end of what it says.
    """
    environment = os.environ | {"CGO_ENABLED": "0"}
    done = subprocess.run(["go", *arguments], cwd=source, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Impossible(f"`go {arguments[0]}` failed in {source}:\n{done.stderr[-3000:]}")
    return done.stdout


def key(source: Path) -> str:
    """The hash of everything that a program is made of."""
    inputs = hashlib.sha256(" ".join([package(source), *flags(source)]).encode())
    inputs.update(go(source, "env", "GOVERSION", "GOOS", "GOARCH").encode())
    for path in sorted(source.iterdir()):
        inputs.update(path.name.encode() + b"\0" + path.read_bytes())
    return inputs.hexdigest()[:16]


def built(name: str) -> Path:
    """The program of a module, from the cache or built into it."""
    source = SOURCES / name
    program = layout.CACHE / "programs" / f"{name}-{key(source)}"
    if not program.exists():
        say(f"building {name}: {MINUTES[name]} min, once on this machine")
        program.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        partial = program.with_suffix(".partial")
        go(source, "build", *flags(source), "-o", str(partial), package(source))
        partial.replace(program)
        say(f"built {name} in {time.monotonic() - began:.0f} s")
    return program
