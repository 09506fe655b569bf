"""Toolspecs that require a verified version: the program is asked for it in its sandbox, before the call runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.pipeline import Ended, Object, a_call, a_class, a_session, ended, manifest, toolcall, written

CAT = shutil.which("cat") or ""
KNOWN = subprocess.run([CAT, "--version"], capture_output=True, text=True, check=False).stdout if CAT else ""
pytestmark = pytest.mark.skipif(
    "coreutils" not in KNOWN, reason="the cat of this machine does not tell a version as that of GNU coreutils does"
)

NOTHING = {"reads": [], "writes": [], "destructive": False, "network": {"destinations": []}}
EFFECTS = {**NOTHING, "filesystem": {"paths": []}, "creds": {"required": [], "writes": []}}
FOUND = r"coreutils\) (\S+)"


def a_toolkit(name: str, version_range: str, pattern: str = FOUND) -> list[Object]:
    """A toolkit for a tool of this name that runs cat, and a toolspec that requires a version in the range."""
    probe = {"args": ["--version"], "extract": {"kind": "regex", "pattern": pattern}}
    kit = {
        "name": name,
        "toolkitRevision": "1",
        "version": "9",
        "target": {"binary": "cat", "versionRange": version_range, "versionProbe": probe},
        "parser": {"kind": "declarative"},
        "env": {"allowed": []},
        "subcommands": [{"path": [], "effects": EFFECTS}],
    }
    spec = {
        "name": name,
        "version": "1",
        "toolkit": {"name": name, "revision": "1"},
        "allowSubcommands": [""],
        "require": {"verifiedBinaryVersion": True},
    }
    return [manifest("SpiceboxToolkit", name, kit), manifest("SpiceboxToolspec", name, spec)]


def world(*calls: Object) -> list[Object]:
    names = ("newer", "older", "silent")
    tools = [{"name": name, "command": ["cat"]} for name in names]
    return [
        a_class(tools=tools, toolspecs=[{"name": name} for name in names]),
        a_session(),
        *a_toolkit("newer", ">=1.0"),
        *a_toolkit("older", "<1.0"),
        *a_toolkit("silent", ">=1.0", r"no such words (\S+)"),
        *calls,
    ]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    many = [a_call(f"newer-{number}", "newer", stdin=f"hello {number}") for number in range(20)]
    folder = tmp_path_factory.mktemp("versions")
    return ended(folder, *world(*many, a_call("older", "older", stdin="x"), a_call("silent", "silent", stdin="x")))


def test_calls_of_a_program_whose_version_is_in_the_range_run(calls: dict[str, Ended]) -> None:
    for number in range(20):
        call = calls[f"newer-{number}"]

        assert call.end == "Succeeded/ProcessExited"
        assert call.status["toolspec"] == {"acceptedBy": "newer"}
        assert call.output() == f"hello {number}".encode()


@pytest.mark.parametrize(
    ("name", "says"),
    (("older", 'is not in the range "<1.0" of its toolkit'), ("silent", "holds none where the toolkit's")),
)
def test_a_program_of_another_version_and_one_that_tells_none_are_denied_and_do_not_run(
    calls: dict[str, Ended], name: str, says: str
) -> None:
    call = calls[name]

    assert call.end == "Failed/ToolspecDenied"
    assert call.refused()
    (failure,) = call.status["toolspec"]["failures"]
    assert failure["failedOn"]["path"] == "binaryVersion"
    assert says in failure["reason"]


def test_lint_does_not_object_to_a_version_that_only_the_sandbox_can_tell(tmp_path: Path) -> None:
    result = toolcall("lint", written(tmp_path, world(a_call("older", "older", stdin="x"))), cwd=tmp_path)

    assert (result.returncode, result.stderr) == (0, ""), result.stdout


def test_explain_says_when_the_version_is_asked_for(tmp_path: Path) -> None:
    result = toolcall("explain", "-f", written(tmp_path, world(a_call("newer", "newer", stdin="x"))), cwd=tmp_path)

    assert "it is asked only in its sandbox, when a call is about to run" in result.stdout
