"""What a toolspec allows is also all that the kernel lets a call do, whatever its toolkit promised."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.pipeline import Object, a_call, a_class, a_session, ended, manifest
from tests.unit.api.manifests import EFFECTS


def world(*folders: str) -> list[Object]:
    """A class whose only tool is `touch`, of which its toolkit says that it does nothing, bound to these folders."""
    slot = {"name": "files", "type": "stringList"}
    toolkit = {
        "name": "touch",
        "version": "1",
        "toolkitRevision": "1",
        "target": {"binary": "touch"},
        "parser": {"kind": "declarative"},
        "env": {"allowed": []},
        "subcommands": [{"path": [], "effects": EFFECTS, "positional": [slot]}],
    }
    toolspec = {
        "name": "touch",
        "version": "1",
        "toolkit": {"name": "touch", "revision": "1"},
        "allowSubcommands": [""],
        "allow": {"filesystem": {"pathsUnder": list(folders)}},
    }
    tools = [{"name": "touch", "command": ["touch"]}]
    return [
        manifest("SpiceboxToolkit", "touch", toolkit),
        manifest("SpiceboxToolspec", "touch", toolspec),
        a_class(tools=tools, toolspecs=[{"name": "touch"}]),
        a_session(),
    ]


def test_a_call_writes_where_its_toolspec_allows_it(tmp_path: Path) -> None:
    call = ended(tmp_path, *world("/workspace"), a_call("inside", "touch", "note"))["inside"]

    assert call.end == "Succeeded/ProcessExited"
    assert call.status["toolspec"] == {"acceptedBy": "touch"}
    assert call.status["confinement"] == {"network": "None", "writable": ["/workspace"]}


@pytest.mark.parametrize("folders", ((), ("/workspace/elsewhere",)), ids=("nowhere", "another folder"))
def test_a_call_cannot_write_elsewhere_although_nobody_saw_that_it_would(
    tmp_path: Path, folders: tuple[str, ...]
) -> None:
    call = ended(tmp_path, *world(*folders), a_call("outside", "touch", "note"))["outside"]

    assert call.end == "Failed/NonZeroExit"
