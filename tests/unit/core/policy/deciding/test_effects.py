"""What a call does to the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.unit.core.policy.deciding import decisions
from tests.unit.core.policy.deciding.decisions import GIT, READER
from toolcall_operator.core.policy.commandline import parser
from toolcall_operator.core.policy.commandline.values import CommandLine
from toolcall_operator.core.policy.deciding import effects
from toolcall_operator.core.policy.deciding.effects import UNTOLD, Resolved, Touched


def resolved(of: Mapping[str, Any], *argv: str, env: dict[str, str] | None = None) -> Resolved:
    """The effects of a command line in /workspace."""
    line = parser.parse(decisions.toolkit(of).grammar, argv)
    assert isinstance(line, CommandLine), line
    return effects.resolved(line.subcommand, line, env or {}, "/workspace")


def test_hosts_and_paths_come_from_the_command_line() -> None:
    found = resolved(GIT, "clone", "https://GitHub.com/acme/x", "sub/./x")

    assert found.destinations == Touched(("github.com",))
    assert found.paths == Touched(("/workspace/sub/x",))
    assert found.described.creds.required == ("GIT_TOKEN",)


def test_what_the_call_does_not_give_is_not_there() -> None:
    assert resolved(READER).paths == Touched()
    assert resolved(GIT, "status").paths == Touched(("/workspace",))


def test_every_element_of_a_list_is_a_place_and_each_place_is_told_once() -> None:
    assert resolved(READER, "a", "/b", "./a").paths == Touched(("/workspace/a", "/b"))


def test_a_host_out_of_the_environment_is_the_one_the_process_will_have() -> None:
    assert resolved(GIT, "call", env={"API_HOST": "api.example.com"}).destinations == Touched(("api.example.com",))


def test_a_host_that_nobody_knows_is_told_as_such_and_no_list_holds_it() -> None:
    found = resolved(GIT, "call").destinations

    assert found == Touched((), (), ("what {env:API_HOST} stands for cannot be told",))
    assert found.all() == (UNTOLD,)


def test_a_path_that_may_lead_elsewhere_is_refused_as_it_came() -> None:
    found = resolved(READER, "a", "/work/../etc/passwd").paths

    assert found == Touched(("/workspace/a",), ("/work/../etc/passwd",))
    assert found.all() == ("/workspace/a", UNTOLD)


def test_a_path_behind_another_folder_is_there_in_both_readings() -> None:
    assert resolved(GIT, "-C", "sub", "add", "/etc/x").paths == Touched(("/workspace/sub/etc/x", "/etc/x"))


def test_expressions_see_all_of_it() -> None:
    assert resolved(GIT, "clone", "https://github.com/acme/x").seen_by_cel() == {
        "destructive": False,
        "reads": ("network",),
        "writes": ("filesystem",),
        "network": {"destinations": ("github.com",)},
        "filesystem": {"paths": ("/workspace",)},
        "creds": {"required": ("GIT_TOKEN",), "writes": ()},
    }
